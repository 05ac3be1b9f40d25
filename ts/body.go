package ts

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"sync"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/script"
)

// sentBody is the body of a request. It stays unread until somebody reads it, and what was read is there for the next reader again: a script
// that looks at a body may still pass the request on.
type sentBody struct {
	limit int64
	size  int64 // as it was announced; less than 0 where it was not
	room  *room
	from  io.ReadCloser
	out   *http.ResponseController // whose deadline ends a read

	reading sync.Mutex // held while a script reads, however long the client takes
	read    bool

	mu      sync.Mutex
	waiting int  // reads that wait for the client
	over    bool // with its request: nobody reads on
	freed   bool // no script can read it any more
	data    []byte
	err     error
	told    bool // to a reader of pieces, which are one
	took    int64
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

func newSentBody(w http.ResponseWriter, r *http.Request, limit int64, in *room) *sentBody {
	b := &sentBody{from: r.Body, out: http.NewResponseController(w), limit: limit, size: r.ContentLength, room: in}
	if b.from == nil {
		b.from = http.NoBody
	}
	return b
}

// free gives back what the body takes of memory, when no script can read it any more.
func (b *sentBody) free() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.freed = true
	b.room.give(b.took)
	b.took, b.data = 0, nil
}

// Whole is all of it. The first reader reads, and the others wait for that.
func (b *sentBody) Whole(limit int64) ([]byte, error) {
	if b.size > limit {
		return nil, thrown(tooLong(limit))
	}
	b.reading.Lock()
	defer b.reading.Unlock()
	if !b.read {
		b.read = true
		b.keep(b.gather(limit))
	}
	return b.kept()
}

func (b *sentBody) keep(data []byte, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.data, b.err = data, err
}

func (b *sentBody) kept() ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.data, b.err
}

// How long a client may take to send a body, as the API has it: bodyGrace, and as long as it takes at slowest.
const (
	bodyGrace   = 20 * time.Second
	bodySlowest = 32 << 10 // bytes a second
)

// gather reads to the end. Memory is taken as bytes arrive, not as they are announced: a client that sends nothing holds nothing.
func (b *sentBody) gather(limit int64) ([]byte, error) {
	defer func() { _ = b.bound(time.Time{}) }()
	began, data := time.Now(), make([]byte, 0, b.firstRead())
	for {
		_ = b.bound(began.Add(bodyGrace + time.Duration(len(data))*time.Second/bodySlowest))
		data = slices.Grow(data, 1)
		n, err := b.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		switch {
		case !b.take(int64(n)):
			return data, thrown(fault.NotAvailable("busy"))
		case int64(len(data)) > limit:
			return data, thrown(tooLong(limit))
		case errors.Is(err, io.EOF):
			return data, nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			return data, errors.New("the body came too slowly")
		case err != nil:
			return data, err
		}
	}
}

// firstRead is how many bytes are read first: all that were announced, and one that finds their end, unless they are many.
func (b *sentBody) firstRead() int64 {
	const most = 4 << 10
	if b.size < 0 {
		return most
	}
	return min(b.size+1, most)
}

// take reports whether there is memory for so many more bytes of it.
func (b *sentBody) take(n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.freed || !b.room.take(n) {
		return false
	}
	b.took += n
	return true
}

// Read reads what comes, for whoever does. It ends with the request.
func (b *sentBody) Read(p []byte) (int, error) {
	if !b.wait(1) {
		return 0, errOver
	}
	defer b.wait(-1)
	return b.from.Read(p)
}

// wait counts the reads that wait for the client, and reports whether there may be any.
func (b *sentBody) wait(n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over && n > 0 {
		return false
	}
	b.waiting += n
	return true
}

// Close is that of the body that was sent.
func (b *sentBody) Close() error { return b.from.Close() }

// bound is until when a read may wait for the client, while the request lasts.
func (b *sentBody) bound(until time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		return nil
	}
	return b.out.SetReadDeadline(until)
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

// linger is how long the rest of a body that is not wanted may still come.
const linger = 500 * time.Millisecond

// Drop lets nobody read on. A read that waits for the client ends soon.
func (b *sentBody) Drop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over = true; b.waiting > 0 {
		_ = b.out.SetReadDeadline(time.Now().Add(linger))
	}
}

// wasRead is what scripts have read of it, when none is reading.
func (b *sentBody) wasRead() []byte {
	b.reading.Lock()
	defer b.reading.Unlock()
	data, _ := b.kept() // whoever reads on meets the error too
	return data
}

// again is the body for the next reader: what was read, and what is still to come.
func (b *sentBody) again() io.ReadCloser {
	if b.from == http.NoBody {
		return http.NoBody
	}
	return readCloser{io.MultiReader(bytes.NewReader(b.wasRead()), b), b}
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
	r.Header.Del("Host") // it stands in r.Host
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
	in.body = newSentBody(nil, r, in.x.p.config.Limits.Body, &in.x.p.bodies)
	return nil
}
