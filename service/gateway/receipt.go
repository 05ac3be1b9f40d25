package gateway

import (
	"bytes"
	"cmp"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/operation"
	"svc.dev/svc/service/receipt"
)

// keeps reports whether what a route does can be asked for again by a key.
func (r *line) keeps() bool {
	return !r.Apart && operation.Keeps(r.Method, r.Path)
}

// slip is a request that names a key, while its route runs: what it asks, and its answer, which goes out when it is kept.
type slip struct {
	receipt.Request
	out    http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (s *slip) Header() http.Header         { return s.out.Header() }
func (s *slip) WriteHeader(status int)      { s.status = status }
func (s *slip) Write(b []byte) (int, error) { return s.body.Write(b) }
func (s *slip) Unwrap() http.ResponseWriter { return s.out }

// answered is the end of a request that has come before, with what it was answered.
type answered struct{ receipt.Answer }

func (*answered) Error() string { return "the request has come before" }

// act runs a route: once for all requests that come with one key.
func (x *exchange) act(r *line) error {
	if !r.keeps() {
		return r.do(x)
	}
	key, err := x.IdempotencyKey()
	if err != nil {
		return err
	}
	if key == "" {
		return r.do(x)
	}
	x.slip = &slip{Request: receipt.Request{ID: x.ID, Holder: x.v.Holder(), Method: x.Request.Method, Path: x.Request.URL.EscapedPath(), Key: key}, out: x.Out.ResponseWriter, status: http.StatusOK}
	if !r.Asks() { // what we write ourselves before the runtime has done it is no sign that it has
		x.Request = x.Request.WithContext(x.g.Receipts.Guard(x.Ctx(), &x.slip.Request))
	}
	return x.settle(r, x.aside(r))
}

// aside runs the route while its answer is held back. After a panic too the client is there again.
func (x *exchange) aside(r *line) error {
	defer x.Out.Divert(x.slip)()
	if err := x.recall(); err != nil {
		return err
	}
	return r.do(x)
}

// recall ends a request that has come before. While a body is to come nobody can say.
func (x *exchange) recall() error {
	if x.slip == nil || x.slip.Body == nil && x.Request.ContentLength != 0 {
		return nil
	}
	return x.before()
}

// before ends a request for which there is a receipt.
func (x *exchange) before() error {
	a, found, err := x.g.Receipts.Find(x.Ctx(), x.slip.Request)
	if found {
		return &answered{a}
	}
	return err
}

// settle keeps what came of a request, and answers with it.
func (x *exchange) settle(r *line, err error) error {
	if receipt.Seen(err) { // it came with another at the same time
		if err = x.before(); err == nil {
			err = fault.NotAvailable("busy").After(time.Second) // which was refused
		}
	}
	if r.Asks() && err != nil {
		err = cmp.Or(x.before(), err) // it came with another at the same time, which was faster
	}
	if before, ok := errors.AsType[*answered](err); ok {
		return x.repeat(before.Answer)
	}
	if err == nil && x.slip.status >= 300 {
		err = errors.New("a route has refused without saying why")
	}
	if err != nil {
		if gone := x.g.Receipts.Forget(x.Ctx(), x.slip.Request); gone != nil {
			x.g.Log.LogAttrs(x.Ctx(), slog.LevelWarn, "a receipt of nothing stays", append(x.known(), slog.Any("error", gone))...)
		}
		return err
	}
	h := x.Out.Header()
	kept := receipt.Answer{Status: x.slip.status, ETag: h.Get("ETag"), Location: h.Get("Location"), Type: h.Get("Content-Type"), Body: x.slip.body.Bytes(), Once: r.Secret}
	if err := x.g.Receipts.Keep(x.Ctx(), x.slip.Request, kept); err != nil {
		x.g.Log.LogAttrs(x.Ctx(), slog.LevelWarn, "an answer is not kept", append(x.known(), slog.Any("error", err))...) // what was asked is done
	}
	x.Out.WriteHeader(kept.Status)
	_, _ = x.Out.Write(kept.Body) // who has gone asks again
	return nil
}

// repeat answers as the first time.
func (x *exchange) repeat(a receipt.Answer) error {
	h := x.Out.Header()
	for name, value := range map[string]string{"ETag": a.ETag, "Location": a.Location, "Content-Type": a.Type} {
		if value != "" {
			h.Set(name, value)
		}
	}
	h.Set("Cache-Control", "no-store")
	h.Set("Idempotency-Replayed", "true")
	x.Out.WriteHeader(a.Status)
	_, _ = x.Out.Write(a.Body)
	return nil
}
