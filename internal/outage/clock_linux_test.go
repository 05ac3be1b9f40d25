package outage_test

import (
	"syscall"
	"time"
	"unsafe"
)

// instant is the time since the machine started, the same for all its processes, whatever becomes of the time of day.
func instant() time.Duration {
	const monotonic = 1
	var now syscall.Timespec
	if _, _, err := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, monotonic, uintptr(unsafe.Pointer(&now)), 0); err != 0 {
		panic(err)
	}
	return time.Duration(now.Nano())
}
