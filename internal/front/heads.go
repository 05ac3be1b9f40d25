package front

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"sync"

	"svc.dev/svc/memory"
)

// What the head of a request takes when it is taken apart. Measured (heads_test.go), and rounded up.
const (
	fieldBytes = 200     // of a field, beside its text
	freeHead   = 8 << 10 // what every connection may have: it is in ConnectionBytes
)

// heads counts the head of a request from its first byte until its answer is out. Bodies are counted by who reads them.
type heads struct {
	mu      sync.Mutex
	room    *memory.Grant // nil: nothing is counted
	reading bool          // what comes is a head
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
	h.size += int64(len(part) + fieldBytes*bytes.Count(part, []byte{'\n'}))
	return h.room.Grow(h.size - freeHead - h.room.Size())
}

// connKey finds the connection in a context.
type connKey struct{}

// Guard lets a server say what of a connection is the head of a request.
func Guard(srv *http.Server) {
	next := srv.Handler
	srv.ConnContext = func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) }
	srv.ConnState = func(c net.Conn, state http.ConnState) {
		if c, ours := c.(*served); ours && state == http.StateIdle {
			c.heads.begin()
		}
	}
	srv.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ours := r.Context().Value(connKey{}).(*served); ours {
			c.heads.enter()
		}
		next.ServeHTTP(w, r)
	})
}
