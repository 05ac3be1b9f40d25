package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"svc.dev/svc/fault"
)

// bodies reads request bodies, each up to most bytes, and all that are held at one time up to limit.
type bodies struct {
	most  int64
	limit int64
	held  atomic.Int64
}

// body is a request's JSON, nothing where it had none. It counts against the limit until it is released.
type body struct {
	raw   []byte          // as sent
	value json.RawMessage // as it is kept; nil: no body
	from  *bodies
}

func (b body) release() {
	if b.from != nil {
		b.from.held.Add(-int64(len(b.raw)))
	}
}

// read reads the body of a request that may have one.
func (b *bodies) read(r *http.Request) (body, error) {
	if hasNoBody(r) {
		return body{}, nil
	}
	if err := checkMediaType(r); err != nil {
		return body{}, err
	}
	if r.ContentLength > b.most {
		return body{}, tooLarge(b.most)
	}
	if r.ContentLength > b.limit-b.held.Load() {
		return body{}, fault.NotAvailable("busy")
	}
	read := body{from: b}
	var err error
	if read.raw, err = b.gather(r.Body, r.ContentLength); err == nil {
		read.value, err = parseJSON(read.raw)
	}
	if err != nil {
		read.release()
		return body{}, err
	}
	return read, nil
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

const firstRead = 4 << 10

// gather reads to the end. Memory and limit are taken as bytes arrive, not as they are announced: a client that announces
// much and sends nothing holds nothing.
func (b *bodies) gather(r io.Reader, announced int64) ([]byte, error) {
	var raw []byte
	for {
		if len(raw) == cap(raw) {
			raw = grow(raw, announced)
		}
		n, err := r.Read(raw[len(raw):cap(raw)])
		raw = raw[:len(raw)+n]
		held := b.held.Add(int64(n))
		switch {
		case int64(len(raw)) > b.most:
			return raw, tooLarge(b.most)
		case held > b.limit:
			return raw, fault.NotAvailable("busy")
		case errors.Is(err, io.EOF):
			return raw, nil
		case err != nil:
			return raw, unreadable(err)
		}
	}
}

// grow doubles, but not beyond what was announced and the byte that finds its end.
func grow(raw []byte, announced int64) []byte {
	more := max(firstRead, len(raw))
	if rest := announced + 1 - int64(len(raw)); rest > 0 {
		more = int(min(int64(more), rest))
	}
	return slices.Grow(raw, more)
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
