package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/operation"
	"svc.dev/svc/service/scope"
)

// ask puts a question of ours to the runtime and reads its answer, where it is wanted. Its refusals are errors.
func (x *exchange) ask(ctx context.Context, q operation.Question, into any) error {
	told, err := x.g.consult(ctx, x.v.Claims(x.ID), http.MethodGet, q)
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(told.body.Bytes(), into)
}

// relay is pass for an answer that is kept: what the runtime refuses is an error, and leaves no receipt.
func (x *exchange) relay(q operation.Question) error {
	if x.g.stopping() {
		return fault.NotAvailable("draining").After(time.Second)
	}
	x.told = x.v.Claims(x.ID)
	told, err := x.g.consult(x.Ctx(), x.told, x.Request.Method, q)
	if err != nil {
		return err
	}
	return x.Send(told.status, told.header.Get("Content-Type"), told.header.Get("Cache-Control"), told.body.Bytes())
}

// consult is what the runtime answers, or why it refuses.
func (g *Gateway) consult(ctx context.Context, c scope.Claims, method string, q operation.Question) (*memo, error) {
	if g.Runtime == nil {
		return nil, fault.NotAvailable("loading").After(time.Second)
	}
	r, err := http.NewRequestWithContext(g.with(ctx, c), method, q.Path, nil)
	if err != nil {
		return nil, err
	}
	r.URL = &url.URL{Path: q.Path, RawQuery: q.Query.Encode()}
	told := &memo{header: http.Header{}}
	g.Runtime.ServeHTTP(told, r)
	switch {
	case told.because != nil:
		return nil, told.because
	case told.status/100 != 2:
		return nil, told.fault()
	}
	return told, nil
}

// memo is an answer of the runtime that we read ourselves.
type memo struct {
	header  http.Header
	status  int
	body    bytes.Buffer
	because *fault.Error
}

func (m *memo) Header() http.Header { return m.header }

func (m *memo) WriteHeader(status int) {
	if m.status == 0 {
		m.status = status
	}
}

func (m *memo) Write(b []byte) (int, error) {
	m.WriteHeader(http.StatusOK)
	return m.body.Write(b)
}

func (m *memo) refuse(because *fault.Error) { m.because = because }

// fault is what the runtime refused with.
func (m *memo) fault() error {
	var envelope struct {
		Error fault.Error `json:"error"`
	}
	if json.Unmarshal(m.body.Bytes(), &envelope) != nil || envelope.Error.Type == "" || m.status == http.StatusUnauthorized {
		return fault.New(fault.BadGateway, "The runtime cannot be reached.", "Try again shortly.")
	}
	f := &envelope.Error
	f.Dev = "" // that of another process
	if m.status == http.StatusServiceUnavailable {
		f.RetryAfter = time.Second
	}
	return f
}
