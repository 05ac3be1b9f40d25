package engine

import (
	"net/http"
	"net/url"
	"strings"

	"svc.dev/svc/service/scope"
)

// Project is what an operator declares in TypeScript for every workspace. It handles what its entrypoint answers, if it has one.
type Project interface {
	http.Handler
	// API is the contract's API with the project's modules, at its own paths.
	API() http.Handler
	// HasEntrypoint reports whether it answers what the API does not know.
	HasEntrypoint() bool
	// Declares reports whether it has a module of that kind (agents, workflows or channels) and name.
	Declares(kind, name string) bool
}

// toEntrypoint is a request for the entrypoint, as it was sent below {base_url}, and nil for any other.
func toEntrypoint(r *http.Request) *http.Request {
	path, is := strings.CutPrefix(r.URL.EscapedPath(), EntrypointPath+"/")
	if !is {
		return nil
	}
	inner := r.Clone(r.Context())
	inner.URL = &url.URL{RawPath: "/" + path, RawQuery: r.URL.RawQuery}
	inner.URL.Path, _ = url.PathUnescape(inner.URL.RawPath) // it is a part of one that was read
	inner.RequestURI = ""
	return inner
}

// entrypoint lets the project answer what the API does not know.
func (e *Engine) entrypoint(w http.ResponseWriter, r *http.Request) {
	if e.Project == nil || !e.Project.HasEntrypoint() {
		e.fail(w, r, noRoute(r))
		return
	}
	e.Project.ServeHTTP(w, r)
}

// introduced is a request as a project sees it: who asks stands in its header, and nothing by which the gateway proves itself.
func introduced(r *http.Request, c scope.Claims) *http.Request {
	r = r.Clone(r.Context())
	c.Show(r.Header)
	r.Header.Set(scope.HeaderBase, c.Base)
	return r
}
