package doctor_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/service/config"
	"svc.dev/svc/service/doctor"
	"svc.dev/svc/service/servicetest"
)

// front is a service behind a proxy that stands at its public addresses.
type front struct {
	config config.Config
	served *servicetest.Served
	proxy  *httptest.Server
}

// behindProxy starts a service whose addresses lead to a proxy. What the proxy does with a request is made of the way to the
// service, which passes the Host on and says nothing of the client.
func behindProxy(t *testing.T, do func(way *httputil.ReverseProxy) http.Handler, edits ...func(*config.Config)) *front {
	t.Helper()
	f := &front{config: servicetest.Config(t), proxy: httptest.NewUnstartedServer(nil)}
	port := portOf(t, f.proxy.Listener.Addr().String())
	f.config.PlatformURL, f.config.AgentsURL, f.config.AdminURL = "http://svc.localhost:"+port, "http://agents.svc.localhost:"+port, "http://admin.svc.localhost:"+port
	for _, edit := range edits {
		edit(&f.config)
	}
	f.served = servicetest.Start(t, f.config)
	target, err := url.Parse(f.served.Address)
	if err != nil {
		t.Fatal(err)
	}
	way := &httputil.ReverseProxy{FlushInterval: -1, Transport: &http.Transport{DisableKeepAlives: true}, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
	}}
	f.proxy.Config.Handler = do(way)
	f.proxy.Start()
	t.Cleanup(f.proxy.Close)
	f.config.Listen = strings.TrimPrefix(f.served.Address, "http://")
	return f
}

func portOf(t *testing.T, address string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// with changes what the way does to a request.
func with(way *httputil.ReverseProxy, change func(*httputil.ProxyRequest)) *httputil.ReverseProxy {
	rewrite := way.Rewrite
	way.Rewrite = func(r *httputil.ProxyRequest) {
		rewrite(r)
		change(r)
	}
	return way
}

// late answers when it has heard all, as a proxy that buffers does.
func late(way *httputil.ReverseProxy) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		whole := httptest.NewRecorder()
		way.ServeHTTP(whole, r)
		for name, values := range whole.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(whole.Code)
		_, _ = io.Copy(w, whole.Body)
	})
}

// impatient ends an answer behind its first part, as a proxy with a short timeout does.
func impatient(way http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		way.ServeHTTP(&brief{w, cancel}, r.WithContext(ctx))
	})
}

// brief is an answer that has one part.
type brief struct {
	http.ResponseWriter
	end func()
}

func (b *brief) Write(p []byte) (int, error) {
	n, err := b.ResponseWriter.Write(p)
	_ = http.NewResponseController(b.ResponseWriter).Flush()
	b.end()
	return n, err
}

func (b *brief) Unwrap() http.ResponseWriter { return b.ResponseWriter }

func trustLoopback(c *config.Config) {
	c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
}

func TestDoctorSeesWhatStandsInFront(t *testing.T) {
	for name, c := range map[string]struct {
		proxy   func(way *httputil.ReverseProxy) http.Handler
		edit    func(*config.Config)
		about   string
		verdict string
		text    string
	}{
		"a proxy that passes on": {func(way *httputil.ReverseProxy) http.Handler { return way }, nil, "event streams", doctor.OK, "arrive as they are sent"},
		"a proxy that buffers":   {late, nil, "event streams", doctor.Fail, "holds answers back"},
		"a surface that is ours": {func(way *httputil.ReverseProxy) http.Handler { return way }, nil, "url.agents", doctor.OK, "answers as the agents surface"},
		"another host": {func(way *httputil.ReverseProxy) http.Handler {
			return with(way, func(r *httputil.ProxyRequest) { r.Out.Host = "backend" })
		}, nil, "url.agents", doctor.Fail, "does not know the Host"},
		"another surface": {func(way *httputil.ReverseProxy) http.Handler {
			return with(way, func(r *httputil.ProxyRequest) { r.Out.Host = strings.Replace(r.In.Host, "agents.", "", 1) })
		}, nil, "url.agents", doctor.Fail, "leads to the platform surface"},
		"another site": {func(*httputil.ReverseProxy) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>It works!</html>") })
		}, nil, "url.agents", doctor.Fail, "is not svc: it answers 200 text/html"},
		"a proxy that leads elsewhere": {func(*httputil.ReverseProxy) http.Handler {
			return http.RedirectHandler("https://www.example.com/", http.StatusMovedPermanently)
		}, nil, "url.agents", doctor.Fail, "to https://www.example.com/"},
		"a proxy that reaches nobody": {func(*httputil.ReverseProxy) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
		}, nil, "url.agents", doctor.Fail, "it answers 502"},
		"a proxy that cuts off": {func(way *httputil.ReverseProxy) http.Handler {
			return impatient(way)
		}, nil, "url.agents", doctor.Fail, "breaks off"},
		"a proxy that is silent": {func(way *httputil.ReverseProxy) http.Handler { return way }, nil, "trusted_proxies", doctor.OK, "no proxy stands in front"},
		"a proxy that nobody trusts": {func(way *httputil.ReverseProxy) http.Handler {
			return with(way, func(r *httputil.ProxyRequest) { r.SetXForwarded() })
		}, nil, "trusted_proxies", doctor.Warn, "is not among them"},
		"a proxy that is trusted": {func(way *httputil.ReverseProxy) http.Handler {
			return with(way, func(r *httputil.ProxyRequest) { r.SetXForwarded() })
		}, trustLoopback, "trusted_proxies", doctor.OK, "a client cannot"},
		"a trusted proxy that is silent": {func(way *httputil.ReverseProxy) http.Handler { return way }, trustLoopback, "trusted_proxies", doctor.Warn, "does not say who asks"},
		"a trusted proxy that repeats": {func(way *httputil.ReverseProxy) http.Handler {
			return with(way, func(r *httputil.ProxyRequest) {
				if r.SetXForwarded(); r.In.Header.Get("X-Forwarded-For") != "" {
					r.Out.Header["X-Forwarded-For"] = r.In.Header["X-Forwarded-For"]
				}
			})
		}, trustLoopback, "trusted_proxies", doctor.Fail, "choose its own address"},
		"everybody is trusted": {func(way *httputil.ReverseProxy) http.Handler { return way }, func(c *config.Config) {
			c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}
		}, "trusted_proxies", doctor.Fail, "is everybody"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var edits []func(*config.Config)
			if c.edit != nil {
				edits = append(edits, c.edit)
			}
			f := behindProxy(t, c.proxy, edits...)
			got := find(t, f.config, c.about)
			if got.Verdict != c.verdict || !strings.Contains(got.Text, c.text) {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestDoctorKnowsAnotherServiceFromItsOwn(t *testing.T) {
	f := behindProxy(t, func(way *httputil.ReverseProxy) http.Handler { return way })
	// This one has the same addresses, a folder of its own, and nobody in front.
	other := servicetest.Config(t)
	other.PlatformURL, other.AgentsURL, other.AdminURL = f.config.PlatformURL, f.config.AgentsURL, f.config.AdminURL
	servicetest.Start(t, other)
	if got := find(t, other, "url.agents"); got.Verdict != doctor.Fail || !strings.Contains(got.Text, "another svc") {
		t.Errorf("%+v", got)
	}
	if got := find(t, f.config, "url.agents"); got.Verdict != doctor.OK {
		t.Errorf("%+v", got)
	}
}

func TestDoctorSaysWhenNobodyAnswers(t *testing.T) {
	c := servicetest.Config(t)
	c.Listen = "127.0.0.1:" + portOf(t, unused(t))
	if got := find(t, c, "url.agents"); got.Verdict != doctor.Skip || !strings.Contains(got.Text, "start it and ask again") {
		t.Errorf("no server runs: %+v", got)
	}
	servicetest.Start(t, c)
	c.AgentsURL = "http://agents.svc.localhost:" + portOf(t, unused(t))
	if got := find(t, c, "url.agents"); got.Verdict != doctor.Fail || !strings.Contains(got.Text, "nobody answers") {
		t.Errorf("a server runs: %+v", got)
	}
	if got := find(t, c, "url.platform"); got.Verdict != doctor.OK {
		t.Errorf("%+v", got)
	}
}

// unused is an address that nobody listened on a moment ago.
func unused(t *testing.T) string {
	t.Helper()
	return "127.0.0.1:" + servicetest.Port(t)
}

// inProduction is a service at https addresses, behind a proxy that has a certificate for them.
func inProduction(t *testing.T) (config.Config, doctor.World, *httptest.Server) {
	t.Helper()
	c := servicetest.Config(t)
	c.PlatformURL, c.AgentsURL, c.AdminURL, c.CookieDomain = "https://example.com", "https://agents.example.com", "https://admin.example.com", "example.com"
	s := servicetest.Start(t, c)
	c.Listen = strings.TrimPrefix(s.Address, "http://")
	target, err := url.Parse(s.Address)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewTLSServer(&httputil.ReverseProxy{FlushInterval: -1, Transport: &http.Transport{DisableKeepAlives: true}, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
	}})
	t.Cleanup(proxy.Close)
	known := x509.NewCertPool()
	known.AddCert(proxy.Certificate())
	return c, doctor.World{
		TLS:    &tls.Config{RootCAs: known},
		Lookup: func(context.Context, string) ([]string, error) { return []string{"192.0.2.7"}, nil },
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, proxy.Listener.Addr().String())
		},
	}, proxy
}

func TestDoctorAsksThroughHTTPS(t *testing.T) {
	c, world, proxy := inProduction(t)
	said := func(name string, w doctor.World) doctor.Finding {
		return findIn(t, doctor.ExamineIn(t.Context(), c, quietly, w), name)
	}
	if f := said("url.agents", world); f.Verdict != doctor.OK || !strings.Contains(f.Text, "192.0.2.7") {
		t.Errorf("%+v", f)
	}
	if f := said("trusted_proxies", world); f.Verdict != doctor.Warn || !strings.Contains(f.Text, "ends https and does not say who asks") {
		t.Errorf("%+v", f)
	}
	lost := world
	lost.Lookup = nowhere
	if f := said("url.agents", lost); f.Verdict != doctor.Fail || f.Text != "agents.example.com does not resolve" {
		t.Errorf("%+v", f)
	}
	unknown := world
	unknown.TLS = &tls.Config{RootCAs: x509.NewCertPool()}
	if f := said("url.agents", unknown); f.Verdict != doctor.Fail || !strings.Contains(f.Mend, "certificate for agents.example.com") {
		t.Errorf("%+v", f)
	}
	soon := world
	soon.Now = func() time.Time { return proxy.Certificate().NotAfter.Add(-36 * time.Hour) }
	if f := said("url.agents", soon); f.Verdict != doctor.Warn || !strings.Contains(f.Text, "its certificate ends in 1 day") {
		t.Errorf("%+v", f)
	}
}

func TestDoctorComparesClocks(t *testing.T) {
	c, world, _ := inProduction(t)
	for off, want := range map[time.Duration]string{0: doctor.OK, 10 * time.Second: doctor.Warn, -10 * time.Second: doctor.Warn, time.Hour: doctor.Fail} {
		t.Run(off.String(), func(t *testing.T) {
			t.Parallel()
			w := world
			w.Now = func() time.Time { return time.Now().Add(off) }
			if f := findIn(t, doctor.ExamineIn(t.Context(), c, quietly, w), "public clock"); f.Verdict != want || !strings.Contains(f.Text, "Date of example.com") {
				t.Errorf("%+v", f)
			}
		})
	}
}

// TestAStrangerWritesNoFindings holds that what answers in our place says nothing in doctor's name, and moves no cursor.
func TestAStrangerWritesNoFindings(t *testing.T) {
	f := behindProxy(t, func(*httputil.ReverseProxy) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Request-Id", "req_x")
			w.Header().Set("Server", "\u202enginx "+strings.Repeat("y", 5000))
			w.WriteHeader(http.StatusTeapot)
			_, _ = io.WriteString(w, `{"error":{"type":"x\u001b[2J\nok    url.agents         all is well"}}`)
		})
	})
	for _, finding := range doctor.Examine(t.Context(), f.config, doctor.Exam{}) {
		if strings.ContainsAny(finding.Text, "\n\x1b\u202e") || len(finding.Text) > 1000 {
			t.Errorf("%.200q", finding.Text)
		}
	}
}
