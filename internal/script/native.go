package script

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/libquickjs"
)

// Natives are functions of Go's that scripts call below the wrapper, which finds functions and their arguments by reflection. None of them can
// panic or end its goroutine, or calls what may: the wrapper, which would see to that, is not there. What an operation is asked for has a
// panic made an error, and what may end its goroutine done on another.

// native is one of them. It is given as many arguments as it takes, whatever the script gave.
type native struct {
	name  string
	takes int32
	call  plainCall
}

var natives = []native{
	{"hostMethod", 1, calledMethod}, {"hostNamed", 2, calledNamed},
	{"hostAsk", 5, calledAsk}, {"hostFinish", 3, calledFinish}, {"hostSync", crossing, calledAtOnce}, {"hostAsync", crossing, calledLater},
}

// crossing is how many values an operation crosses with: its name, the call's id, the act, and six that belong to it.
const crossing = 9

// offerNatives puts them where the prelude finds them.
func (b bare) offerNatives() error {
	global := lib.XJS_GetGlobalObject(b.tls, b.context)
	defer lib.XFreeValue(b.tls, b.context, global)
	for _, n := range natives {
		if err := b.offer(global, n); err != nil {
			return err
		}
	}
	return nil
}

func (b bare) offer(global lib.TJSValue, n native) error {
	name, err := libc.CString(n.name)
	if err != nil {
		return err
	}
	defer libc.Xfree(b.tls, name)
	fn := lib.XJS_NewCFunction2(b.tls, b.context, *(*uintptr)(unsafe.Pointer(&n.call)), name, n.takes, lib.EJS_CFUNC_generic, 0)
	if lib.XJS_SetPropertyStr(b.tls, b.context, global, name, fn) < 0 {
		return errors.New("script: out of memory at the start")
	}
	return nil
}

// calledNamed names a function, and returns it: what Object.defineProperty does by way of an object that says so.
func calledNamed(tls *libc.TLS, context uintptr, _ lib.TJSValue, _ int32, argv uintptr) lib.TJSValue {
	given := argumentsAt(argv, 2)
	return named(tls, context, lib.XDupValue(tls, context, given[0]), lib.XDupValue(tls, context, given[1]))
}

// named gives a function its name, and returns it. The name goes on to be the function's own.
func named(tls *libc.TLS, context uintptr, fn, name lib.TJSValue) lib.TJSValue {
	if fn.Ftag == lib.EJS_TAG_EXCEPTION || name.Ftag == lib.EJS_TAG_EXCEPTION {
		lib.XFreeValue(tls, context, name)
	} else if lib.XJS_DefinePropertyValue(tls, context, fn, lib.EJS_ATOM_name, name, lib.MJS_PROP_CONFIGURABLE) >= 0 {
		return fn
	}
	lib.XFreeValue(tls, context, fn)
	return exception
}

// calledAsk takes something for the next wave of an act: act, id, kind, and two that belong to it.
func calledAsk(tls *libc.TLS, context uintptr, _ lib.TJSValue, _ int32, argv uintptr) lib.TJSValue {
	given, e := argumentsAt(argv, 5), engineOf(context)
	a := e.Act(number(given[0]))
	if a == nil {
		return undefined
	}
	kind, ok := textOf(tls, context, given[2])
	if !ok {
		return exception
	}
	ask := Ask{ID: number(given[1]), Kind: kind, Args: make(Args, 2)}
	for i := range ask.Args {
		if ask.Args[i], ok = valueOf(tls, context, given[3+i]); !ok {
			return exception
		}
	}
	e.ask(a, ask)
	return undefined
}

// calledFinish takes the result of an act that went well: act, the value, and whether the script has forgotten the act.
func calledFinish(tls *libc.TLS, context uintptr, _ lib.TJSValue, _ int32, argv uintptr) lib.TJSValue {
	given, e := argumentsAt(argv, 3), engineOf(context)
	a := e.Act(number(given[0]))
	if a == nil {
		return undefined
	}
	value, ok := valueOf(tls, context, given[1])
	if !ok {
		return exception
	}
	a.left.Store(number(given[2]) != 0)
	a.finish(Result{Value: Args{value}.String(0), None: value == nil})
	return undefined
}

// calledAtOnce answers an operation at once.
func calledAtOnce(tls *libc.TLS, context uintptr, _ lib.TJSValue, _ int32, argv uintptr) lib.TJSValue {
	e := engineOf(context)
	c, ok := e.read(argumentsAt(argv, crossing))
	if !ok {
		return exception
	}
	answer, err := c.answer()
	return e.crossed(answer, err)
}

// calledLater begins an operation that takes time.
func calledLater(tls *libc.TLS, context uintptr, _ lib.TJSValue, _ int32, argv uintptr) lib.TJSValue {
	e := engineOf(context)
	c, ok := e.read(argumentsAt(argv, crossing))
	if !ok {
		return exception
	}
	return e.crossed(nil, c.begin())
}

// crossed is an answer for the script that waits for it. An error is thrown as its text, of which the prelude makes one. A turn whose time is
// over goes no further than to the next look.
func (e *Engine) crossed(answer any, err error) lib.TJSValue {
	if e.bare.interrupt.isOver() {
		e.bare.lookNow()
	}
	if err != nil {
		return e.bare.throw(tell(err))
	}
	return e.bare.made(answer)
}

// throw throws a text.
func (b bare) throw(text string) lib.TJSValue {
	made := b.text(text)
	if made.Ftag == lib.EJS_TAG_EXCEPTION {
		return made
	}
	return lib.XJS_Throw(b.tls, b.context, made)
}

// call calls a function of JavaScript. Its result is dropped unseen.
func (b bare) call(fn lib.TJSValue, args []any) error {
	size := max(1, len(args)) * int(unsafe.Sizeof(fn))
	place := b.tls.Alloc(size)
	defer b.tls.Free(size)
	given := argumentsAt(place, len(args))
	for i, arg := range args {
		if given[i] = b.made(arg); given[i].Ftag == lib.EJS_TAG_EXCEPTION {
			b.free(given[:i])
			return b.thrown()
		}
	}
	defer b.free(given)
	result := lib.XJS_Call(b.tls, b.context, fn, undefined, int32(len(args)), place)
	if result.Ftag == lib.EJS_TAG_EXCEPTION {
		return b.thrown()
	}
	lib.XFreeValue(b.tls, b.context, result)
	return nil
}

func (b bare) free(values []lib.TJSValue) {
	for _, v := range values {
		lib.XFreeValue(b.tls, b.context, v)
	}
}

// made is a value in JavaScript, for the caller to free: a text, a number, whether something is true, nothing, or what is there already. It is
// an exception, which is pending then, where there is no memory for it.
func (b bare) made(v any) lib.TJSValue {
	switch v := v.(type) {
	case nil:
		return null
	case string:
		return b.text(v)
	case bool:
		return truth(v)
	case int:
		return whole(int64(v))
	case int64:
		return whole(v)
	case float64:
		return fraction(v)
	case lib.TJSValue:
		return lib.XDupValue(b.tls, b.context, v)
	}
	return b.throw(tell(fmt.Errorf("a %T does not cross", v)))
}

// text makes one. Each byte that is no character's is a replacement for one.
func (b bare) text(s string) lib.TJSValue {
	if !utf8.ValidString(s) {
		s = string([]rune(s))
	}
	place := libc.Xmalloc(b.tls, libc.Tsize_t(len(s)+1))
	if place == 0 {
		return lib.XJS_ThrowOutOfMemory(b.tls, b.context)
	}
	defer libc.Xfree(b.tls, place)
	copy(unsafe.Slice((*byte)(at(place)), len(s)), s)
	return lib.XJS_NewStringLen(b.tls, b.context, place, libc.Tsize_t(len(s)))
}

func whole(n int64) lib.TJSValue {
	if n != int64(int32(n)) {
		return fraction(float64(n))
	}
	v := lib.TJSValue{Ftag: lib.EJS_TAG_INT}
	*(*uint64)(unsafe.Pointer(&v.Fu)) = uint64(uint32(n))
	return v
}

func fraction(n float64) lib.TJSValue {
	v := lib.TJSValue{Ftag: lib.EJS_TAG_FLOAT64}
	*(*float64)(unsafe.Pointer(&v.Fu)) = n
	return v
}

func truth(is bool) lib.TJSValue {
	v := lib.TJSValue{Ftag: lib.EJS_TAG_BOOL}
	if is {
		*(*uint64)(unsafe.Pointer(&v.Fu)) = 1
	}
	return v
}

var (
	null      = lib.TJSValue{Ftag: lib.EJS_TAG_NULL}
	undefined = lib.TJSValue{Ftag: lib.EJS_TAG_UNDEFINED}
	exception = lib.TJSValue{Ftag: lib.EJS_TAG_EXCEPTION} // of what is pending
)

// engines leads from a context to its engine: a callback of C has no closure.
var engines sync.Map

func engineOf(context uintptr) *Engine {
	known, _ := engines.Load(context)
	return known.(*Engine)
}

func argumentsAt(argv uintptr, n int) []lib.TJSValue {
	return unsafe.Slice((*lib.TJSValue)(at(argv)), n)
}

// number is a whole number, or whether something is true.
func number(v lib.TJSValue) int64 {
	if v.Ftag == lib.EJS_TAG_FLOAT64 {
		return int64(*(*float64)(unsafe.Pointer(&v.Fu)))
	}
	return int64(int32(*(*uint64)(unsafe.Pointer(&v.Fu))))
}

// valueOf is a text, a number, whether something is true, or nil for all else; it reports false when there was no memory for the text.
func valueOf(tls *libc.TLS, context uintptr, v lib.TJSValue) (any, bool) {
	switch v.Ftag {
	case lib.EJS_TAG_STRING, lib.EJS_TAG_STRING_ROPE:
		return textOf(tls, context, v)
	case lib.EJS_TAG_FLOAT64:
		return *(*float64)(unsafe.Pointer(&v.Fu)), true
	case lib.EJS_TAG_INT:
		return int(number(v)), true
	case lib.EJS_TAG_BOOL:
		return number(v) != 0, true
	}
	return nil, true
}

// textOf is a copy of a text. Half of a character is a replacement for it, as the wrapper has it.
func textOf(tls *libc.TLS, context uintptr, v lib.TJSValue) (string, bool) {
	length := tls.Alloc(8)
	defer tls.Free(8)
	text := lib.XJS_ToCStringLen2(tls, context, length, v, 0)
	if text == 0 {
		return "", false
	}
	defer lib.XJS_FreeCString(tls, context, text)
	return wellFormed(unsafe.String((*byte)(at(text)), *(*uintptr)(at(length)))), true
}

// wellFormed is a copy of a text in which the three bytes of half a character are those of a replacement.
func wellFormed(s string) string {
	if utf8.ValidString(s) {
		return strings.Clone(s)
	}
	text := []byte(s)
	for i, n := 0, 0; i < len(text); i += n {
		if r, length := utf8.DecodeRune(text[i:]); r == utf8.RuneError && length == 1 {
			n = copy(text[i:], "\uFFFD")
		} else {
			n = length
		}
	}
	return string(text)
}
