package script

import (
	"errors"
	"strings"
	"sync"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/libquickjs"
)

// Natives are functions of Go's that scripts call below the wrapper, which finds them and their arguments by reflection. They are few: those
// that a step of a run crosses with, and the one that a bundle calls for every function that it makes. None of them can panic or end its
// goroutine, or calls what may: the wrapper, which would see to that, is not there.

// native is one of them. It is given as many arguments as it takes, whatever the script gave.
type native struct {
	name  string
	takes int32
	call  plainCall
}

var natives = []native{{"hostNamed", 2, calledNamed}, {"hostAsk", 5, calledAsk}, {"hostFinish", 3, calledFinish}}

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
	name := lib.XDupValue(tls, context, given[1]) // the property owns it
	if lib.XJS_DefinePropertyValue(tls, context, given[0], lib.EJS_ATOM_name, name, lib.MJS_PROP_CONFIGURABLE) < 0 {
		return exception
	}
	return lib.XDupValue(tls, context, given[0])
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

var (
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

// valueOf is a text, a number, or nil for all else; it reports false when there was no memory for the text.
func valueOf(tls *libc.TLS, context uintptr, v lib.TJSValue) (any, bool) {
	switch v.Ftag {
	case lib.EJS_TAG_STRING, lib.EJS_TAG_STRING_ROPE:
		return textOf(tls, context, v)
	case lib.EJS_TAG_FLOAT64:
		return *(*float64)(unsafe.Pointer(&v.Fu)), true
	case lib.EJS_TAG_INT:
		return int(number(v)), true
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
	s := unsafe.String((*byte)(at(text)), *(*uintptr)(at(length)))
	return strings.Clone(strings.ToValidUTF8(s, "\uFFFD")), true
}
