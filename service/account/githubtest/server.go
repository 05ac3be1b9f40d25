// Package githubtest is a GitHub for tests: the pages and the REST API that a GitHub App needs, with people, organizations
// and repositories in it. It refuses what the real one refuses, for a client that was never refused is not tested, and it
// can be told to fail in every way that the real one does.
//
// Pages and API share one origin. A browser that is sent there is approved at once, unless WithPages asks for pages with
// buttons: a form that our own page posts must not be redirected, for its policy forbids where that leads.
package githubtest

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Server is a GitHub. It is safe for concurrent use; its knobs may be turned while it serves.
type Server struct {
	// URL is its origin, for pages and API alike. Set it before use where the server is only a handler.
	URL string

	routes []route
	pages  bool
	clock  func() time.Time
	listen string
	web    *http.Server
	done   chan struct{} // closed when the server ends, so that slow answers do not keep it
	ended  sync.Once

	serving sync.WaitGroup

	mu      sync.Mutex
	world   world
	knobs   knobs
	faults  map[string][]*planned
	journal []Request
}

// Option is a choice at the start.
type Option func(*Server)

// WithPages shows a page with a button where a person decides, instead of approving at once.
func WithPages() Option { return func(s *Server) { s.pages = true } }

// WithClock sets the clock. Defaults to time.Now.
func WithClock(now func() time.Time) Option { return func(s *Server) { s.clock = now } }

// WithAddress sets where Start listens. Defaults to 127.0.0.1:0.
func WithAddress(address string) Option { return func(s *Server) { s.listen = address } }

// New starts a server that ends with the test.
func New(t testing.TB, options ...Option) *Server {
	t.Helper()
	s, err := Start(options...)
	if err != nil {
		t.Fatalf("start fake GitHub: %v", err)
	}
	t.Cleanup(s.Close)
	return s
}

// Start starts a server that runs until Close.
func Start(options ...Option) (*Server, error) {
	s := Handler("", options...)
	l, err := net.Listen("tcp", s.listen)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	s.URL = "http://" + l.Addr().String()
	s.web = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	s.serving.Go(func() { s.web.Serve(l) })
	return s, nil
}

// Handler is a server that others serve, at that origin.
func Handler(origin string, options ...Option) *Server {
	s := &Server{
		URL: origin, clock: time.Now, listen: "127.0.0.1:0", done: make(chan struct{}),
		world: newWorld(), knobs: knobs{expire: true, denial: http.StatusForbidden}, faults: map[string][]*planned{},
	}
	for _, option := range options {
		option(s)
	}
	s.routes = s.allRoutes()
	return s
}

// Close ends the server and every answer under way.
func (s *Server) Close() {
	s.ended.Do(func() { close(s.done) })
	if s.web != nil {
		s.web.Close()
	}
	s.serving.Wait()
}

// now is the server's clock; the lock is held.
func (s *Server) now() time.Time { return s.clock().Add(s.knobs.skew) }

// ServeHTTP answers, and writes down that it was asked.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	c := &call{Request: r, body: body}
	found := s.find(c)
	entry := s.write(c, found)
	fault := s.take(found.name)
	if !s.wait(r, fault.delay) {
		// To return would be an answer.
		panic(http.ErrAbortHandler)
	}
	a := fault.answer(func() answer { return s.handle(c, found) })
	s.mu.Lock()
	if entry < len(s.journal) {
		s.journal[entry].Status = a.status
	}
	a.header.Set("Date", s.now().UTC().Format(http.TimeFormat))
	s.mu.Unlock()
	send(w, a, fault)
}

func (s *Server) handle(c *call, found route) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found.program && c.UserAgent() == "" {
		return text(http.StatusForbidden, "Request forbidden by administrative rules. Please make sure your request has a User-Agent header.")
	}
	if !found.program {
		return found.handle(c)
	}
	a := refuse(http.StatusBadRequest, "The version of the API is not supported.")
	if v := c.Header.Get("X-GitHub-Api-Version"); v == "" || v == "2022-11-28" || v == "2026-03-10" {
		a = found.handle(c)
	}
	s.stamp(a.header)
	return a
}

// stamp adds what stands on every answer of the API.
func (s *Server) stamp(h http.Header) {
	h.Set("X-GitHub-Media-Type", "github.v3; format=json")
	h.Set("X-GitHub-Request-Id", strings.ToUpper(random(hexDigits, 24)))
	for name, value := range map[string]string{"Limit": "5000", "Remaining": "4999", "Used": "1", "Resource": "core"} {
		if h.Get("X-RateLimit-"+name) == "" {
			h.Set("X-RateLimit-"+name, value)
		}
	}
	if h.Get("X-RateLimit-Reset") == "" {
		h.Set("X-RateLimit-Reset", strconv.FormatInt(s.now().Add(time.Hour).Unix(), 10))
	}
}

// wait holds an answer back; false: nobody waits for it any more.
func (s *Server) wait(r *http.Request, d time.Duration) bool {
	if d == 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-r.Context().Done():
	case <-s.done:
	}
	return false
}
