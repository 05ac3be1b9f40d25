// Package disk stands between SQLite and its files, and lets reading, writing or syncing them fail on command: what a disk
// does that is full, or about to die.
package disk

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// Fault is what fails. The zero Fault lets everything succeed.
type Fault struct {
	Reads  bool // files cannot be read
	Writes bool // files cannot be written
	Syncs  bool // writes cannot be made durable
	Full   bool // files cannot grow; their bytes can be overwritten
}

var (
	current atomic.Pointer[Fault]
	failed  atomic.Int64
)

// Set makes a fault the state of every file that SQLite has open in this process, or opens from now on.
func Set(f Fault) { current.Store(&f) }

// Failed is how many calls have failed so far.
func Failed() int64 { return failed.Load() }

// fails counts a call that fails.
func fails(which func(Fault) bool) bool {
	f := current.Load()
	if f == nil || !which(*f) {
		return false
	}
	failed.Add(1)
	return true
}

// Install puts the package between SQLite and the files of this process, for databases that are opened from now on.
var Install = sync.OnceValue(func() error {
	tls := libc.NewTLS()
	defer tls.Close()
	if rc := sqlite3.Xsqlite3_initialize(tls); rc != sqlite3.SQLITE_OK {
		return fmt.Errorf("initialize sqlite: %d", rc)
	}
	system.at = sqlite3.Xsqlite3_vfs_find(tls, 0)
	if system.at == 0 {
		return errors.New("sqlite knows no files here")
	}
	ours = *pointer[sqlite3.Tsqlite3_vfs](system.at)
	system.open = ours.FxOpen
	ours.FxOpen, ours.FpNext, ours.FzName = function(openFile), 0, uintptr(unsafe.Pointer(&name[0]))
	if rc := sqlite3.Xsqlite3_vfs_register(tls, uintptr(unsafe.Pointer(&ours)), 1); rc != sqlite3.SQLITE_OK {
		return fmt.Errorf("register file system: %d", rc)
	}
	return nil
})

var (
	// system is how SQLite reaches files without us.
	system struct{ at, open uintptr }
	// ours is the same but for how a file is opened.
	ours sqlite3.Tsqlite3_vfs
	name = [...]byte{'s', 'v', 'c', '-', 'd', 'i', 's', 'k', 0}

	mu     sync.Mutex
	tables [8]table // not on the heap, which C has no part in
)

// table is the methods of a file; before are those of the system, which lie at an address of their own.
type table struct {
	sqlite3.Tsqlite3_io_methods
	before sqlite3.Tsqlite3_io_methods
	at     uintptr
}

// openFile opens a file as the system does, and puts our methods before its own.
func openFile(tls *libc.TLS, _, path, file uintptr, flags int32, out uintptr) int32 {
	rc := call[func(*libc.TLS, uintptr, uintptr, uintptr, int32, uintptr) int32](system.open)(tls, system.at, path, file, flags, out)
	if f := pointer[sqlite3.Tsqlite3_file](file); rc == sqlite3.SQLITE_OK && f.FpMethods != 0 {
		f.FpMethods = uintptr(unsafe.Pointer(tableOf(f.FpMethods)))
	}
	return rc
}

func tableOf(at uintptr) *table {
	mu.Lock()
	defer mu.Unlock()
	for i := range tables {
		t := &tables[i]
		if t.at == 0 {
			t.at, t.before = at, *pointer[sqlite3.Tsqlite3_io_methods](at)
			t.Tsqlite3_io_methods = t.before
			t.FxRead, t.FxWrite, t.FxSync = function(readFile), function(writeFile), function(syncFile)
		}
		if t.at == at {
			return t
		}
	}
	panic("disk: SQLite has more kinds of files than are known")
}

func before(file uintptr) *sqlite3.Tsqlite3_io_methods {
	return &pointer[table](pointer[sqlite3.Tsqlite3_file](file).FpMethods).before
}

func readFile(tls *libc.TLS, file, buffer uintptr, n int32, at int64) int32 {
	if fails(func(f Fault) bool { return f.Reads }) {
		return sqlite3.SQLITE_IOERR_READ
	}
	return call[func(*libc.TLS, uintptr, uintptr, int32, int64) int32](before(file).FxRead)(tls, file, buffer, n, at)
}

func writeFile(tls *libc.TLS, file, buffer uintptr, n int32, at int64) int32 {
	if fails(func(f Fault) bool { return f.Writes }) {
		return sqlite3.SQLITE_IOERR_WRITE
	}
	if grows(tls, file, at+int64(n)) && fails(func(f Fault) bool { return f.Full }) {
		return sqlite3.SQLITE_FULL
	}
	return call[func(*libc.TLS, uintptr, uintptr, int32, int64) int32](before(file).FxWrite)(tls, file, buffer, n, at)
}

// grows reports whether a file that ends there is longer than it is.
func grows(tls *libc.TLS, file uintptr, end int64) bool {
	if f := current.Load(); f == nil || !f.Full {
		return false
	}
	size := tls.Alloc(8)
	defer tls.Free(8)
	rc := call[func(*libc.TLS, uintptr, uintptr) int32](before(file).FxFileSize)(tls, file, size)
	return rc != sqlite3.SQLITE_OK || end > *pointer[int64](size)
}

func syncFile(tls *libc.TLS, file uintptr, flags int32) int32 {
	if fails(func(f Fault) bool { return f.Syncs }) {
		return sqlite3.SQLITE_IOERR_FSYNC
	}
	return call[func(*libc.TLS, uintptr, int32) int32](before(file).FxSync)(tls, file, flags)
}

// pointer is an address that C gave us.
func pointer[T any](at uintptr) *T { return *(**T)(unsafe.Pointer(&at)) }

// function is a Go function as translated C calls it.
func function(f any) uintptr { return (*[2]uintptr)(unsafe.Pointer(&f))[1] }

// call is a function of translated C as Go calls it.
func call[F any](at uintptr) F { return *(*F)(unsafe.Pointer(&struct{ uintptr }{at})) }
