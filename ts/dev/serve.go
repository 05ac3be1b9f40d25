package dev

import (
	"errors"
	"net/http"
	"strings"

	"svc.dev/svc/fault"
	"svc.dev/svc/httpapi"
)

// ServeHTTP lets the newest good build answer. While the files cannot be built, browsers that open a page are shown why, whatever the page.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == Page || strings.HasPrefix(r.URL.Path, Page+"/") {
		s.page.ServeHTTP(w, r)
		return
	}
	if err := s.Last().Err; err != nil && opensPage(r) {
		s.showFailure(w, err)
		return
	}
	brief := isBrief(r)
	on := s.enter(brief)
	if on == nil {
		s.refuse(w, r)
		return
	}
	defer on.leave(brief)
	on.project.ServeHTTP(w, r)
}

// enter counts a request with the edition that answers it; nil: there is none.
func (s *Server) enter(brief bool) *edition {
	s.mu.Lock()
	defer s.mu.Unlock()
	on := s.now
	if on == nil {
		return nil
	}
	on.all.Add(1)
	if brief {
		on.brief.Add(1)
	}
	return on
}

func (on *edition) leave(brief bool) {
	on.all.Done()
	if brief {
		on.brief.Done()
	}
}

// isBrief reports whether a request is answered without waiting for something to happen: a reload waits for it.
func isBrief(r *http.Request) bool {
	query := r.URL.Query()
	return !query.Has("live") && !query.Has("wait")
}

// opensPage reports whether a browser asks for a document, and not a script or a program for data.
func opensPage(r *http.Request) bool {
	if r.Method != http.MethodGet {
		return false
	}
	if dest := r.Header.Get("Sec-Fetch-Dest"); dest != "" {
		return dest == "document"
	}
	return strings.HasPrefix(r.Header.Get("Accept"), "text/html")
}

// refuse answers while no build has been good yet.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request) {
	err := s.Last().Err
	f := fault.NotAvailable("stopping")
	status := http.StatusServiceUnavailable
	if err != nil {
		f, status = fault.From(err), http.StatusInternalServerError
	}
	httpapi.Refuse(s.config.Project.API, w, r, status, f)
}

// Explain is what is wrong with a project in words for its author: the sentence, and the lines around each mistake.
func Explain(err error) string {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return err.Error()
	}
	if f.Details == "" {
		return f.Message
	}
	return f.Message + "\n\n" + f.Details
}
