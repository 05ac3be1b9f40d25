//go:build !windows

package hold

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// Careful are the flags by which no link is followed, and no pipe is waited for.
const Careful = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// Wait holds a file until it is closed, as soon as nobody else does.
func Wait(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX) }

// Try holds a file until it is closed, or says ErrHeld.
func Try(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrHeld
	}
	return err
}

// IsOwn reports whether a file is one, of this user alone, and has no other name.
func IsOwn(info fs.FileInfo) bool {
	stat, known := info.Sys().(*syscall.Stat_t)
	return info.Mode().IsRegular() && known && stat.Uid == uint32(os.Geteuid()) && stat.Nlink == 1
}

// IsPrivate reports whether nobody else can read a file.
func IsPrivate(info fs.FileInfo) bool { return info.Mode().Perm()&0o077 == 0 }

// Settle gives a file that is held its name, in one step, and closes it.
func Settle(f *os.File, name string) error {
	return errors.Join(os.Rename(f.Name(), name), f.Close())
}

// Resized is the signal of a terminal that has another size.
const Resized = syscall.SIGWINCH
