package gateway

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/memory"
	"svc.dev/svc/service/scope"
)

// passed are the request headers that reach the runtime; all others stay here.
var passed = []string{
	"Accept", "Accept-Language", "Content-Type", "Content-Length", "Last-Event-Id", "If-None-Match", "If-Match", "Range", "If-Range",
	"Idempotency-Key", "Cache-Control", "User-Agent", "Traceparent", "Tracestate", "Mcp-Session-Id", "Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name",
}

// returned are the response headers that reach the client; those that begin with "Stream-" do too.
var returned = []string{
	"Content-Type", "Content-Length", "Content-Disposition", "Content-Range", "Accept-Ranges", "Content-Security-Policy",
	"X-Content-Type-Options", "Cross-Origin-Resource-Policy", "Cache-Control", "Etag", "Vary", "Date", "Location", "Allow", "Retry-After",
	"Idempotency-Replayed", "X-Accel-Buffering", "Mcp-Session-Id", "Mcp-Protocol-Version",
}

// never are the headers that a webhook may not bring along either.
var never = []string{
	"cookie", "authorization", "forwarded", "x-real-ip", "x-original-url", "x-rewrite-url", "x-http-method-override", "connection", "upgrade",
	"http2-settings", "te", "trailer", "expect", "transfer-encoding", "keep-alive", "proxy",
}

// banned reports whether a header never passes, by a name as careless readers take it: some fold "_" into "-".
func banned(name string) bool {
	name = strings.ReplaceAll(strings.ToLower(name), "_", "-")
	return slices.Contains(never, name) || scope.Reserved(name) || strings.HasPrefix(name, "proxy-") || strings.HasPrefix(name, "x-forwarded-") ||
		strings.HasPrefix(name, "x-accel-")
}

// errand is a request to the runtime: what is asked there, and by whom.
type errand struct {
	claims scope.Claims
	path   string // escaped, built of segments that were checked
	header http.Header
	hook   bool // a webhook: its answer keeps all but what never passes
	lasts  bool // its answer may go on for long, though it is no stream: it ends when its sender may no more

	root     string // the path below {base_url}, from which its answer leads on; empty: where it leads is not looked at
	authored bool   // a project answers
}

// with carries claims to the runtime, and where clients find the work that they are about.
func (g *Gateway) with(ctx context.Context, c scope.Claims) context.Context {
	c.Base = g.baseOf(c)
	return scope.With(ctx, c)
}

// baseOf is the {base_url} of claims: on the surface of their authority, as we are reached.
func (g *Gateway) baseOf(c scope.Claims) string {
	on := Agents
	if c.Authority == scope.StaffAuth {
		on = Admin
	}
	return g.Surfaces.Origin(on) + "/v1/" + strings.TrimPrefix(c.Scope, "users/")
}

// forward lets the runtime answer.
func (x *exchange) forward(e errand) error {
	if x.g.Runtime == nil {
		return noRoute(x.Request)
	}
	x.told = e.claims
	if x.g.stopping() && (!x.Safe() || isStream(x.Request)) {
		return fault.NotAvailable("draining").After(time.Second)
	}
	ctx, end := context.WithCancelCause(x.g.with(x.Ctx(), e.claims))
	defer end(nil)
	if x.v != nil && (e.lasts || isStream(x.Request)) {
		release, err := x.g.streams.Take(e.claims.Actor)
		if err != nil {
			return err
		}
		defer release()
		go x.g.attend(ctx, end, x.v)
	}
	x.countSigned(e.claims.Account)
	in := x.take(e.hook)
	defer in.leave()
	r := x.Request.Clone(ctx)
	r.URL = &url.URL{RawPath: e.path, RawQuery: cleanQuery(x.Request.URL.RawQuery)}
	r.URL.Path, _ = url.PathUnescape(e.path) // it was built by escaping
	r.Host, r.RequestURI, r.Header, r.Trailer, r.Body = "", "", e.header, nil, in.body()
	out := &filter{Answer: x.Out, x: x, in: in, head: http.Header{}, errand: e, ended: func() bool { return errors.Is(context.Cause(ctx), errEnded) }}
	x.g.Runtime.ServeHTTP(out, r)
	if out.ended() {
		out.end()
	}
	return nil
}

// countSigned counts a body that the way to another process holds as a whole, to sign it.
func (x *exchange) countSigned(owner string) {
	if _, apart := x.g.Runtime.(*Proxy); apart && x.Request.ContentLength <= scope.MaxHash {
		x.Count(owner, memory.Bodies)
	}
}

// cleanQuery leaves out the parts of a query that readers understand differently: those with a semicolon, or with an escape
// that is none.
func cleanQuery(raw string) string {
	parts := strings.Split(raw, "&")
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool {
		_, err := url.QueryUnescape(part)
		return err != nil || strings.Contains(part, ";")
	}), "&")
}

// isStream reports whether a request stays open to hear of what comes.
func isStream(r *http.Request) bool { return r.Method == http.MethodGet && r.URL.Query().Has("live") }

// allowed keeps the headers that may reach the runtime.
func allowed(h http.Header) http.Header {
	out := h.Clone()
	maps.DeleteFunc(out, func(name string, _ []string) bool { return !slices.Contains(passed, name) })
	return out
}

// allowedHook keeps what a webhook sends, but for what could be taken for ours or would be acted on in between.
func allowedHook(h http.Header) http.Header {
	out := h.Clone()
	maps.DeleteFunc(out, func(name string, _ []string) bool { return banned(name) })
	return out
}
