package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
)

// listenSocket makes the socket of a setting, for its owner alone: of the admin socket, who can open it is the operator. One that a process has left
// behind is replaced, and one that answers is not.
func listenSocket(ctx context.Context, key, path string) (net.Listener, error) {
	if conn, err := new(net.Dialer).DialContext(ctx, "unix", path); err == nil {
		conn.Close()
		return nil, fmt.Errorf("another process answers on %s: stop it, or set %s to another path", path, key)
	}
	if err := removeSocket(path); err != nil {
		return nil, err
	}
	// The mode is set before the socket has a name, so that at no time others can open it.
	l := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) { _ = syscall.Fchmod(int(fd), 0o600) })
	}}
	socket, err := l.Listen(ctx, "unix", path)
	if errors.Is(err, syscall.EINVAL) {
		return nil, fmt.Errorf("the path has %d bytes, which is too long for a socket: set %s to a shorter one", len(path), key)
	}
	if err != nil {
		return nil, err
	}
	// Not every system heeds the mode from before.
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, socket.Close())
	}
	return socket, nil
}

// removeSocket removes what an earlier process has left, and nothing but a socket.
func removeSocket(path string) error {
	stat, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if stat.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%s is there and is no socket", path)
	}
	return os.Remove(path)
}
