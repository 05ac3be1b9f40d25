package service

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/oklog/ulid/v2"

	"svc.dev/svc/fault"
)

// unmatched is the route of a request that no pattern took.
const unmatched = "unmatched"

// public answers on the public address. The surfaces come with accounts; until then no path leads anywhere.
func (s *server) public() http.Handler {
	return identified(s.observed(http.HandlerFunc(routeNotFound)))
}

// routeNotFound is the answer for a path that leads nowhere.
func routeNotFound(w http.ResponseWriter, r *http.Request) {
	e := fault.New(fault.RouteNotFound, fmt.Sprintf("No route for %s %s.", r.Method, r.URL.EscapedPath()), "Check method and path.")
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cross-Origin-Resource-Policy", "cross-origin")
	w.WriteHeader(http.StatusNotFound)
	_, _ = w.Write(envelope(e))
}

// envelope is a fault as the body of an answer.
func envelope(e *fault.Error) []byte {
	type shown struct {
		Type    string `json:"type"`
		Message string `json:"message"`
		Details string `json:"details"`
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(map[string]shown{"error": {e.Type, e.Message, e.Details}}) // three strings always encode
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

const requestIDHeader = "X-Request-Id"

// identified gives every answer its request id; one sent by a client is not used.
func identified(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(requestIDHeader, "req_"+ulid.Make().String())
		next.ServeHTTP(w, r)
	})
}

// observed counts every answer, and logs it for whoever asks for that much.
func (s *server) observed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		seen := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(seen, r)
		took := time.Since(began)
		s.metrics.answered(unmatched, seen.status, took)
		s.log.LogAttrs(r.Context(), slog.LevelDebug, "request",
			slog.String("request_id", w.Header().Get(requestIDHeader)),
			slog.String("method", r.Method), slog.String("route", unmatched),
			slog.Int("status", seen.status), slog.Float64("duration_ms", float64(took.Microseconds())/1000))
	})
}

// statusWriter remembers the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController reach what the inner writer can do.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
