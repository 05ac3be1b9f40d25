package proxy

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Conn is one connection through the proxy.
type Conn struct {
	proxy  *Proxy
	client net.Conn

	mu      sync.Mutex
	server  net.Conn // nil until it is dialled
	rule    Rule
	changed chan struct{} // closed when the rule changes
	ended   chan struct{} // closed when the connection was cut
	cut     bool

	useless  atomic.Bool  // bytes were lost
	withhold atomic.Bool  // the server is not heard until it has committed, and then the connection is cut
	status   atomic.Int32 // of the server's transaction
}

// idle is what the server says when it is in no transaction.
const idle = 'I'

// Apply puts the connection under a rule.
func (c *Conn) Apply(r Rule) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rule = r
	close(c.changed)
	c.changed = make(chan struct{})
}

// current is the rule, and what is closed when another takes its place.
func (c *Conn) current() (rule Rule, changed <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rule, c.changed
}

// Cut ends the connection.
func (c *Conn) Cut(how Ending) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut {
		return
	}
	c.cut = true
	close(c.ended)
	for _, end := range []net.Conn{c.client, c.server} {
		switch {
		case end == nil:
		case how == Reset:
			reset(end)
		default:
			_ = end.Close()
		}
	}
}

// The codes of packets that come before a start-up.
const (
	sslRequest = 80877103
	gssRequest = 80877104
)

// serve passes bytes on until the connection ends.
func (c *Conn) serve(server string) {
	defer c.Cut(Finish)
	r := bufio.NewReaderSize(c.client, 64<<10)
	startup, err := c.startup(r)
	if err != nil {
		return
	}
	if !c.mayPass(Client) {
		_, _ = io.Copy(io.Discard, r)
		c.untilUseful()
		return
	}
	conn, err := net.DialTimeout("tcp", server, 10*time.Second)
	if err != nil {
		c.Cut(Reset) // as the server would, if it could
		return
	}
	c.mu.Lock()
	c.server = conn
	if c.cut {
		reset(conn)
	}
	c.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { c.end(Client, c.fromClient(r, startup)) })
	both.Go(func() { c.end(Server, c.fromServer()) })
	both.Wait()
}

// startup reads the first packet of a session. A wish for encryption is declined on the way.
func (c *Conn) startup(r *bufio.Reader) ([]byte, error) {
	for {
		head, err := r.Peek(8)
		if err != nil {
			return nil, err
		}
		length, code := binary.BigEndian.Uint32(head), binary.BigEndian.Uint32(head[4:])
		if length < 8 || length > 1<<16 {
			return nil, errors.New("not a start-up packet")
		}
		packet := make([]byte, length)
		if _, err := io.ReadFull(r, packet); err != nil {
			return nil, err
		}
		if code != sslRequest && code != gssRequest {
			return packet, nil
		}
		if _, err := c.client.Write([]byte{'N'}); err != nil {
			return nil, err
		}
	}
}

// end tells one side that the other has gone, when the rule lets it know.
func (c *Conn) end(side Side, err error) {
	if !c.mayPass(side) {
		// The other side does not learn that this one has gone before the network is whole again.
		c.untilUseful()
	}
	if errors.Is(err, io.EOF) {
		c.Cut(Finish)
		return
	}
	c.Cut(Reset)
}

// mayPass waits while a side is held, and reports false when its bytes are lost.
func (c *Conn) mayPass(side Side) bool {
	for {
		rule, changed := c.current()
		if rule.Lose&side != 0 {
			c.useless.Store(true)
		}
		if c.useless.Load() {
			return false
		}
		if rule.Hold&side == 0 {
			return true
		}
		select {
		case <-changed:
		case <-c.ended:
			return true
		}
	}
}

// untilUseful waits until the rule loses nothing any more.
func (c *Conn) untilUseful() {
	for {
		rule, changed := c.current()
		if rule.Lose == 0 {
			return
		}
		select {
		case <-changed:
		case <-c.ended:
			return
		}
	}
}

// gate is the way to one side for what the other sends.
type gate struct {
	c    *Conn
	from Side
	to   net.Conn
}

func (g gate) Write(data []byte) (int, error) {
	if rule, _ := g.c.current(); rule.Delay > 0 {
		select {
		case <-time.After(rule.Delay):
		case <-g.c.ended:
		}
	}
	if !g.c.mayPass(g.from) {
		return len(data), nil
	}
	return g.to.Write(data)
}
