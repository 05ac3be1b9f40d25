package script

import (
	"errors"
	"reflect"
	"sync"
	"time"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/libquickjs"
	"modernc.org/quickjs"
)

// bare is the engine below its wrapper, for what the wrapper does not offer: how much memory is used, when the collector runs, when a
// turn must end, and which rejections nobody handles. Only the engine's goroutine uses it.
type bare struct {
	vm      *quickjs.VM
	runtime uintptr
	context uintptr
	tls     *libc.TLS

	interrupt *interrupt
}

var errWrapper = errors.New("script: the engine's wrapper is not the one that this was written for")

// bareOf reads the wrapper's private fields. The wrapper's version is pinned, and a test fails when they have moved.
func bareOf(vm *quickjs.VM) (b bare, err error) {
	defer func() {
		if recover() != nil {
			err = errWrapper
		}
	}()
	fields := reflect.ValueOf(vm).Elem()
	runtime := fields.FieldByName("runtime").Elem()
	b = bare{
		vm: vm, runtime: uintptr(runtime.FieldByName("cRuntime").Uint()), context: uintptr(fields.FieldByName("cContext").Uint()),
		tls: (*libc.TLS)(runtime.FieldByName("tls").UnsafePointer()),
	}
	if b.runtime == 0 || b.context == 0 || b.tls == nil {
		return b, errWrapper
	}
	return b, nil
}

func (b bare) fields() *lib.TJSRuntime {
	return (*lib.TJSRuntime)(at(b.runtime))
}

// used is how many bytes scripts hold.
func (b bare) used() uint64 { return uint64(b.fields().Fmalloc_ctx.Fmalloc_state.Fmalloc_size) }

func (b bare) collect() { lib.XJS_RunGC(b.tls, b.runtime) }

// collectBetween lets the collector run at so many bytes at the earliest, and at so many at the latest.
func (b bare) collectBetween(least, most uint64) {
	now := uint64(b.fields().Fmalloc_gc_threshold)
	if wanted := min(max(now, least), most); wanted != now {
		lib.XJS_SetGCThreshold(b.tls, b.runtime, libc.Tsize_t(wanted))
	}
}

// interrupts leads from a runtime to what decides whether its turn must end: a callback of C has no closure.
var interrupts sync.Map

// interrupt is until when a turn may last, the wrapper's own handler, which others may ask to end it now, and whether anything was ended.
type interrupt struct {
	until                    time.Time // zero: as long as it takes
	handler, opaque, context uintptr
	fired                    bool
}

// isOver reports whether the turn's time is over.
func (i *interrupt) isOver() bool { return !i.until.IsZero() && !time.Now().Before(i.until) }

// prolong lets the turn last longer.
func (i *interrupt) prolong(by time.Duration) {
	if !i.until.IsZero() {
		i.until = i.until.Add(by)
	}
}

// interruptForGood has a turn that goes on after an interrupt interrupted at every look, not at one in ten thousand steps: an asynchronous
// function makes a rejection of the first, which says where the turn was, and its caller would go on for ever.
func (b bare) interruptForGood() *interrupt {
	own := &interrupt{handler: b.fields().Finterrupt_handler, opaque: b.fields().Finterrupt_opaque, context: b.context}
	interrupts.Store(b.runtime, own)
	callback := interrupted
	lib.XJS_SetInterruptHandler(b.tls, b.runtime, *(*uintptr)(unsafe.Pointer(&callback)), b.runtime)
	return own
}

// lookNow has the engine ask at its next look whether the turn must end.
func (b bare) lookNow() { contextAt(b.context).Finterrupt_counter = 1 }

func interrupted(tls *libc.TLS, runtime, _ uintptr) int32 {
	known, ok := interrupts.Load(runtime)
	if !ok {
		return 0
	}
	own := known.(*interrupt)
	if !own.isOver() && (*(*func(*libc.TLS, uintptr, uintptr) int32)(unsafe.Pointer(&own.handler)))(tls, runtime, own.opaque) == 0 {
		return 0
	}
	if own.fired {
		contextAt(own.context).Finterrupt_counter = 1
	}
	own.fired = true
	return 1
}

// mostReasons is how many jobs are looked at, the newest first.
const mostReasons = 8

// queuedReasons are why promises were rejected whose reactions wait in the queue of jobs. They stay the queue's own.
func (b bare) queuedReasons() (reasons []lib.TJSValue) {
	const arguments, rejects, reason = 5, 3, 4 // of a reaction: resolve, reject, handler, whether it is a rejection, value
	if !marks {
		return nil // C aligns the arguments of a job otherwise there
	}
	head := &b.fields().Fjob_list
	end := uintptr(unsafe.Pointer(head))
	for next, n := head.Fprev, 0; next != end && n < mostReasons; n++ {
		job := (*lib.TJSJobEntry)(at(next))
		given := argumentsOf(job)
		if len(given) == arguments && lib.XJS_ToBool(b.tls, b.context, given[rejects]) == 1 {
			reasons = append(reasons, given[reason])
		}
		next = job.Flink.Fprev
	}
	return reasons
}

// refusals leads from the state of a runtime's memory to what is set when an allocation was refused. A script cannot be asked: it may
// have caught the error, and there may have been no memory for one.
var refusals sync.Map

// usual are the engine's own functions, which are the same for all runtimes.
var usual struct {
	once            sync.Once
	malloc, realloc uintptr
}

// watchMemory sets refused when an allocation is refused.
func (b bare) watchMemory(refused *bool) {
	mf := &b.fields().Fmalloc_ctx.Fmf
	usual.once.Do(func() { usual.malloc, usual.realloc = mf.Fjs_malloc, mf.Fjs_realloc })
	malloc, realloc := notingMalloc, notingRealloc
	mf.Fjs_malloc, mf.Fjs_realloc = *(*uintptr)(unsafe.Pointer(&malloc)), *(*uintptr)(unsafe.Pointer(&realloc))
	refusals.Store(b.memoryState(), refused)
}

// unwatch forgets what the engine below the wrapper was asked to tell.
func (e *Engine) unwatch() {
	if e.bare.runtime == 0 {
		return
	}
	e.doubts.forget(e.bare)
	engines.Delete(e.bare.context)
	interrupts.Delete(e.bare.runtime)
	refusals.Delete(e.bare.memoryState())
}

func (b bare) memoryState() uintptr {
	return uintptr(unsafe.Pointer(&b.fields().Fmalloc_ctx.Fmalloc_state))
}

func notingMalloc(tls *libc.TLS, state uintptr, size lib.Tsize_t) uintptr {
	at := usual.malloc
	got := (*(*func(*libc.TLS, uintptr, lib.Tsize_t) uintptr)(unsafe.Pointer(&at)))(tls, state, size)
	if got == 0 {
		noteRefusal(state)
	}
	return got
}

func notingRealloc(tls *libc.TLS, state, old uintptr, size lib.Tsize_t) uintptr {
	at := usual.realloc
	got := (*(*func(*libc.TLS, uintptr, uintptr, lib.Tsize_t) uintptr)(unsafe.Pointer(&at)))(tls, state, old, size)
	if got == 0 && size > 0 {
		noteRefusal(state)
	}
	return got
}

func noteRefusal(state uintptr) {
	if refused, ok := refusals.Load(state); ok {
		*refused.(*bool) = true
	}
}

// withoutSource leaves the text of functions out of what is compiled from here on.
func (b bare) withoutSource() { lib.XJS_SetStripInfo(b.tls, b.runtime, lib.MJS_STRIP_SOURCE) }

// thrown is the exception that is pending, which is no longer then.
func (b bare) thrown() error {
	thrown := b.value(lib.XJS_GetException(b.tls, b.context))
	defer thrown.Free()
	return quickjs.ErrorFromValue(thrown)
}

// value makes a value of the wrapper's, which then owns it.
func (b bare) value(v lib.TJSValue) quickjs.Value {
	var out quickjs.Value
	fields := reflect.ValueOf(&out).Elem()
	put(fields.FieldByName("vm"), b.vm)
	put(fields.FieldByName("v"), v)
	return out
}

func put[T any](field reflect.Value, value T) {
	*(*T)(field.Addr().UnsafePointer()) = value
}

// doubts are the rejected promises of a turn that nobody handles yet. The turn's end decides: until then a handler may come.
type doubts struct {
	list []doubt
	more int           // beyond those that are kept
	last *lib.TJSValue // the last reason of a turn, whoever handles it
}

type doubt struct{ promise, reason lib.TJSValue }

// keptDoubts is how many of a turn are told; the rest is only counted.
const keptDoubts = 20

// doubters leads from an engine's runtime to its doubts: a callback of C has no closure.
var doubters sync.Map

func (d *doubts) watch(b bare) {
	doubters.Store(b.runtime, d)
	callback := rejected
	lib.XJS_SetHostPromiseRejectionTracker(b.tls, b.runtime, *(*uintptr)(unsafe.Pointer(&callback)), b.runtime)
}

func (d *doubts) forget(b bare) {
	for _, one := range d.list {
		one.free(b.tls, b.context)
	}
	d.forgetLast(b.tls, b.context)
	d.list = nil
	doubters.Delete(b.runtime)
}

func (d doubt) free(tls *libc.TLS, context uintptr) {
	lib.XFreeValue(tls, context, d.promise)
	lib.XFreeValue(tls, context, d.reason)
}

// rejected hears from the engine that a promise was rejected without a handler, and that a handler came after all.
func rejected(tls *libc.TLS, context uintptr, promise, reason lib.TJSValue, handled int32, runtime uintptr) {
	known, ok := doubters.Load(runtime)
	if !ok {
		return
	}
	d := known.(*doubts)
	if handled != 0 {
		d.resolve(tls, context, promise)
		return
	}
	d.remember(tls, context, reason)
	if len(d.list) >= keptDoubts {
		d.more++
		return
	}
	d.list = append(d.list, doubt{lib.XDupValue(tls, context, promise), lib.XDupValue(tls, context, reason)})
}

func (d *doubts) remember(tls *libc.TLS, context uintptr, reason lib.TJSValue) {
	d.forgetLast(tls, context)
	kept := lib.XDupValue(tls, context, reason)
	d.last = &kept
}

func (d *doubts) forgetLast(tls *libc.TLS, context uintptr) {
	if d.last != nil {
		lib.XFreeValue(tls, context, *d.last)
		d.last = nil
	}
}

func (d *doubts) resolve(tls *libc.TLS, context uintptr, promise lib.TJSValue) {
	for i, one := range d.list {
		if one.promise == promise {
			one.free(tls, context)
			d.list = append(d.list[:i], d.list[i+1:]...)
			return
		}
	}
	// A promise of an earlier turn was told already.
	if d.more > 0 {
		d.more--
	}
}

// tellDoubts logs the rejections of this turn that nobody has handled.
func (e *Engine) tellDoubts(until time.Time) {
	list, more := e.doubts.list, e.doubts.more
	e.doubts.list, e.doubts.more = nil, 0
	for _, one := range list {
		if e.lost() {
			one.free(e.bare.tls, e.bare.context)
			continue
		}
		if err := e.call(e.entrances["reject"], until, one.reason); err != nil {
			e.uncaught(e.act.Load(), err)
		}
		one.free(e.bare.tls, e.bare.context)
	}
	if more > 0 && !e.lost() {
		e.config.Log.ErrorContext(e.contextOf(e.act.Load()), "unhandled rejections", "from", "script", "more", more)
	}
}
