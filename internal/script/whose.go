package script

import (
	"math/bits"
	"reflect"
	"sync"
	"time"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/libquickjs"
	"modernc.org/quickjs"
)

// Whose a continuation is: that of the act that waits, not of the one in whose turn a promise settles. Two acts may wait for one promise, as
// for what a module fetches once, and each must go on as itself: what it asks for is its own workspace's.
//
// The engine below knows nothing of acts. So the promise of a call of an asynchronous function, and that of a `then`, are marked with the act
// that runs, in a word of theirs that the engine leaves alone; and before a job is done, the mark of the promise that it leads to tells whose
// it is. A job that asks a thenable for its `then` is marked itself. What the main script began, before there was any act, goes on for
// whoever settles it.

// marks tells whether there is a place for them: C lays objects out otherwise where a word has 32 bits.
const marks = bits.UintSize == 64

// plain are the engine's own functions behind the hooks, which are the same for all runtimes.
var plain struct {
	once                       sync.Once
	async, generator, thenable uintptr
}

type (
	classCall = func(tls *libc.TLS, context uintptr, fn, this lib.TJSValue, argc int32, argv uintptr, flags int32) lib.TJSValue
	plainCall = func(tls *libc.TLS, context uintptr, this lib.TJSValue, argc int32, argv uintptr) lib.TJSValue
)

// markContinuations puts the hooks in place.
func (b bare) markContinuations() error {
	then, err := b.vm.EvalValue("Promise.prototype.then", quickjs.EvalGlobal)
	if err != nil {
		return err
	}
	defer then.Free()
	if !marks {
		return nil
	}
	async, generator := b.class(lib.EJS_CLASS_ASYNC_FUNCTION), b.class(lib.EJS_CLASS_ASYNC_GENERATOR_FUNCTION)
	method := word(objectOf(raw(then)), 1)
	plain.once.Do(func() { plain.async, plain.generator, plain.thenable = async.Fcall, generator.Fcall, *method })
	callAsync, callGenerator, callThen := calledAsync, calledGenerator, calledThen
	async.Fcall, generator.Fcall = *(*uintptr)(unsafe.Pointer(&callAsync)), *(*uintptr)(unsafe.Pointer(&callGenerator))
	*method = *(*uintptr)(unsafe.Pointer(&callThen))
	return nil
}

func (b bare) class(id uintptr) *lib.TJSClass {
	return (*lib.TJSClass)(at(b.fields().Fclass_array + id*unsafe.Sizeof(lib.TJSClass{})))
}

func calledAsync(tls *libc.TLS, context uintptr, fn, this lib.TJSValue, argc int32, argv uintptr, flags int32) lib.TJSValue {
	return mark(context, (*(*classCall)(unsafe.Pointer(&plain.async)))(tls, context, fn, this, argc, argv, flags), lib.EJS_CLASS_PROMISE)
}

func calledGenerator(tls *libc.TLS, context uintptr, fn, this lib.TJSValue, argc int32, argv uintptr, flags int32) lib.TJSValue {
	return mark(context, (*(*classCall)(unsafe.Pointer(&plain.generator)))(tls, context, fn, this, argc, argv, flags), lib.EJS_CLASS_ASYNC_GENERATOR)
}

func calledThen(tls *libc.TLS, context uintptr, this lib.TJSValue, argc int32, argv uintptr) lib.TJSValue {
	return mark(context, (*(*plainCall)(unsafe.Pointer(&plain.thenable)))(tls, context, this, argc, argv), lib.EJS_CLASS_PROMISE)
}

// mark writes the act that runs into what was made, if it is of that class.
func mark(context uintptr, made lib.TJSValue, class int) lib.TJSValue {
	if classOf(made) == class {
		*word(objectOf(made), 1) = contextAt(context).Fuser_opaque
	}
	return made
}

// running is the act that JavaScript runs for. It lies in the engine's context, which the wrapper does not use, so that hooks find it.
func (b bare) running() int64 { return int64(contextAt(b.context).Fuser_opaque) }

func (b bare) setRunning(act int64) { contextAt(b.context).Fuser_opaque = uintptr(act) }

func contextAt(context uintptr) *lib.TJSContext { return (*lib.TJSContext)(at(context)) }

// job is what the queue holds next; nil when it is empty.
func (b bare) job() *lib.TJSJobEntry {
	head := &b.fields().Fjob_list
	if head.Fnext == uintptr(unsafe.Pointer(head)) {
		return nil
	}
	return (*lib.TJSJobEntry)(at(head.Fnext))
}

// whose is the act that a job belongs to; 0 when that is not known, and nobody's code is run.
func (b bare) whose(job *lib.TJSJobEntry) int64 {
	const asks, reacts = 3, 5 // arguments: promise, thenable, then; resolve, reject, handler, whether it is a rejection, value
	if !marks {
		return 0
	}
	given := argumentsOf(job)
	switch len(given) {
	case asks:
		return since(*jobMark(job))
	case reacts:
		return ofReaction(given[0], given[2])
	}
	return 0
}

func ofReaction(resolve, handler lib.TJSValue) int64 {
	switch classOf(handler) {
	case noClass:
		return 0
	case lib.EJS_CLASS_ASYNC_FUNCTION_RESOLVE, lib.EJS_CLASS_ASYNC_FUNCTION_RESOLVE + 1:
		state := (*lib.TJSAsyncFunctionState)(at(*word(objectOf(handler), 0)))
		return ofPromise(state.Fresolving_funcs[0])
	case lib.EJS_CLASS_C_FUNCTION_DATA:
		return ofBuiltIn(resolve, handler)
	}
	return ofPromise(resolve)
}

// ofPromise is the mark of the promise that a function resolves.
func ofPromise(resolve lib.TJSValue) int64 {
	if classOf(resolve) != lib.EJS_CLASS_PROMISE_RESOLVE_FUNCTION {
		return 0
	}
	promise := (*lib.TJSPromiseFunctionData)(at(*word(objectOf(resolve), 0))).Fpromise
	if classOf(promise) != lib.EJS_CLASS_PROMISE {
		return 0
	}
	return int64(*word(objectOf(promise), 1))
}

// ofBuiltIn is whose a built-in function is that goes on with a generator, or calls what `finally` was given. Others call nobody's code.
func ofBuiltIn(resolve, handler lib.TJSValue) int64 {
	record := (*lib.TJSCFunctionDataRecord)(at(*word(objectOf(handler), 0)))
	const finally = 2 // values that it keeps: the constructor, and the function
	if record.Fdata_len == 0 {
		return 0
	}
	kept := *(*lib.TJSValue)(unsafe.Add(unsafe.Pointer(record), unsafe.Sizeof(*record)))
	switch {
	case classOf(kept) == lib.EJS_CLASS_ASYNC_GENERATOR:
		return int64(*word(objectOf(kept), 1))
	case classOf(kept) != noClass && record.Fdata_len == finally:
		return ofPromise(resolve)
	}
	return 0
}

// lastJob is where the queue ends now: what comes behind it is new. 0 is its head.
func (b bare) lastJob() uintptr {
	head := &b.fields().Fjob_list
	if head.Fprev == head.Fnext {
		return 0 // it has one job at most, and that one is done next
	}
	return head.Fprev
}

// markJobs marks the jobs behind one with the act that runs.
func (b bare) markJobs(behind uintptr) {
	if !marks {
		return
	}
	head := &b.fields().Fjob_list
	end := uintptr(unsafe.Pointer(head))
	next := head.Fnext
	if behind != 0 {
		next = (*lib.TJSJobEntry)(at(behind)).Flink.Fnext
	}
	for next != end {
		job := (*lib.TJSJobEntry)(at(next))
		*jobMark(job) = uint32(b.running())
		next = job.Flink.Fnext
	}
}

// jobMark lies where C fills a job up to a whole word.
func jobMark(job *lib.TJSJobEntry) *uint32 {
	return (*uint32)(unsafe.Add(unsafe.Pointer(&job.Fargc), unsafe.Sizeof(job.Fargc)))
}

// since is the act of which half the number is known: the youngest of those.
func since(low uint32) int64 {
	if low == 0 {
		return 0
	}
	last := ids.Load()
	return last - int64(uint32(last)-low)
}

// do runs the next job. An exception that it throws is an error.
func (b bare) do() error {
	if lib.XJS_ExecutePendingJob(b.tls, b.runtime, 0) >= 0 {
		return nil
	}
	return b.thrown()
}

// raw is what a value of the wrapper's holds, and goes on to own.
func raw(v quickjs.Value) lib.TJSValue {
	return *(*lib.TJSValue)(reflect.ValueOf(&v).Elem().FieldByName("v").Addr().UnsafePointer())
}

// jobs runs what promises have queued until nothing is left, or the turn's time is over: each for the act that it belongs to.
func (e *Engine) jobs(until time.Time) {
	for {
		job := e.bare.job()
		if job == nil || !e.arm(until) {
			return
		}
		if act := e.bare.whose(job); act != 0 && act != e.bare.running() {
			e.act.Store(act)
			e.bare.setRunning(act)
			_ = e.call(e.entrances["become"], until, act) // a turn whose time is over ends
		}
		last := e.bare.lastJob()
		err := e.bare.do()
		e.bare.markJobs(last)
		if err != nil {
			e.uncaught(e.act.Load(), err)
		}
	}
}

// noClass is that of a value that is no object.
const noClass = 0

func classOf(v lib.TJSValue) int {
	if v.Ftag != lib.EJS_TAG_OBJECT {
		return noClass
	}
	return int((*lib.TJSObject)(at(objectOf(v))).Fclass_id)
}

func objectOf(v lib.TJSValue) uintptr { return *(*uintptr)(unsafe.Pointer(&v.Fu)) }

// word is one of those that an object has for what its class keeps.
func word(object uintptr, i uintptr) *uintptr {
	return (*uintptr)(unsafe.Add(unsafe.Pointer(&(*lib.TJSObject)(at(object)).Fu), i*unsafe.Sizeof(i)))
}

func argumentsOf(job *lib.TJSJobEntry) []lib.TJSValue {
	return unsafe.Slice((*lib.TJSValue)(unsafe.Add(unsafe.Pointer(job), unsafe.Sizeof(*job))), job.Fargc)
}

// at is a place in the engine's memory, which is not Go's.
func at(place uintptr) unsafe.Pointer { return unsafe.Add(unsafe.Pointer(nil), place) }
