// Package githubtest is a GitHub for tests: the pages and the REST API that a GitHub App needs, with people, organizations
// and repositories in it. It refuses what the real one refuses, for a client that was never refused is not tested, and it
// can be told to fail in every way that the real one does. What we never ask is not here.
//
// Pages and API share one origin. A browser that is sent there is approved at once, unless WithPages asks for pages with
// buttons: a form that our own page posts must not be redirected, for its policy forbids where that leads.
package githubtest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Server is a GitHub. It is safe for concurrent use; its knobs may be turned while it serves.
type Server struct {
	// URL is its origin, for pages and API alike.
	URL string

	routes map[string]route // by name
	pages  bool
	clock  func() time.Time

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

// New starts a server that ends with the test.
func New(t testing.TB, options ...Option) *Server {
	t.Helper()
	s := &Server{clock: time.Now, world: newWorld(), knobs: knobs{expire: true, denial: http.StatusForbidden}, faults: map[string][]*planned{}}
	for _, option := range options {
		option(s)
	}
	s.routes = s.allRoutes()
	mux := http.NewServeMux()
	for name, found := range s.routes {
		mux.HandleFunc(name, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, name, found) })
	}
	// Another method is as unknown as another path.
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.serve(w, r, "", route{true, func(*call) answer { return refuse(http.StatusNotFound, "Not Found") }})
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections) // first, so that slow answers do not keep it
	s.URL = server.URL
	return s
}

// now is the server's clock; the lock is held.
func (s *Server) now() time.Time { return s.clock().Add(s.knobs.skew) }

// route is what answers a pattern.
type route struct {
	program bool // no browser goes there
	handle  func(*call) answer
}

// call is a request whose body was read.
type call struct {
	*http.Request
	body []byte
}

func (s *Server) allRoutes() map[string]route {
	page := func(h func(*call) answer) route { return route{false, h} }
	api := func(h func(*call) answer) route { return route{true, h} }
	return map[string]route{
		"POST /settings/apps/new":                     page(s.newApp),
		"POST /organizations/{org}/settings/apps/new": page(s.newApp),
		"GET /login/oauth/authorize":                  page(s.authorize),
		"POST /login/oauth/authorize":                 page(s.decideAuthorize),
		"GET /apps/{slug}/installations/new":          page(s.install),
		"POST /apps/{slug}/installations/new":         page(s.decideInstall),
		"GET /github-apps/{slug}/installations/new":   page(s.install),
		"POST /github-apps/{slug}/installations/new":  page(s.decideInstall),
		"POST /login/oauth/access_token":              api(s.accessToken),
		"POST /app-manifests/{code}/conversions":      api(s.convert),
		"GET /user":                                   api(s.getUser),
		"GET /user/emails":                            api(s.getEmails),
		"GET /user/installations":                     api(s.getUserInstallations),
		"GET /user/installations/{id}/repositories":   api(s.getUserRepositories),
		"GET /app/installations/{id}":                 api(s.getInstallation),
		"POST /app/installations/{id}/access_tokens":  api(s.newInstallationToken),
		"DELETE /applications/{client_id}/token":      api(s.deleteToken),
	}
}

// serve answers, and writes down that it was asked.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, name string, found route) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	fault := s.note(Request{name, r.URL.Path, r.Header.Clone(), string(body)})
	select {
	case <-time.After(fault.delay):
	case <-r.Context().Done():
		// To return would be an answer.
		panic(http.ErrAbortHandler)
	}
	a := fault.answer(func() answer { return s.handle(&call{r, body}, found) })
	s.mu.Lock()
	a.header.Set("Date", s.now().UTC().Format(http.TimeFormat))
	s.mu.Unlock()
	send(w, a, fault)
}

func (s *Server) handle(c *call, found route) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	version := c.Header.Get("X-GitHub-Api-Version")
	switch {
	case !found.program:
		return found.handle(c)
	case c.UserAgent() == "":
		return refuse(http.StatusForbidden, "Request forbidden by administrative rules. Please make sure your request has a User-Agent header.")
	case version != "" && version != "2022-11-28" && version != "2026-03-10":
		return refuse(http.StatusBadRequest, "The version of the API is not supported.")
	}
	return found.handle(c).with("X-RateLimit-Remaining", "4999")
}

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
	next := plans[0]
	if next.left--; next.left == 0 {
		s.faults[r.Route] = plans[1:]
	}
	return next.Fault
}

// Journal is every request so far, in order of arrival.
func (s *Server) Journal() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.journal)
}

// Forget empties the journal.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.journal = nil
}

// Calls counts the requests of those routes, such as POST /login/oauth/access_token; without any, those of all routes that
// a program calls and no browser.
func (s *Server) Calls(routes ...string) (n int) {
	for _, r := range s.Journal() {
		browsed := r.Route != "" && !s.routes[r.Route].program
		if slices.Contains(routes, r.Route) || len(routes) == 0 && !browsed {
			n++
		}
	}
	return n
}

// bearer is the token of a request, empty when there is none.
func (c *call) bearer() string {
	token, _ := strings.CutPrefix(c.Header.Get("Authorization"), "Bearer ")
	return token
}
