// Package githubtest is a GitHub for tests: the pages and the REST API that a GitHub App needs, with people, organizations
// and repositories in it. It refuses what the real one refuses, for a client that was never refused is not tested, and it
// can be told to fail in every way that the real one does. What we never ask is not here.
//
// Pages and API share one origin. A browser that is sent there is approved at once, unless WithPages asks for pages with
// buttons: a form that our own page posts must not be redirected, for its policy forbids where that leads.
package githubtest

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"
)

// Server is a GitHub. It is safe for concurrent use; the world may change while it serves.
type Server struct {
	// URL is its origin, for pages and API alike.
	URL string

	mu sync.Mutex
	world
	faults  map[string][]Fault // by route, in the order in which they happen
	journal []Request
	git     func() *repositories // made when they are first asked for
}

// Option is a choice at the start.
type Option func(*Server)

// WithPages shows a page with a button where a person decides, instead of approving at once.
func WithPages() Option { return func(s *Server) { s.asks = true } }

// WithClock sets the clock. Defaults to time.Now.
func WithClock(now func() time.Time) Option { return func(s *Server) { s.now = now } }

// New starts a server that ends with the test.
func New(t testing.TB, options ...Option) *Server {
	t.Helper()
	s := &Server{world: newWorld(), faults: map[string][]Fault{}, git: sync.OnceValue(func() *repositories { return newRepositories(t) })}
	for _, option := range options {
		option(s)
	}
	mux := http.NewServeMux()
	for _, routes := range []map[string]handler{pages, programs} {
		for route, handle := range routes {
			mux.HandleFunc(route, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, route, handle) })
		}
	}
	// Another method is as unknown as another path.
	mux.HandleFunc("/", s.serveOther)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections) // first, so that slow answers do not keep it
	s.URL, s.origin = server.URL, server.URL
	return s
}

// handler answers a route.
type handler func(*call) answer

// call is a request whose body was read, and the world, which nobody else changes until it is answered.
type call struct {
	*http.Request
	*world
	body []byte
}

// pages are where browsers go: to look, and to post what a person decided.
var pages = map[string]handler{
	"/settings/apps/new":                     (*call).newApp,
	"/organizations/{org}/settings/apps/new": (*call).newApp,
	"/login/oauth/authorize":                 (*call).authorize,
	"/github-apps/{slug}/installations/new":  (*call).install,
}

// programs are what no browser asks.
var programs = map[string]handler{
	"POST /login/oauth/access_token":             (*call).accessToken,
	"POST /app-manifests/{code}/conversions":     (*call).convert,
	"GET /user":                                  asPerson((*call).user),
	"GET /user/emails":                           asPerson((*call).emails),
	"GET /user/installations":                    asPerson((*call).userInstallations),
	"GET /user/installations/{id}/repositories":  asPerson((*call).userRepositories),
	"GET /app/installations/{id}":                asApp((*call).installation),
	"POST /app/installations/{id}/access_tokens": asApp((*call).newInstallationToken),
	"DELETE /applications/{client_id}/token":     (*call).deleteToken,
}

// serve answers, and writes down that it was asked.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, route string, handle handler) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	r.Body = io.NopCloser(bytes.NewReader(body)) // for the values of forms
	fault := s.note(Request{route, r.URL.Path, r.Header.Clone(), string(body)})
	fault.wait(r)
	a := fault.answer(func() answer { return s.handle(&call{r, &s.world, body}, route, handle) })
	w.Header().Set("Date", s.now().UTC().Format(http.TimeFormat))
	a.send(w)
}

func (s *Server) handle(c *call, route string, handle handler) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if pages[route] != nil {
		return handle(c)
	}
	version := c.Header.Get("X-GitHub-Api-Version")
	switch {
	case c.UserAgent() == "":
		return refuse(http.StatusForbidden, "Request forbidden by administrative rules. Please make sure your request has a User-Agent header.")
	case version != "" && version != "2022-11-28" && version != "2026-03-10":
		return refuse(http.StatusBadRequest, "The version of the API is not supported.")
	}
	return handle(c).with("X-RateLimit-Remaining", "4999")
}

func (*call) nothing() answer { return refuse(http.StatusNotFound, "Not Found") }

// Request is one that was received.
type Request struct {
	Route  string // such as GET /user/installations/{id}/repositories; empty: there is none
	Path   string
	Header http.Header
	Body   string
}

// note writes a request down, and takes the next fault of its route.
func (s *Server) note(r Request) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.journal = append(s.journal, r)
	plans := s.faults[r.Route]
	if len(plans) == 0 {
		return Fault{}
	}
	if plans[0].once {
		s.faults[r.Route] = plans[1:]
	}
	return plans[0]
}

// Journal is every request so far, in order of arrival.
func (s *Server) Journal() (all []Request) {
	s.change(func(*world) { all = slices.Clone(s.journal) })
	return all
}

// Forget empties the journal.
func (s *Server) Forget() { s.change(func(*world) { s.journal = nil }) }

// Calls counts the requests of those routes, such as POST /login/oauth/access_token; without any, those of all routes that
// a program calls and no browser.
func (s *Server) Calls(routes ...string) (n int) {
	for _, r := range s.Journal() {
		if slices.Contains(routes, r.Route) || len(routes) == 0 && pages[r.Route] == nil {
			n++
		}
	}
	return n
}
