package service

import (
	"log/slog"
	"net/http"
	"time"

	"svc.dev/svc/httpapi"
)

// unmatched is the route of a request that no pattern took.
const unmatched = "unmatched"

// public answers on the public address. The surfaces come with accounts; until then no path leads anywhere.
func (s *server) public() http.Handler {
	return s.observed(httpapi.NotFound(httpapi.Config{Log: s.log}))
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
			slog.String("request_id", w.Header().Get("X-Request-Id")),
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
