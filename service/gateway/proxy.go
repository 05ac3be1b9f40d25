package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/engine"
	"svc.dev/svc/service/scope"
)

// headTimeout is how long a runtime may take to begin its answer, where nobody asked it to wait.
const headTimeout = 10 * time.Second

var errSlow = errors.New("the runtime did not begin to answer")

// Proxy is a runtime in another process, as a handler. It signs the claims of the context, so what a client sent about
// itself never goes out.
type Proxy struct {
	target  *url.URL
	forward *scope.Forward
	proxy   *httputil.ReverseProxy
	log     *slog.Logger
}

// NewProxy is the runtime at an address. Transport is how it is reached; nil is plain HTTP.
func NewProxy(target *url.URL, forward *scope.Forward, transport http.RoundTripper, log *slog.Logger) *Proxy {
	p := &Proxy{target: target, forward: forward, log: log}
	if transport == nil {
		transport = &http.Transport{MaxIdleConnsPerHost: 256, IdleConnTimeout: 90 * time.Second, DisableCompression: true}
	}
	p.proxy = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = target.Scheme, target.Host
			r.Out.Host = target.Host
		},
		Transport: transport, FlushInterval: -1, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		ModifyResponse: p.judge, ErrorHandler: p.fail,
	}
	return p
}

type headKey struct{}

func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c, ok := scope.From(r.Context())
	if !ok {
		p.fail(w, r, errors.New("no claims"))
		return
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	if !waits(r) {
		head := time.AfterFunc(headTimeout, func() { cancel(errSlow) })
		defer head.Stop()
		ctx = context.WithValue(ctx, headKey{}, head)
	}
	r = r.Clone(ctx)
	if err := p.forward.Sign(r, c); err != nil {
		p.fail(w, r, err)
		return
	}
	p.relay(w, r)
}

// relay lets the runtime answer. An answer that we have ended ourselves is our own to end; one that breaks off is broken off.
func (p *Proxy) relay(w http.ResponseWriter, r *http.Request) {
	defer func() {
		v := recover()
		if v != nil && (v != http.ErrAbortHandler || !errors.Is(context.Cause(r.Context()), errEnded)) {
			panic(v)
		}
	}()
	p.proxy.ServeHTTP(w, r)
}

// waits reports whether a request may take its time before the answer begins: somebody asked for that, or sends much.
func waits(r *http.Request) bool {
	q := r.URL.Query()
	return q.Has("wait") || q.Has("live") || r.ContentLength < 0 || r.ContentLength > 1<<20 || r.URL.Path == engine.MCPPath ||
		strings.HasPrefix(r.URL.Path, engine.EntrypointPath+"/") // a project has a limit of its own
}

// judge hears the head of an answer. A runtime that does not believe us is our fault, and no reason to sign anybody out; a webhook's own
// check may say 401, and so may a project, once the runtime has let us in.
func (p *Proxy) judge(answer *http.Response) error {
	if head, ok := answer.Request.Context().Value(headKey{}).(*time.Timer); ok {
		head.Stop()
	}
	passed := answer.Header.Get(scope.HeaderPassed) != ""
	if answer.StatusCode == http.StatusUnauthorized && !passed && answer.Request.Header.Get(scope.HeaderScope) != "" && !strings.HasPrefix(answer.Request.URL.Path, "/channels/") {
		return errors.New("the runtime does not accept this gateway")
	}
	return nil
}

// fail answers when the runtime cannot.
func (p *Proxy) fail(w http.ResponseWriter, r *http.Request, err error) {
	why := context.Cause(r.Context())
	if why != nil && !errors.Is(why, errSlow) {
		panic(http.ErrAbortHandler) // there is nobody to answer
	}
	f := fault.New(fault.BadGateway, "The runtime cannot be reached.", "Try again shortly.")
	if errors.Is(why, errSlow) {
		f = fault.New(fault.RuntimeTimeout, "The runtime took too long.", "Try again shortly.")
	}
	p.log.Error("runtime does not answer", "error", err)
	if failing, ok := w.(interface{ refuse(*fault.Error) }); ok {
		failing.refuse(f)
		return
	}
	w.WriteHeader(http.StatusBadGateway)
}
