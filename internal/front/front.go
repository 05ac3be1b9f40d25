// Package front is a listener that strangers can reach: it takes so many connections in all and from one address, and keeps
// none whose other side does not take what it is sent.
package front

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"svc.dev/svc/memory"
)

// Limits are what a listener allows. Zero values allow everything.
type Limits struct {
	// Connections is how many there may be at one time.
	Connections int
	// PerAddress is how many of them may come from one address; of IPv6, from one network of 64 bits.
	PerAddress int
	// Trusted are networks whose connections are not counted by address: proxies, that stand for many.
	Trusted []netip.Prefix
	// Write is how long the other side may take to accept what is written.
	Write time.Duration
	// Memory is what connections and the heads of their requests take from. Defaults to nothing that counts.
	Memory *memory.Budget
	// Refused hears of connections that were closed at once. Defaults to nobody.
	Refused func()
}

// ConnectionBytes is what a connection takes: its buffers, and the stacks of those who serve it. SealedBytes is what one takes that
// speaks TLS: records, and what HTTP/2 may receive before somebody reads it.
const (
	ConnectionBytes = 32 << 10
	SealedBytes     = ConnectionBytes + 32<<10 + receiveBytes
	receiveBytes    = 128 << 10
)

// Listener takes connections within its limits.
type Listener struct {
	net.Listener
	limits Limits
	sealed bool          // they speak TLS
	rests  *rate.Limiter // how fast comes what nobody reads

	mu   sync.Mutex
	all  int
	from map[netip.Addr]int
}

// Listen puts limits on a listener.
func Listen(l net.Listener, limits Limits) *Listener {
	return &Listener{Listener: l, limits: limits, rests: rate.NewLimiter(restRate, restRate/16), from: map[netip.Addr]int{}}
}

// Seal has all connections speak TLS.
func (l *Listener) Seal(c *tls.Config) net.Listener {
	l.sealed = true
	return tls.NewListener(l, c)
}

// bytes is what a connection takes.
func (l *Listener) bytes() int64 {
	if l.sealed {
		return SealedBytes
	}
	return ConnectionBytes
}

// Accept closes what is beyond the limits, and goes on.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		at := l.source(conn.RemoteAddr())
		if !l.enter(at) {
			// Nothing is owed: the other side shall not keep a place in the kernel's tables either.
			if tcp, ok := conn.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0)
			}
			_ = conn.Close()
			if l.limits.Refused != nil {
				l.limits.Refused()
			}
			continue
		}
		c := &served{Conn: conn, write: l.limits.Write, rests: l.rests}
		c.heads.sealed = l.sealed
		c.heads.begin()
		if m := l.limits.Memory; m != nil {
			c.room, _ = m.Try("", memory.Connections, 0) // nothing is always there
			c.room.Resize(l.bytes())                     // how many there are is bounded
			c.heads.room, _ = m.Try(holder(at), memory.Strangers, 0)
			c.another = func(n int64) (*memory.Grant, error) { return m.Try(holder(at), memory.Strangers, n) }
		}
		c.leave = sync.OnceFunc(func() {
			l.leave(at)
			c.room.Release()
			c.heads.end()
		})
		return c, nil
	}
}

// holder is on whose share of the memory the heads of requests draw: on that of their network, while nobody knows who asks.
func holder(at netip.Addr) string {
	if !at.IsValid() {
		return "" // a proxy, that stands for many
	}
	return "network " + at.String()
}

// Count is how many connections there are.
func (l *Listener) Count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all
}

// source is what a connection is counted by; the zero address is not counted.
func (l *Listener) source(a net.Addr) netip.Addr {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	at := tcp.AddrPort().Addr().Unmap().WithZone("")
	if slices.ContainsFunc(l.limits.Trusted, func(p netip.Prefix) bool { return p.Contains(at) }) {
		return netip.Addr{}
	}
	return Network(at)
}

// Network is the part of an address that one customer of a provider has: of IPv6 the first 64 bits.
func Network(a netip.Addr) netip.Addr {
	if a = a.Unmap(); !a.Is6() {
		return a
	}
	p, err := a.WithZone("").Prefix(64)
	if err != nil {
		return a
	}
	return p.Masked().Addr()
}

func (l *Listener) enter(at netip.Addr) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.limits.Connections > 0 && l.all >= l.limits.Connections {
		return false
	}
	if at.IsValid() && l.limits.PerAddress > 0 {
		if l.from[at] >= l.limits.PerAddress {
			return false
		}
		l.from[at]++
	}
	l.all++
	return true
}

func (l *Listener) leave(at netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all--
	if at.IsValid() && l.limits.PerAddress > 0 {
		if l.from[at]--; l.from[at] <= 0 {
			delete(l.from, at)
		}
	}
}

// served is a connection whose other side must take what it is sent.
type served struct {
	net.Conn
	write time.Duration
	until atomic.Int64 // the deadline that was last set by us, in nanoseconds
	room  *memory.Grant
	heads heads
	leave func()
	// unread says that a request was answered before it was read to its end.
	unread atomic.Bool
	rests  *rate.Limiter                      // the listener's
	cut    atomic.Pointer[context.CancelFunc] // ends the wait for what nobody reads
	// another takes memory for the head of a request that is not the connection's only one; nil: nothing is counted.
	another func(n int64) (*memory.Grant, error)
}

// Read counts what is the head of a request, and ends a connection whose head there is no memory for.
func (c *served) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if full := c.heads.take(p[:n]); full != nil {
		_ = c.Close()
		return 0, full
	}
	return n, err
}

// Write gives the other side its time, whatever a handler has said. A deadline that still leaves it is not set anew: that
// costs as much as the writing.
func (c *served) Write(p []byte) (int, error) {
	if c.write > 0 {
		now := time.Now()
		if c.until.Load()-now.UnixNano() < int64(c.write) {
			until := now.Add(c.write * 5 / 4)
			c.until.Store(until.UnixNano())
			_ = c.Conn.SetWriteDeadline(until)
		}
	}
	return c.Conn.Write(p)
}

// SetDeadline and SetWriteDeadline of a handler stand until the next Write.
func (c *served) SetDeadline(t time.Time) error {
	c.until.Store(0)
	return c.Conn.SetDeadline(t)
}

func (c *served) SetWriteDeadline(t time.Time) error {
	c.until.Store(0)
	return c.Conn.SetWriteDeadline(t)
}

// Close gives the connection's place to the next. A second call cuts short what the first still hears.
func (c *served) Close() error {
	defer c.leave()
	if c.unread.Swap(false) {
		c.hear()
	} else if cut := c.cut.Load(); cut != nil {
		(*cut)()
	}
	return c.Conn.Close()
}
