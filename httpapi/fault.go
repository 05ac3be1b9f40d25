package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/fault"
	"svc.dev/svc/stream"
)

// fail answers with an error; a type that has no status is a 500 under its own name. What nobody foresaw is logged under the request's id, and its text stays here.
func (a *api) fail(w http.ResponseWriter, r *http.Request, err error) {
	switch {
	case errors.Is(err, svc.ErrBusy):
		err = fault.NotAvailable("busy").Because(err)
	case errors.Is(err, svc.ErrUnavailable) && fault.From(err).Type == fault.Internal:
		a.logOf(w, r).WarnContext(r.Context(), "store not available", "error", err)
		err = fault.NotAvailable(string(svc.Failed)).Because(err)
	}
	if errors.Is(r.Context().Err(), context.Canceled) && fault.From(err).Type == fault.Internal {
		err = fault.NotAvailable("cancelled").Because(err) // whoever has only ended their side of the connection may ask again
	}
	f := fault.From(err)
	status, known := fault.Status(f.Type)
	if !known {
		status = http.StatusInternalServerError
		a.report(w, r, err)
	}
	a.refuse(w, r, status, f)
}

func (a *api) report(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // nobody waits for the answer, and that is why there is none
	}
	a.logOf(w, r).ErrorContext(r.Context(), "request failed", "method", r.Method, "path", receivedPath(r), "error", err)
}

// logOf speaks of a request: its id, and whose streams it is about.
func (a *api) logOf(w http.ResponseWriter, r *http.Request) *slog.Logger {
	log := a.Log.With("request_id", w.Header().Get(headerRequestID))
	if scope, err := a.Scope(r); err == nil && scope != "" {
		log = log.With("scope", scope)
	}
	return log
}

// linger is how long the rest of a body that is not wanted may still come.
const linger = 500 * time.Millisecond

// refuse writes a fault in its envelope.
func (a *api) refuse(w http.ResponseWriter, r *http.Request, status int, f *fault.Error) {
	h := w.Header()
	setSecure(h)
	switch status {
	case http.StatusServiceUnavailable:
		h.Set("Retry-After", "1")
	case http.StatusRequestEntityTooLarge:
		// The connection ends with the answer. A client that still sends may do so for a moment: it would not see the answer
		// if it was cut off at once.
		h.Set("Connection", "close")
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(linger))
	}
	writeJSON(w, r, status, a.envelope(f))
}

func (a *api) envelope(f *fault.Error) []byte {
	told := *f
	if !a.Dev {
		told.Dev = ""
	}
	body, err := stream.Encode(map[string]fault.Error{"error": told})
	if err != nil {
		// Facts that have no JSON are left out: the rest is text.
		told.Meta = nil
		body, _ = stream.Encode(map[string]fault.Error{"error": told})
	}
	return body
}

// writeJSON writes a whole answer; that to a HEAD has no body.
func writeJSON(w http.ResponseWriter, r *http.Request, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // who has gone needs no answer
	}
}

// setSecure sets what keeps a browser from reading an answer as something else.
func setSecure(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
}

func noRoute(r *http.Request) error {
	return fault.New(fault.RouteNotFound, fmt.Sprintf("No route for %s %s.", r.Method, receivedPath(r)), "Check method and path.")
}

func wrongMethod(w http.ResponseWriter, r *http.Request, allowed ...string) error {
	list := strings.Join(allowed, ", ")
	w.Header().Set("Allow", list)
	return fault.New(fault.MethodNotAllowed, r.Method+" is not allowed here.", "Allowed: "+list+".")
}
