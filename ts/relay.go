package ts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"svc.dev/svc/httpapi"
	"svc.dev/svc/internal/script"
)

var errOver = errors.New("the request is over")

// serve lets the API answer a request that the application has let pass, without the mount's prefix.
func (p *Project) serve(c script.Call) {
	p.relay(c, func(x *exchange, ctx context.Context) (http.Handler, *http.Request, error) {
		r, in := x.r.Clone(ctx), passing{x: x, context: c.Args.Int(3), body: x.body}
		if c.Args.Has(4) {
			if err := in.change(r, c.Args.String(4)); err != nil {
				return nil, nil, err
			}
		}
		r.Body = in.body.again()
		prefix, err := strip(r.URL, before(r.URL, c.Args))
		in.prefix += prefix
		return p.api, r.WithContext(context.WithValue(ctx, passingKey{}, in)), err
	})
}

// mountOf is what a mount has taken off the beginning of a path; ok is false where it leaves another.
func mountOf(whole, rest *url.URL) (prefix string, ok bool) {
	left := *whole
	prefix, err := strip(&left, strings.Count(whole.EscapedPath(), "/")-strings.Count(rest.EscapedPath(), "/"))
	if err != nil || left.Path != rest.Path {
		return "", false
	}
	return prefix, true
}

// before is how many segments a path has before the API's own: as the script counted, or as are left.
func before(u *url.URL, args script.Args) int {
	if args.Has(1) {
		return int(args.Int(1))
	}
	return strings.Count(strings.TrimSuffix(u.EscapedPath(), "/"), "/") - int(args.Int(2))
}

// strip takes so many segments off the beginning of a path, and gives them.
func strip(u *url.URL, segments int) (prefix string, err error) {
	path := u.EscapedPath()
	rest := path
	for range segments {
		if !strings.HasPrefix(rest, "/") || !strings.Contains(rest[1:], "/") {
			return "", fmt.Errorf("the path %s has no %d segments before the API's own", path, segments)
		}
		rest = rest[1+strings.Index(rest[1:], "/"):]
	}
	if u.Path, err = url.PathUnescape(rest); err != nil {
		return "", err
	}
	u.RawPath = rest
	return strings.TrimSuffix(path, rest), nil
}

// mounted makes links lead to where the application has mounted the API.
func mounted(c httpapi.Config) httpapi.Config {
	if base := c.PublicURL; base != nil {
		c.PublicURL = func(r *http.Request) string {
			in, _ := r.Context().Value(passingKey{}).(passing)
			return strings.TrimSuffix(base(r), "/") + in.prefix
		}
	}
	return c
}

// next lets the request through to what stands behind a guard.
func (p *Project) next(c script.Call) {
	p.relay(c, func(x *exchange, ctx context.Context) (http.Handler, *http.Request, error) {
		if x.handler == nil {
			return nil, nil, errOver
		}
		r := x.r.Clone(ctx)
		r.Body = x.body.again()
		return x.handler, r, nil
	})
}

// passage is who answers a request that a script lets pass, and the request.
type passage func(x *exchange, ctx context.Context) (http.Handler, *http.Request, error)

// relay lets a handler answer, and tells the script its head.
func (p *Project) relay(c script.Call, to passage) {
	x := p.find(c.Args.Int(0))
	if x == nil {
		c.Settle(nil, errOver)
		return
	}
	out, err := x.newRelay(c)
	if err != nil {
		c.Settle(nil, err)
		return
	}
	go out.serve(to)
}

// newRelay begins a relay, and stops the clock of the exchange until it has a head.
func (x *exchange) newRelay(c script.Call) (*relay, error) {
	out := &relay{
		x: x, call: c, header: http.Header{}, decided: make(chan struct{}), pieces: make(chan []byte), served: make(chan struct{}),
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return nil, errOver
	}
	out.ctx, out.cancel = context.WithCancel(x.r.Context())
	x.relays = append(x.relays, out)
	x.lend()
	return out, nil
}

// relay is an answer of Go's on its way through scripts. Its head is theirs to see and to change. Its body waits here until it is decided where
// it goes: on to where the script's own answer goes, to the script that reads it, or nowhere.
type relay struct {
	x      *exchange
	call   script.Call // of the script that waits for the head
	ctx    context.Context
	cancel context.CancelFunc

	header   http.Header
	answered sync.Once // the call

	decided chan struct{}
	pieces  chan []byte
	served  chan struct{} // closed when the handler has returned
	broken  any           // what the handler panicked with

	mu       sync.Mutex
	chosen   bool
	to       http.ResponseWriter // nil: the script reads, or nobody does
	flushed  bool
	deadline time.Time // for writing
}

func (r *relay) serve(to passage) {
	defer r.leave()
	defer close(r.served)
	defer context.AfterFunc(r.ctx, func() { r.answer(nil, context.Cause(r.ctx)) })()
	defer func() {
		r.broken = recover()
		r.WriteHeader(http.StatusOK)
	}()
	h, req, err := to(r.x, r.ctx)
	if err != nil {
		r.answer(nil, err)
		return
	}
	h.ServeHTTP(r, req)
}

// leave forgets a relay that was served: an exchange that goes on for long may have many.
func (r *relay) leave() {
	r.cancel()
	r.x.mu.Lock()
	defer r.x.mu.Unlock()
	r.x.relays = slices.DeleteFunc(r.x.relays, func(one *relay) bool { return one == r })
}

// answer tells the script the head, or why there is none.
func (r *relay) answer(head func() string, err error) {
	r.answered.Do(func() {
		call := r.call
		r.call = script.Call{} // a stream lives long, and what was sent with the call may be large
		r.x.takeBack()
		if err != nil {
			call.Settle(nil, err)
			return
		}
		call.Settle(head(), nil)
	})
}

// Header is the head that the handler writes.
func (r *relay) Header() http.Header { return r.header }

// WriteHeader tells the script the head. What only informs is not passed on.
func (r *relay) WriteHeader(status int) {
	if status >= 200 {
		r.answer(func() string { return r.head(status) }, nil)
	}
}

// head is the status, the id of the body, and the headers.
func (r *relay) head(status int) string {
	var body int64
	if status != http.StatusNoContent && status != http.StatusNotModified {
		body = r.x.act.Keep(r)
	}
	return strconv.Itoa(status) + "\n" + strconv.FormatInt(body, 10) + "\n" + script.Flat(r.header)
}

// Write waits until it is decided where the body goes.
func (r *relay) Write(p []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	to, err := r.target()
	if err != nil {
		return 0, err
	}
	if to != nil {
		return to.Write(p)
	}
	select {
	case r.pieces <- bytes.Clone(p):
		return len(p), nil
	case <-r.ctx.Done():
		return 0, r.ctx.Err()
	}
}

func (r *relay) target() (http.ResponseWriter, error) {
	select {
	case <-r.decided:
	case <-r.ctx.Done():
		return nil, r.ctx.Err()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.to, nil
}

// FlushError flushes where the body goes. Before that is known it is remembered: the head of a stream must not wait for its first event.
func (r *relay) FlushError() error {
	r.WriteHeader(http.StatusOK)
	r.mu.Lock()
	to := r.to
	r.flushed = true
	r.mu.Unlock()
	if to == nil {
		return nil
	}
	return http.NewResponseController(to).Flush()
}

// Flush is FlushError for an http.Flusher.
func (r *relay) Flush() { _ = r.FlushError() }

// SetWriteDeadline bounds writing where the body goes.
func (r *relay) SetWriteDeadline(t time.Time) error {
	r.mu.Lock()
	to := r.to
	r.deadline = t
	r.mu.Unlock()
	if to == nil {
		return nil
	}
	return http.NewResponseController(to).SetWriteDeadline(t)
}

// SetReadDeadline bounds reading of the request, which is the asker's.
func (r *relay) SetReadDeadline(t time.Time) error { return r.x.body.bound(t) }

// EnableFullDuplex lets the request, which is the asker's, be read while the answer is written.
func (r *relay) EnableFullDuplex() error {
	return http.NewResponseController(r.x.w).EnableFullDuplex()
}

// choose decides where the body goes, once: to w, after what was asked of it before that was known, or to nobody.
func (r *relay) choose(w http.ResponseWriter) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.chosen {
		return false
	}
	// The handler writes as soon as it is decided, and nobody beside it.
	defer close(r.decided)
	r.chosen, r.to = true, w
	if w == nil {
		return true
	}
	out := http.NewResponseController(w)
	if !r.deadline.IsZero() {
		_ = out.SetWriteDeadline(r.deadline)
	}
	if r.flushed {
		_ = out.Flush()
	}
	return true
}

// splice lets the body go to w, and returns at its end. A handler that broke off breaks off here.
func (r *relay) splice(w http.ResponseWriter) {
	if !r.choose(w) {
		return
	}
	<-r.served
	if r.broken != nil {
		panic(r.broken)
	}
}

// Next gives a piece to the script that reads the body.
func (r *relay) Next() ([]byte, error) {
	r.choose(nil)
	select {
	case p := <-r.pieces:
		return p, nil
	case <-r.served:
	case <-r.ctx.Done():
	}
	select {
	case <-r.served:
	default:
		return nil, r.ctx.Err()
	}
	if r.broken != nil {
		return nil, errors.New("the answer broke off")
	}
	return nil, io.EOF
}

// Whole gives all of it.
func (r *relay) Whole(limit int64) ([]byte, error) {
	var all []byte
	for {
		p, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		if all = append(all, p...); int64(len(all)) > limit {
			r.Drop()
			return nil, script.TooLong(limit)
		}
	}
}

// Drop ends the handler whose body nobody wants.
func (r *relay) Drop() { r.cancel() }
