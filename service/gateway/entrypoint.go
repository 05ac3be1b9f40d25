package gateway

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"svc.dev/svc/service/access"
	"svc.dev/svc/service/engine"
	"svc.dev/svc/service/operation"
	"svc.dev/svc/service/surface"
)

// asEntrypoint is a path that the API does not know: the project's entrypoint answers it. Its first segment stands as it is meant, so
// that nothing of the API is asked for by another spelling; no segments are its root.
func (at place) asEntrypoint(segments []string) (place, error) {
	at.entrypoint, at.pattern, at.path = true, "…", "/"
	at.reads, at.writes = operation.ReadsEntrypoint, operation.UsesEntrypoint
	if len(segments) == 0 || slices.Equal(segments, []string{""}) {
		return at, nil
	}
	if strings.ContainsAny(segments[0], "%;") {
		return at, surface.WrongPath()
	}
	at.path = ""
	for _, segment := range segments {
		part, err := id(segment)
		if err != nil {
			return at, err
		}
		at.path += "/" + part
	}
	return at, nil
}

// entrypointMethods are what an entrypoint is asked by. That pages ask before they send is answered for it.
var entrypointMethods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

// askEntrypoint lets the project answer somebody who may read, or for whatever else may work.
func askEntrypoint(x *exchange, at place) error {
	method, need := x.Request.Method, at.writes
	if method == http.MethodGet || method == http.MethodHead {
		need = at.reads
	}
	if err := x.enter(need, access.Place{Scope: at.scope}); err != nil {
		return err
	}
	if !slices.Contains(entrypointMethods, method) {
		return x.wrongMethod(slices.Clone(entrypointMethods))
	}
	if err := x.note(at.scope, "/entrypoint"+at.path); err != nil {
		return err
	}
	if x.Request.ContentLength > x.g.EntrypointBody {
		return surface.TooLarge(x.g.EntrypointBody)
	}
	if x.Request.Body != http.NoBody {
		x.Request.Body = http.MaxBytesReader(nil, x.Request.Body, x.g.EntrypointBody)
	}
	return x.forward(errand{
		claims: x.v.Claims(x.ID), path: engine.EntrypointPath + at.path, header: allowedHook(x.Request.Header), lasts: true, root: at.path, authored: true,
	})
}

// authored are the response headers that a project may send beside those of the API.
var authored = []string{"Content-Encoding", "Content-Language", "Expires", "Last-Modified", "Link"}

// policy is the header that says what a page may do, and sandboxed what all pages of a project may: be seen, and ask by scripts as nobody.
// They stand on a host of ours, and must not act for the person who looks at them.
const (
	policy    = "Content-Security-Policy"
	sandboxed = "sandbox allow-downloads allow-forms allow-popups allow-scripts; frame-ancestors 'none'"
)

// shut takes what pages of ours may do from an answer below {base_url} that brings a policy of its own, or is a project's. What it brings
// counts beside ours.
func (f *filter) shut(out http.Header) {
	brought := f.head[policy]
	if f.errand.authored || f.x.IsBase() && len(brought) > 0 {
		out[policy] = append(slices.Clone(brought), sandboxed)
	}
}

// leadOn makes the address that an answer leads on to one for those outside, and reports whether it is one.
func (f *filter) leadOn() bool {
	location := f.head.Get("Location")
	if f.errand.root == "" || location == "" {
		return true
	}
	to, ok := onward(f.x.g.baseOf(f.errand.claims), f.errand.root, location)
	if ok {
		f.head.Set("Location", to)
	}
	return ok
}

// onward is where an answer at a path below base leads on. What its writer means as the root of their own host lies below base; another
// host must be named with its scheme.
func onward(base, path, location string) (string, bool) {
	home, err := url.Parse(base)
	if err != nil || strings.ContainsFunc(location, func(r rune) bool { return r <= ' ' || r == '\\' || r == 0x7f }) {
		return "", false
	}
	to, err := url.Parse(location)
	if err != nil || to.Scheme == "" && to.Host != "" || to.Opaque != "" || to.User != nil {
		return "", false
	}
	from := &url.URL{Scheme: home.Scheme, Host: home.Host, RawPath: path}
	from.Path, _ = url.PathUnescape(path) // it was built by escaping
	to = from.ResolveReference(to)
	if to.Scheme != "http" && to.Scheme != "https" {
		return "", false
	}
	if to.Scheme != home.Scheme || to.Host != home.Host {
		return to.String(), true
	}
	if at := to.EscapedPath(); at != home.Path && !strings.HasPrefix(at, home.Path+"/") {
		to.Path, to.RawPath = home.Path+to.Path, home.Path+at
	}
	return to.String(), true
}
