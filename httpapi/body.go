package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/memory"
)

// bodies reads request bodies. All that are held at one time stay below limit, those of one holder below its share, and each
// takes from the budget of the runtime what it takes to read it.
type bodies struct {
	most  int64 // of one body
	limit int64 // of all

	mu   sync.Mutex
	held int64
	by   map[string]int64 // holder → bytes
}

// share is how much of the limit one holder may have: a quarter, or one body. Where scopes are not used there is one holder,
// which may have everything.
func (b *bodies) share(holder string) int64 {
	if holder == "" {
		return b.limit
	}
	return max(b.limit/4, b.most)
}

// take counts bytes that arrived, and reports whether there was room for them. They are counted all the same.
func (b *bodies) take(holder string, n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held += n
	if b.by[holder] += n; b.by[holder] <= 0 {
		delete(b.by, holder)
	}
	return b.held <= b.limit && b.by[holder] <= b.share(holder)
}

// body is a request's JSON, nothing where it had none. It counts against the limits until it is released.
type body struct {
	raw   []byte          // as sent
	value json.RawMessage // as it is kept; nil: no body

	from   *bodies
	holder string
	room   *memory.Grant
}

func (b *body) release() {
	if b.from != nil {
		b.from.take(b.holder, -int64(len(b.raw)))
		b.room.Release()
	}
}

// bodyTimes is what a body may take while it is read: as it was sent, and as it is kept.
const bodyTimes = 2

// readBody reads the body of a request to a scope, of so many bytes at most.
func (a *api) readBody(w http.ResponseWriter, r *http.Request, scope string, most int64) (*body, error) {
	if hasNoBody(r) {
		return &body{}, nil
	}
	if err := checkMediaType(r); err != nil {
		return nil, err
	}
	if r.ContentLength > most {
		return nil, tooLarge(most)
	}
	room, err := a.rt.In(scope).Room(memory.Bodies, 0)
	if err == nil {
		// What would not fit now is not read first: that costs everybody.
		err = room.Fits(bodyTimes * r.ContentLength)
	}
	if err != nil {
		return nil, noRoom(err, most)
	}
	read := &body{from: &a.bodies, holder: a.rt.In(scope).Holder(), room: room}
	err = read.gather(r.Body, &patience{time.Now(), http.NewResponseController(w)}, r.ContentLength, most)
	if err == nil {
		err = a.inTurn(r.Context(), len(read.raw), func() (err error) {
			read.value, err = parseJSON(read.raw)
			return err
		})
		read.settle()
	}
	if err != nil {
		read.release()
		return nil, err
	}
	return read, nil
}

// inTurn takes a body apart, of which few large ones are at once.
func (a *api) inTurn(ctx context.Context, bytes int, do func() error) error {
	if bytes < memory.Large {
		return do()
	}
	return a.large.Take(ctx, "", do)
}

// settle keeps of the memory what is held: a text that was sent as it is kept is there once.
func (b *body) settle() {
	held := int64(len(b.raw))
	if len(b.value) > 0 && &b.value[0] != &b.raw[0] {
		held += int64(len(b.value))
	}
	b.room.Resize(held)
}

// hasNoBody reports what the head says of the body. Without a length and a type there is none, even if bytes follow.
func hasNoBody(r *http.Request) bool {
	declared := r.ContentLength > 0 || r.Header.Get("Content-Length") != ""
	if declared {
		return r.ContentLength == 0
	}
	return len(r.Header["Content-Type"]) == 0
}

func checkMediaType(r *http.Request) error {
	sent := strings.Join(r.Header["Content-Type"], ", ")
	if strings.Contains(strings.ToLower(sent), "application/json") {
		return nil
	}
	return fault.New(fault.UnsupportedMediaType, "The body must be JSON.", fmt.Sprintf("Received %q.", sent))
}

// gather reads to the end. Memory and limits are taken as bytes arrive, not as they are announced: a client that announces
// much and sends nothing holds nothing.
func (b *body) gather(r io.Reader, p *patience, announced, most int64) error {
	defer p.end()
	for {
		if len(b.raw) == cap(b.raw) {
			b.raw = memory.Enlarge(b.raw, announced)
		}
		p.allow(int64(len(b.raw)))
		n, err := r.Read(b.raw[len(b.raw):cap(b.raw)])
		b.raw = b.raw[:len(b.raw)+n]
		fits := b.from.take(b.holder, int64(n))
		switch {
		case int64(len(b.raw)) > most:
			return tooLarge(most)
		case !fits:
			return fault.NotAvailable("busy")
		}
		if err := b.room.Grow(bodyTimes * int64(n)); err != nil {
			return noRoom(err, most)
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return unreadable(err)
		case p.over(int64(len(b.raw))):
			return invalidJSON(errors.New("the body came too slowly"))
		}
	}
}

// noRoom is the refusal of what there is no memory for: now, or ever.
func noRoom(err error, most int64) error {
	if errors.Is(err, memory.ErrTooLarge) {
		return tooLarge(most)
	}
	return fault.NotAvailable("busy").Because(err)
}

// parseJSON reads the one value of a body; only whitespace is none.
func parseJSON(raw []byte) (json.RawMessage, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil, nil
	}
	value, err := normalize(raw)
	if err != nil {
		return nil, invalidJSON(err)
	}
	return value, nil
}

func unreadable(err error) error {
	// A limit that somebody in front of us has set.
	if e, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return tooLarge(e.Limit)
	}
	return invalidJSON(errors.New("the body ended early")).Because(err)
}

func invalidJSON(err error) *fault.Error {
	return fault.New(fault.InvalidJSON, "The body is not valid JSON.", err.Error()).Because(err)
}

func tooLarge(limit int64) error {
	return fault.New(fault.BodyTooLarge, "The body is too large.", fmt.Sprintf("At most %d bytes.", limit)).With("limit", limit)
}
