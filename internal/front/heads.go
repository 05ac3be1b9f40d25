package front

import (
	"bytes"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"

	"svc.dev/svc/memory"
)

// What the head of a request takes when it is taken apart. Measured (heads_test.go), and rounded up.
const (
	fieldBytes = 200     // of a field, beside its text
	freeHead   = 8 << 10 // what every connection may have: it is in ConnectionBytes
	guess      = 8       // how many bytes a sealed one stands for: its fields cannot be counted yet
	concurrent = 100     // requests of one HTTP/2 connection
)

// heads counts the head of a request from its first byte until its answer is out. Bodies are counted by who reads them.
type heads struct {
	mu      sync.Mutex
	room    *memory.Grant // nil: nothing is counted
	reading bool          // what comes is a head
	sealed  bool          // what comes cannot be read here
	size    int64
}

// begin waits for the next head.
func (h *heads) begin() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reading, h.size = true, 0
	h.room.Release()
}

// enter says that the head is there as a whole.
func (h *heads) enter() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reading = false
}

func (h *heads) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reading = false
	h.room.Release()
}

// take counts a part of a head.
func (h *heads) take(part []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.reading || h.room == nil {
		return nil
	}
	h.size += h.weigh(part)
	return h.room.Grow(h.size - freeHead - h.room.Size())
}

// weigh is what a part of a head takes when it is read.
func (h *heads) weigh(part []byte) int64 {
	if h.sealed {
		return guess * int64(len(part))
	}
	return int64(len(part) + fieldBytes*bytes.Count(part, []byte{'\n'}))
}

// headBytes is what the head of a request takes.
func headBytes(r *http.Request) (n int64) {
	n = int64(len(r.RequestURI))
	for name, values := range r.Header {
		for _, value := range values {
			n += int64(fieldBytes + len(name) + len(value))
		}
	}
	return n
}

// connKey finds the connection in a context.
type connKey struct{}

// Guard lets a server say what of a connection is the head of a request and which one it has not read to its end, and bounds what HTTP/2
// holds of one.
func Guard(srv *http.Server) {
	next := srv.Handler
	srv.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: concurrent, MaxReceiveBufferPerConnection: receiveBytes, MaxReceiveBufferPerStream: receiveBytes}
	srv.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, connKey{}, inner(c))
	}
	srv.ConnState = func(c net.Conn, state http.ConnState) {
		if c := inner(c); c != nil && state == http.StateIdle {
			c.unread.Store(false)
			c.heads.begin()
		}
	}
	srv.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, _ := r.Context().Value(connKey{}).(*served)
		if c == nil {
			next.ServeHTTP(w, r)
			return
		}
		defer c.admit(r).Release()
		c.watched(w, r, next)
	})
}

// inner is the connection as it was taken, also below TLS; nil for one of another listener.
func inner(c net.Conn) *served {
	if sealed, ok := c.(*tls.Conn); ok {
		c = sealed.NetConn()
	}
	ours, _ := c.(*served)
	return ours
}

// admit says that the head of a request is there as a whole. Several of HTTP/2 may be at one time: each takes memory of its own, and one
// that there is none for is ended.
func (c *served) admit(r *http.Request) *memory.Grant {
	c.heads.enter()
	if r.ProtoMajor < 2 || c.another == nil {
		return nil
	}
	room, err := c.another(headBytes(r))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	return room
}
