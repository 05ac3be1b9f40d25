package hold

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

// Careful has no flags: a link needs a right here that few people have.
const Careful = 0

// Wait holds a file until it is closed, as soon as nobody else does.
func Wait(f *os.File) error { return lock(f, 0) }

// Try holds a file until it is closed, or says ErrHeld.
func Try(f *os.File) error {
	err := lock(f, windows.LOCKFILE_FAIL_IMMEDIATELY)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrHeld
	}
	return err
}

// lock takes a byte far behind every end: the bytes that are locked can be read by nobody else.
func lock(f *os.File, flags uint32) error {
	const behind = 1 << 30
	at := windows.Overlapped{OffsetHigh: behind}
	return windows.LockFileEx(windows.Handle(f.Fd()), flags|windows.LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0, &at)
}

// IsOwn reports whether it is a file. Whose it is, the folder says: a profile's is its person's.
func IsOwn(info fs.FileInfo) bool { return info.Mode().IsRegular() }

// IsPrivate is true: the access list of the person's folder decides, and modes tell nothing here.
func IsPrivate(fs.FileInfo) bool { return true }

// Settle closes a file that is held and gives it its name: one that is open cannot be renamed here.
func Settle(f *os.File, name string) error {
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// Resized is a signal that never comes: a terminal keeps the size that it had.
const Resized = syscall.SIGHUP
