package browser

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
)

// front is what stands before a service in production: it ends TLS. The certificate is the test's own, and the names lead
// here in this browser alone.
type front struct {
	server *httptest.Server
	hook   *httptest.Server // takes what GitHub delivers, which knows no such names
	port   string
}

// quiet hides what a browser always does: it complains of the certificate before it takes it, and leaves pages early.
var quiet = log.New(io.Discard, "", 0)

func newFront(t *testing.T) *front {
	t.Helper()
	f := &front{server: httptest.NewUnstartedServer(nil)}
	f.server.Config.ErrorLog = quiet
	_, f.port, _ = strings.Cut(f.server.Listener.Addr().String(), ":")
	t.Cleanup(f.server.Close)
	return f
}

// settings are those of a service that is called by its public names.
func (f *front) settings() []string {
	at := ".example.com:" + f.port
	return []string{
		"SVC_PLATFORM_URL=https://platform" + at, "SVC_AGENTS_URL=https://agents" + at, "SVC_ADMIN_URL=https://admin" + at,
		"SVC_COOKIE_DOMAIN=example.com", "SVC_TRUSTED_PROXIES=127.0.0.1/32",
	}
}

// open passes on to a service that has started.
func (f *front) open(t *testing.T, s *service) {
	t.Helper()
	f.server.Config.Handler = pass(t, s, "")
	f.server.StartTLS()
	platform, err := url.Parse(s.Platform)
	if err != nil {
		t.Fatal(err)
	}
	f.hook = httptest.NewServer(pass(t, s, platform.Host))
	t.Cleanup(f.hook.Close)
}

// pass is a proxy. An empty host stays what the client said.
func pass(t *testing.T, s *service, host string) http.Handler {
	t.Helper()
	to, err := url.Parse(s.Address)
	if err != nil {
		t.Fatal(err)
	}
	return &httputil.ReverseProxy{ErrorLog: quiet, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host
		if host != "" {
			r.Out.Host = host
		}
		r.SetXForwarded()
	}}
}
