// Package loopback keeps ports of 127.0.0.1 for those who listen on them only now and then.
package loopback

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
	"time"
)

// Port is a port that nobody else is given. Connections to it are refused while nobody listens.
type Port struct {
	Number int
	socket int // bound, and never listening
}

// Reserve finds a free port and keeps it until Close.
func Reserve() (*Port, error) {
	socket, err := Socket(0)
	if err != nil {
		return nil, err
	}
	name, err := syscall.Getsockname(socket)
	if err != nil {
		return nil, errors.Join(err, syscall.Close(socket))
	}
	return &Port{Number: name.(*syscall.SockaddrInet4).Port, socket: socket}, nil
}

// Address is the port's, as host:port.
func (p *Port) Address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.Number)) }

// Close lets the port go.
func (p *Port) Close() error { return syscall.Close(p.socket) }

// Socket is bound to a port of loopback, which others may share as long as none of them listens: the kernel lets one of
// them listen then.
func Socket(port int) (int, error) {
	syscall.ForkLock.RLock()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return 0, fmt.Errorf("socket: %w", err)
	}
	err = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
	if err == nil {
		err = syscall.Bind(fd, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
	}
	if err != nil {
		return 0, errors.Join(fmt.Errorf("bind: %w", err), syscall.Close(fd))
	}
	return fd, nil
}

// release is how long a listener that was closed may still listen.
const release = 5 * time.Second

// Again listens at a port where another listener was closed: that one still listens while a process is begun that has not come to its own
// program yet, for until then it has what its parent had.
func Again[L any](listen func() (L, error)) (l L, err error) {
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		if l, err = listen(); !errors.Is(err, syscall.EADDRINUSE) || time.Since(began) > release {
			return l, err
		}
	}
}
