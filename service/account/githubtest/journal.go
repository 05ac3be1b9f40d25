package githubtest

import (
	"net/http"
	"net/url"
)

// Request is one that was received.
type Request struct {
	Route  string // such as GET /user/installations/{id}/repositories; empty: there is none
	Method string
	Path   string
	Query  url.Values
	Header http.Header
	Body   string
	Status int // of the answer; 0: it is under way
}

// Journal is every request so far, in order of arrival.
func (s *Server) Journal() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.journal...)
}

// Forget empties the journal.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.journal = nil
}

// Calls counts the requests of those routes, such as POST /login/oauth/access_token; without any, those of all routes that
// a program calls and no browser.
func (s *Server) Calls(routes ...string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, r := range s.journal {
		if len(routes) == 0 && s.isProgram(r.Route) {
			n++
		}
		for _, name := range routes {
			if r.Route == name {
				n++
			}
		}
	}
	return n
}

func (s *Server) isProgram(name string) bool {
	for _, r := range s.routes {
		if r.name == name {
			return r.program
		}
	}
	return true // an unknown path: not what a browser is sent to
}

func (s *Server) write(c *call, found route) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.journal = append(s.journal, Request{
		Route: found.name, Method: c.Method, Path: c.URL.Path, Query: c.URL.Query(), Header: c.Header.Clone(), Body: string(c.body),
	})
	return len(s.journal) - 1
}
