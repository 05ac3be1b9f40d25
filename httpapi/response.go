package httpapi

import (
	"bufio"
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"runtime/debug"
	"sync/atomic"

	"github.com/oklog/ulid/v2"

	"svc.dev/svc/fault"
)

const headerRequestID = "X-Request-Id"

// response is the answer to one request. It knows whether anything was written, and what a guard lets through.
type response struct {
	http.ResponseWriter
	api   *api
	wrote bool

	next   answerer     // behind the guard
	passed atomic.Int32 // how often the guard called it
}

// answerer answers a request, or returns the fault to answer with.
type answerer func(w http.ResponseWriter, r *http.Request) error

// newResponse names the request before anything can be written: every answer carries the name, whoever writes it.
func (a *api) newResponse(w http.ResponseWriter, r *http.Request) *response {
	w.Header().Set(headerRequestID, a.requestID(r))
	return &response{ResponseWriter: w, api: a}
}

func (a *api) requestID(r *http.Request) string {
	if a.RequestID != nil {
		if id := a.RequestID(r); id != "" {
			return id
		}
	}
	return "req_" + ulid.MustNew(ulid.Now(), rand.Reader).String()
}

// rescue answers for a handler or guard that panicked before it wrote. Half an answer is broken off instead.
func (a *api) rescue(x *response, r *http.Request) {
	p := recover()
	if p == nil {
		return
	}
	if x.wrote || p == http.ErrAbortHandler {
		panic(p)
	}
	a.fail(x, r, fault.Unexpected(fmt.Errorf("panic: %v\n%s", p, debug.Stack())))
}

func (x *response) WriteHeader(status int) {
	// What only informs leaves the answer open.
	x.wrote = x.wrote || status >= 200 || status == http.StatusSwitchingProtocols
	x.ResponseWriter.WriteHeader(status)
}

func (x *response) Write(p []byte) (int, error) {
	x.wrote = true
	return x.ResponseWriter.Write(p)
}

// Flush writes the head too, if nobody has yet.
func (x *response) Flush() { _ = x.FlushError() }

// FlushError is Flush for an http.ResponseController.
func (x *response) FlushError() error {
	x.wrote = true
	return http.NewResponseController(x.ResponseWriter).Flush()
}

// Hijack gives the connection to a handler that answers in a protocol of its own.
func (x *response) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(x.ResponseWriter).Hijack()
	x.wrote = x.wrote || err == nil
	return conn, rw, err
}

// Unwrap lets an http.ResponseController find what the server offers beyond.
func (x *response) Unwrap() http.ResponseWriter { return x.ResponseWriter }
