package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"

	"svc.dev/svc/internal/outage/loopback"
)

// entrance is where connections come in: open, shut, or not to be found. Its port stays its own all the time.
type entrance struct {
	mu       sync.Mutex
	port     *loopback.Port
	listener net.Listener
	grave    *grave
	accepted []net.Conn
	work     sync.WaitGroup
}

func (d *entrance) reserve() (err error) {
	d.port, err = loopback.Reserve()
	return err
}

// open listens and hands on what comes in.
func (d *entrance) open(accept func(net.Conn)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.shut(); err != nil {
		return err
	}
	l, err := net.Listen("tcp", d.port.Address())
	if err != nil {
		return err
	}
	d.listener = l
	d.work.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			d.keep(conn)
			accept(conn)
		}
	})
	return nil
}

// keep holds a connection so that it is not closed before the entrance is.
func (d *entrance) keep(conn net.Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.accepted = append(d.accepted, conn)
}

func (d *entrance) refuse() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.shut()
}

func (d *entrance) vanish() (err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.shut(); err != nil {
		return err
	}
	d.grave, err = digAt(d.port.Number)
	return err
}

// shut closes what listens.
func (d *entrance) shut() (err error) {
	if d.listener != nil {
		err = d.listener.Close()
		d.listener = nil
	}
	if d.grave != nil {
		err = errors.Join(err, d.grave.close())
		d.grave = nil
	}
	return err
}

func (d *entrance) close() {
	_ = d.refuse()
	d.work.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, conn := range d.accepted {
		reset(conn)
	}
	d.accepted = nil
	_ = d.port.Close()
}

// grave is an address at which nobody answers, not even that nobody is there: a listener whose queue is full, so that the
// kernel drops whatever else asks for a connection.
type grave struct {
	fd    int
	queue []net.Conn
}

// tooLong is after how long a connection on loopback does not come about.
const tooLong = 100 * time.Millisecond

func digAt(port int) (*grave, error) {
	fd, err := loopback.Socket(port)
	if err != nil {
		return nil, err
	}
	g := &grave{fd: fd}
	if err := syscall.Listen(fd, 0); err != nil {
		return nil, errors.Join(fmt.Errorf("listen: %w", err), g.close())
	}
	for range 16 {
		conn, err := dial(fmt.Sprintf("127.0.0.1:%d", port), tooLong)
		if err != nil {
			return g, nil
		}
		g.queue = append(g.queue, conn)
	}
	return nil, errors.Join(errors.New("a full queue takes connections here"), g.close())
}

func dial(address string, limit time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var d net.Dialer
	return d.DialContext(ctx, "tcp", address)
}

func (g *grave) close() error {
	for _, conn := range g.queue {
		reset(conn)
	}
	return syscall.Close(g.fd)
}

// reset closes a connection as a machine does that has forgotten it.
func reset(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
