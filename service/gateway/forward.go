package gateway

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/scope"
)

// passed are the request headers that reach the runtime; all others stay here.
var passed = []string{
	"Accept", "Accept-Language", "Content-Type", "Content-Length", "Last-Event-Id", "If-None-Match", "If-Match", "Range", "If-Range",
	"Idempotency-Key", "Cache-Control", "User-Agent", "Traceparent", "Tracestate",
}

// returned are the response headers that reach the client; those that begin with "Stream-" do too.
var returned = []string{
	"Content-Type", "Content-Length", "Content-Disposition", "Content-Range", "Accept-Ranges", "Content-Security-Policy",
	"X-Content-Type-Options", "Cross-Origin-Resource-Policy", "Cache-Control", "Etag", "Vary", "Date", "Location", "Allow", "Retry-After",
	"Idempotency-Replayed", "X-Accel-Buffering",
}

// never are the headers that a webhook may not bring along either.
var never = []string{
	"Cookie", "Authorization", "Forwarded", "X-Real-Ip", "X-Original-Url", "X-Rewrite-Url", "X-Http-Method-Override", "Connection", "Upgrade",
	"Http2-Settings", "Te", "Trailer", "Expect", "Transfer-Encoding", "Keep-Alive",
}

// errand is a request to the runtime: what is asked there, and by whom.
type errand struct {
	claims scope.Claims
	path   string // escaped, built of segments that were checked
	header http.Header
	watch  func(context.Context) bool // whether the credential still counts; nil: it has none
}

// forward lets the runtime answer.
func (x *exchange) forward(e errand) error {
	if x.g.Runtime == nil {
		return noRoute(x.r)
	}
	ctx, stop := context.WithCancel(scope.With(x.ctx(), e.claims))
	defer stop()
	if e.watch != nil && isStream(x.r) {
		release, err := x.g.streams.take(e.claims.Actor)
		if err != nil {
			return err
		}
		defer release()
		go recheck(ctx, stop, e.watch)
	}
	r := x.r.Clone(ctx)
	r.URL = &url.URL{RawPath: e.path, RawQuery: x.r.URL.RawQuery}
	r.URL.Path, _ = url.PathUnescape(e.path) // it was built by escaping
	r.Host, r.RequestURI, r.Header, r.Trailer = "", "", e.header, nil
	x.g.Runtime.ServeHTTP(&filter{answer: x.out, x: x}, r)
	return nil
}

// isStream reports whether a request stays open to hear of what comes.
func isStream(r *http.Request) bool { return r.Method == http.MethodGet && r.URL.Query().Has("live") }

// recheckPause is how often an open stream's credential is looked at again.
const recheckPause = 10 * time.Second

// recheck ends a stream whose credential no longer counts. A database that cannot say so ends nothing.
func recheck(ctx context.Context, stop context.CancelFunc, valid func(context.Context) bool) {
	tick := time.NewTicker(recheckPause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if !valid(ctx) {
				stop()
				return
			}
		}
	}
}

// allowed keeps the headers that may reach the runtime.
func allowed(h http.Header) http.Header {
	out := http.Header{}
	for _, name := range passed {
		if values := h.Values(name); len(values) > 0 {
			out[name] = slices.Clone(values)
		}
	}
	return out
}

// allowedHook keeps what a webhook sends, but for what could be taken for ours or would be acted on in between.
func allowedHook(h http.Header) http.Header {
	out := http.Header{}
	for name, values := range h {
		if !slices.Contains(never, name) && !scope.Reserved(name) && !strings.HasPrefix(name, "Proxy-") &&
			!strings.HasPrefix(name, "X-Forwarded-") && !strings.HasPrefix(name, "X-Accel-") {
			out[name] = slices.Clone(values)
		}
	}
	return out
}

// filter lets the runtime's answer out, without headers that are ours to set.
type filter struct {
	*answer
	x    *exchange
	head http.Header
	sent bool
	hook bool // a webhook's answer keeps all but what is never let out
}

// Header is what the runtime writes to; it reaches the client when the status does.
func (f *filter) Header() http.Header {
	if f.head == nil {
		f.head = http.Header{}
	}
	return f.head
}

func (f *filter) WriteHeader(status int) {
	if f.sent {
		return
	}
	f.sent = status >= 200
	out := f.answer.Header()
	for name, values := range f.head {
		if f.passes(name) {
			out[name] = values
		}
	}
	f.answer.WriteHeader(status)
}

func (f *filter) passes(name string) bool {
	if f.hook {
		return name != "Set-Cookie" && !scope.Reserved(name) && !slices.Contains(never, name)
	}
	return slices.Contains(returned, name) || strings.HasPrefix(name, "Stream-")
}

func (f *filter) Write(b []byte) (int, error) {
	f.WriteHeader(http.StatusOK)
	return f.answer.Write(b)
}

// FlushError lets a frame out at once.
func (f *filter) FlushError() error {
	f.WriteHeader(http.StatusOK)
	return http.NewResponseController(f.answer).Flush()
}

// checkSpoofed drops and counts headers that only we may set; one that is spelled to be mistaken for ours is refused.
func (x *exchange) checkSpoofed() error {
	for name := range x.r.Header {
		if scope.Spelled(name) {
			return fault.New(invalidHeader, "A header is not acceptable.", "")
		}
		if scope.Reserved(name) {
			x.g.Spoofed()
		}
	}
	return nil
}

// refuse answers instead of the runtime.
func (f *filter) refuse(because *fault.Error) {
	if !f.sent {
		f.sent = true
		f.x.fail(because)
	}
}
