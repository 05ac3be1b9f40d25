package proxy

import (
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
	work     sync.WaitGroup
}

// open listens and hands on what comes in.
func (d *entrance) open(accept func(net.Conn)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.shut(); err != nil {
		return err
	}
	l, err := loopback.Again(func() (net.Listener, error) { return net.Listen("tcp", d.port.Address()) })
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
			accept(conn)
		}
	})
	return nil
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
	d.grave, err = loopback.Again(func() (*grave, error) { return digAt(d.port.Number) })
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
		conn, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", port), tooLong)
		if err != nil {
			return g, nil
		}
		g.queue = append(g.queue, conn)
	}
	return nil, errors.Join(errors.New("a full queue takes connections here"), g.close())
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
