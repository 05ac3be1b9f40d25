package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"svc.dev/svc/client"
	"svc.dev/svc/internal/cli/screen"
)

// download is a file of a project on its way here. Where the connection breaks it is asked for what is left, as long as that is of
// the same content.
type download struct {
	ctx    context.Context
	client *client.Client
	at     address
	into   sink
	shown  func(n, size int64)

	etag string
	size int64 // -1: nobody said
	n    int64 // how much has arrived
	sum  hash.Hash
}

// sink is where a download goes.
type sink interface {
	io.Writer
	// begin makes room for a content, and says how much of it is there already; what that is goes into sum.
	begin(etag string, size int64, sum io.Writer) (n int64, err error)
	// anew forgets what was written: the content has become another.
	anew() error
}

// errWrite is a failure of this side, which no other connection mends.
type errWrite struct{ error }

func (e errWrite) Unwrap() error { return e.error }

// fruitless is how often in a row a connection may bring nothing.
const fruitless = 6

// run takes all of it.
func (d *download) run() error {
	body, err := d.begin()
	for failed := 0; err == nil; {
		before := d.n
		err = d.take(body)
		if err == nil {
			return d.intact()
		}
		if failed++; d.n > before {
			failed = 0
		}
		if _, ours := errors.AsType[errWrite](err); ours || d.ctx.Err() != nil || failed == fruitless {
			break
		}
		if err = pause(d.ctx, 100*time.Millisecond<<failed); err == nil {
			body, err = d.goOn()
		}
	}
	if d.ctx.Err() != nil {
		return errInterrupted
	}
	return err
}

// begin asks for the file, or for what is left of it where an earlier attempt has brought some.
func (d *download) begin() (io.ReadCloser, error) {
	res, err := d.client.Do(d.ctx, client.Request{Path: d.at.files(), Header: http.Header{"Accept-Encoding": {"identity"}}})
	if err != nil {
		return nil, err
	}
	if err := d.meet(res); err != nil || d.n == 0 {
		return res.Body, err
	}
	res.Body.Close()
	return d.goOn()
}

// meet takes an answer for the content that is fetched from now on.
func (d *download) meet(res *http.Response) (err error) {
	d.etag, d.size, d.sum = res.Header.Get("ETag"), res.ContentLength, sha256.New()
	if d.n, err = d.into.begin(d.etag, d.size, d.sum); err != nil {
		res.Body.Close()
		return errWrite{err}
	}
	return nil
}

// goOn asks for what is left.
func (d *download) goOn() (io.ReadCloser, error) {
	if d.n == d.size {
		return http.NoBody, nil
	}
	header := http.Header{"Accept-Encoding": {"identity"}}
	if strings.HasPrefix(d.etag, `"`) && d.n > 0 {
		header.Set("Range", fmt.Sprintf("bytes=%d-", d.n))
		header.Set("If-Range", d.etag)
	}
	res, err := d.client.Do(d.ctx, client.Request{Path: d.at.files(), Header: header})
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusPartialContent {
		if header.Get("Range") != "" && res.Header.Get("ETag") == d.etag {
			return d.skipped(res.Body) // something on the way knows no parts
		}
		if err := d.into.anew(); err != nil {
			res.Body.Close()
			return nil, errWrite{err}
		}
		return res.Body, d.meet(res)
	}
	if part := res.Header.Get("Content-Range"); header.Get("Range") == "" || !strings.HasPrefix(part, fmt.Sprintf("bytes %d-", d.n)) || res.Header.Get("ETag") != d.etag {
		res.Body.Close()
		return nil, errors.New("the service sends another part than it was asked for")
	}
	return res.Body, nil
}

// skipped leaves out what has arrived before.
func (d *download) skipped(body io.ReadCloser) (io.ReadCloser, error) {
	if _, err := io.CopyN(io.Discard, body, d.n); err != nil {
		body.Close()
		return nil, err
	}
	return body, nil
}

// take passes on what an answer brings.
func (d *download) take(body io.ReadCloser) error {
	defer body.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := body.Read(buffer)
		if n > 0 {
			if _, err := d.into.Write(buffer[:n]); err != nil {
				return errWrite{err}
			}
			d.sum.Write(buffer[:n])
			d.n += int64(n)
			d.shown(d.n, d.size)
		}
		switch {
		case err == io.EOF && d.size >= 0 && d.n < d.size:
			return io.ErrUnexpectedEOF
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

var errDamaged = errors.New("what arrived is not what was sent")

// intact compares what arrived with what the service says it sent.
func (d *download) intact() error {
	if want, err := strconv.Unquote(d.etag); err == nil && len(want) == 2*sha256.Size && want != hex.EncodeToString(d.sum.Sum(nil)) || d.size >= 0 && d.n > d.size {
		return errDamaged
	}
	return nil
}

// pause waits, unless the context ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// passing is a sink that keeps nothing: what was passed on cannot be taken back.
type passing struct {
	to    io.Writer
	begun bool
}

func (p *passing) begin(string, int64, io.Writer) (int64, error) { return 0, nil }

func (p *passing) Write(text []byte) (int, error) {
	p.begun = true
	return p.to.Write(text)
}

func (p *passing) anew() error {
	if p.begun {
		return errors.New("it was changed while it was fetched: fetch it again")
	}
	return nil
}

// far says how much of something has arrived.
func far(n, size int64) string {
	if size < 0 {
		return screen.Bytes(n)
	}
	return screen.Bytes(n) + " of " + screen.Bytes(size)
}
