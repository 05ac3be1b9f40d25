package mcp

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxBody bounds an answer that is not a stream of events; the SDK bounds an event alike.
const maxBody = 16 << 20

var errTooLarge = errors.New("the answer is too large")

// web is a server reached over HTTP. It is a carrier, and makes its own requests.
type web struct {
	sdk.StreamableClientTransport
	base   http.RoundTripper
	own    bool // base is ours to close
	origin *url.URL
	header func(*http.Request)

	life context.Context // of every request
	stop context.CancelFunc
	lost atomic.Bool
	shut atomic.Bool // the server wants another credential
}

func newWeb(c Config) *web {
	w := &web{header: c.Header}
	w.origin, _ = url.Parse(c.URL)
	w.life, w.stop = context.WithCancel(context.Background())
	client := *cmp.Or(c.HTTP, &http.Client{})
	w.base, w.own = transportOf(c.HTTP)
	client.Transport = w
	w.Endpoint, w.HTTPClient = c.URL, &client
	return w
}

// transportOf is a client's transport, and for no client one of our own.
func transportOf(c *http.Client) (base http.RoundTripper, own bool) {
	if c != nil && c.Transport != nil {
		return c.Transport, false
	}
	if t, ok := http.DefaultTransport.(*http.Transport); ok && c == nil {
		return t.Clone(), true
	}
	return http.DefaultTransport, false
}

func (w *web) broken() bool { return w.lost.Load() }
func (w *web) denied() bool { return w.shut.Load() }
func (w *web) sever()       { w.stop() }

func (w *web) end() error {
	w.stop()
	if t, ok := w.base.(*http.Transport); ok && w.own {
		t.CloseIdleConnections()
	}
	return nil
}

// RoundTrip makes one request, which lives no longer than the carrier.
func (w *web) RoundTrip(r *http.Request) (*http.Response, error) {
	asked := r.Context()
	ctx, cancel := context.WithCancel(asked)
	unhook := context.AfterFunc(w.life, cancel)
	release := func() { unhook(); cancel() }
	r = r.Clone(ctx)
	if w.header != nil && r.URL.Scheme == w.origin.Scheme && r.URL.Host == w.origin.Host {
		w.header(r)
	}
	resp, err := w.base.RoundTrip(r)
	if err != nil {
		release()
		w.note(asked)
		return nil, err
	}
	w.shut.Store(resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden)
	b := &boundedBody{ReadCloser: resp.Body, release: release, left: maxBody}
	b.events = strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream")
	if r.Header.Get("Mcp-Method") == "subscriptions/listen" {
		// The SDK does not listen again: only a new connection hears of changes.
		b.ended = func() { w.note(asked) }
	}
	resp.Body = b
	return resp, nil
}

// note takes the connection for lost, unless it was us who gave the request up.
func (w *web) note(asked context.Context) {
	if asked.Err() == nil && w.life.Err() == nil {
		w.lost.Store(true)
	}
}

// boundedBody is an answer that is bounded and lets go of its request when it is closed.
type boundedBody struct {
	io.ReadCloser
	events  bool
	left    int
	ended   func()
	release func()
}

func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= n; b.left < 0 && !b.events {
		return 0, errTooLarge
	}
	if err != nil && b.ended != nil {
		b.ended()
	}
	return n, err
}

func (b *boundedBody) Close() error {
	defer b.release()
	return b.ReadCloser.Close()
}
