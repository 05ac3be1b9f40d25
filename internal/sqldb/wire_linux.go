package sqldb

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// limitSilence ends a connection whose bytes are not acknowledged for userTimeout. Keepalives do not: they wait while bytes
// are under way.
func limitSilence(network, _ string, c syscall.RawConn) error {
	if network == "unix" {
		return nil
	}
	var failed error
	err := c.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(userTimeout.Milliseconds()))
	})
	if err != nil {
		return err
	}
	return failed
}
