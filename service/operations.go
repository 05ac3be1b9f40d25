package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"svc.dev/svc/service/database"
	"svc.dev/svc/service/doctor"
)

// checkTimeout bounds what a readiness check may take.
const checkTimeout = 2 * time.Second

// operations answers those who keep the service running, never the public.
func (s *server) operations() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.HandleFunc("GET /readyz", s.readyz)
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{}))
	return identified(mux)
}

// identified gives every answer its request id; one sent by a client is not used.
func identified(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Request-Id", "req_"+ulid.Make().String())
		next.ServeHTTP(w, r)
	})
}

func (s *server) readyz(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), checkTimeout)
	defer cancel()
	answer := s.readiness(ctx)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if !answer.Ready {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// readiness asks everything that must hold before requests should come here.
func (s *server) readiness(ctx context.Context) doctor.Readiness {
	n := s.node.Load()
	r := doctor.Readiness{Node: database.PublicNode(database.NodeIn(s.config.DataDir)), Ready: true, State: "loading"}
	for _, c := range checksOf(s.part, s.config.Project != "") {
		err := errors.New("loading")
		if n != nil {
			err = c.ask(s, n, ctx)
		}
		answer := doctor.Check{Name: c.name, OK: err == nil}
		if n != nil && c.tell != nil {
			answer.Detail = c.tell(n)
		}
		if err != nil {
			r.Ready, answer.Error = false, err.Error()
		}
		r.Checks = append(r.Checks, answer)
	}
	// Last, because it only goes on: no check knows of a stop that the state does not.
	if n != nil {
		r.State = s.state(n)
	}
	return r
}

// migrated reports a room that is behind this binary. One ahead is no fault of ours: a newer node has migrated, and both
// run together for a while.
func (n *node) migrated(ctx context.Context) error {
	all, err := database.Versions(ctx, n.db)
	if err != nil {
		return err
	}
	for _, v := range all {
		if v.Database < v.Binary {
			return fmt.Errorf("migrations: %w", v.Check())
		}
	}
	return nil
}
