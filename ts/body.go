package ts

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/script"
)

// sentBody is the body of a request. It stays unread until somebody reads it, and what was read is there for the next reader again: a script
// that looks at a body may still pass the request on.
type sentBody struct {
	limit int64
	size  int64 // as it was announced; less than 0 where it was not
	room  *room

	mu   sync.Mutex
	from io.ReadCloser
	read bool
	data []byte
	err  error
	told bool // to a reader of pieces, which are one
	took int64
}

// room is what the bodies that scripts read may take of memory together.
type room struct {
	mu   sync.Mutex
	left int64
}

func (m *room) take(n int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n > m.left {
		return false
	}
	m.left -= n
	return true
}

func (m *room) give(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left += n
}

func newSentBody(r *http.Request, limit int64, in *room) *sentBody {
	b := &sentBody{from: r.Body, limit: limit, size: r.ContentLength, room: in}
	if b.from == nil {
		b.from = http.NoBody
	}
	return b
}

// free gives back what the body takes of memory, when no script can read it any more.
func (b *sentBody) free() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.room.give(b.took)
	b.took, b.data = 0, nil
}

// Whole is all of it.
func (b *sentBody) Whole(limit int64) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.size > limit {
		return nil, thrown(tooLong(limit))
	}
	if !b.read {
		need := limit + 1
		if b.size >= 0 {
			need = b.size
		}
		if !b.room.take(need) {
			return nil, thrown(fault.NotAvailable("busy"))
		}
		b.read, b.took = true, need
		b.data, b.err = io.ReadAll(io.LimitReader(b.from, limit+1))
		if b.err == nil && int64(len(b.data)) > limit {
			b.err = thrown(tooLong(limit))
		}
	}
	return b.data, b.err
}

func tooLong(limit int64) error {
	return fault.New(fault.BodyTooLarge, "The body is too large.", fmt.Sprintf("At most %d bytes.", limit)).With("limit", limit)
}

// Next is all of it, and then its end.
func (b *sentBody) Next() ([]byte, error) {
	data, err := b.Whole(b.limit)
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil && (b.told || len(data) == 0) {
		err = io.EOF
	}
	b.told = true
	return data, err
}

// Drop leaves the body to the server.
func (b *sentBody) Drop() {}

// again is the body for the next reader: what was read, and what is still to come.
func (b *sentBody) again() io.ReadCloser {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.read {
		return b.from
	}
	return readCloser{io.MultiReader(bytes.NewReader(b.data), b.from), b.from}
}

type readCloser struct {
	io.Reader
	io.Closer
}

// change makes a request what an application has made of it. Links lead to where it was received, where a mount has only taken off its prefix.
func (in *passing) change(r *http.Request, text string) error {
	var made struct{ Method, URL, Headers, Kind, Value string }
	if err := json.Unmarshal([]byte(text), &made); err != nil {
		return err
	}
	address, err := url.Parse(made.URL)
	if err != nil {
		return fmt.Errorf("the request was made another, of no address: %w", err)
	}
	mount, mounted := mountOf(r.URL, address)
	r.Method, r.URL, r.Header = made.Method, &url.URL{Path: address.Path, RawPath: address.RawPath, RawQuery: address.RawQuery}, script.Unflat(made.Headers)
	if in.prefix = mount; !mounted {
		r.RequestURI = r.URL.RequestURI()
	}
	if made.Kind == "own" {
		return nil
	}
	data := []byte(made.Value)
	if made.Kind == "bytes" {
		if data, err = base64.StdEncoding.DecodeString(made.Value); err != nil {
			return err
		}
	}
	r.Body, r.ContentLength = http.NoBody, int64(len(data))
	if len(data) > 0 {
		r.Body = io.NopCloser(bytes.NewReader(data))
	}
	in.body = newSentBody(r, in.x.p.config.Limits.Body, &in.x.p.bodies)
	return nil
}
