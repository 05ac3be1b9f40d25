package script

import (
	"sync"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/libquickjs"
)

// A method of the engine's own that the prelude calls as a function, what would be its `this` first. In JavaScript that is a function that is
// bound to `Function.prototype.call`, which makes three calls of one; here it is one that goes to the method at once.

// method is one of the engine's: the same for all runtimes.
type method struct {
	call         uintptr
	takes, proto uint8
	magic        int16
}

// builtIn is what an object has that is a function of the engine's.
type builtIn struct {
	realm uintptr
	method
}

// methods are those that some prelude has asked for. A function has the number of its own; what is below it does not change any more.
var methods struct {
	mu    sync.Mutex
	count int32
	known [512]method
}

// numberOf is that of a method; it reports false where there is no place for another.
func numberOf(m method) (int32, bool) {
	methods.mu.Lock()
	defer methods.mu.Unlock()
	for i, one := range methods.known[:methods.count] {
		if one == m {
			return int32(i), true
		}
	}
	if methods.count == int32(len(methods.known)) {
		return 0, false
	}
	methods.known[methods.count] = m
	methods.count++
	return methods.count - 1, true
}

// calledMethod makes a function of a method, or nothing where that is not one of the engine's.
func calledMethod(tls *libc.TLS, context uintptr, _ lib.TJSValue, _ int32, argv uintptr) lib.TJSValue {
	given := argumentsAt(argv, 1)[0]
	if classOf(given) != lib.EJS_CLASS_C_FUNCTION {
		return undefined
	}
	m := (*builtIn)(unsafe.Pointer(&(*lib.TJSObject)(at(objectOf(given))).Fu)).method
	switch m.proto {
	case lib.EJS_CFUNC_generic, lib.EJS_CFUNC_generic_magic, lib.EJS_CFUNC_getter, lib.EJS_CFUNC_getter_magic:
	default:
		return undefined
	}
	i, ok := numberOf(m)
	if !ok {
		return undefined
	}
	call := calledByNumber
	fn := lib.XJS_NewCFunction2(tls, context, *(*uintptr)(unsafe.Pointer(&call)), uintptr(unsafe.Pointer(&noName)), int32(m.takes)+1, lib.EJS_CFUNC_generic_magic, i)
	return named(tls, context, fn, lib.XJS_GetPropertyInternal(tls, context, given, lib.EJS_ATOM_name, given, 0))
}

// noName is an empty text of C's, for what gets its name afterwards.
var noName byte

// calledByNumber calls a method. The engine has seen to it that there are as many arguments as it takes.
func calledByNumber(tls *libc.TLS, context uintptr, _ lib.TJSValue, argc int32, argv uintptr, number int32) lib.TJSValue {
	m := &methods.known[number]
	this, rest, n := argumentsAt(argv, 1)[0], argv+unsafe.Sizeof(lib.TJSValue{}), max(argc-1, 0)
	switch m.proto {
	case lib.EJS_CFUNC_generic:
		return (*(*plainCall)(unsafe.Pointer(&m.call)))(tls, context, this, n, rest)
	case lib.EJS_CFUNC_generic_magic:
		return (*(*magicCall)(unsafe.Pointer(&m.call)))(tls, context, this, n, rest, int32(m.magic))
	case lib.EJS_CFUNC_getter:
		return (*(*getterCall)(unsafe.Pointer(&m.call)))(tls, context, this)
	}
	return (*(*magicGetterCall)(unsafe.Pointer(&m.call)))(tls, context, this, int32(m.magic))
}

type (
	magicCall       = func(tls *libc.TLS, context uintptr, this lib.TJSValue, argc int32, argv uintptr, magic int32) lib.TJSValue
	getterCall      = func(tls *libc.TLS, context uintptr, this lib.TJSValue) lib.TJSValue
	magicGetterCall = func(tls *libc.TLS, context uintptr, this lib.TJSValue, magic int32) lib.TJSValue
)
