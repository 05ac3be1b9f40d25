package service_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/service/certificate/certificatetest"
	"svc.dev/svc/service/config"
	"svc.dev/svc/service/gateway"
	"svc.dev/svc/service/servicetest"
)

// sealedConfig is a service without a proxy, and who vouches for it.
func sealedConfig(t *testing.T) (config.Config, *certificatetest.Authority) {
	t.Helper()
	c, authority := servicetest.Config(t), certificatetest.New(t)
	c.ListenTLS = "127.0.0.1:0"
	c.PlatformURL, c.AgentsURL, c.AdminURL, c.CookieDomain = "https://example.com", "https://agents.example.com", "https://admin.example.com", "example.com"
	c.TLSCert, c.TLSKey = authority.Write(t, t.TempDir(), time.Now().Add(24*time.Hour), "example.com", "*.example.com")
	return c, authority
}

// reaching is a browser for which all names lead to one address, and which speaks one protocol.
func reaching(address string, authority *certificatetest.Authority, http2 bool) *http.Client {
	_, at, _ := strings.Cut(address, "://")
	var speaks http.Protocols
	speaks.SetHTTP1(!http2)
	speaks.SetHTTP2(http2)
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, at)
			},
			TLSClientConfig: &tls.Config{RootCAs: authority.Pool}, Protocols: &speaks, DisableKeepAlives: !http2,
		},
	}
}

func inquire(t *testing.T, client *http.Client, method, url string) servicetest.Answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return servicetest.Send(t, client, r)
}

func TestBrowsersAreServedWithoutAProxy(t *testing.T) {
	c, authority := sealedConfig(t)
	s := servicetest.Start(t, c)
	if !strings.HasPrefix(s.Address, "https://") || s.Mode != "production" {
		t.Errorf("%+v", s.Serving)
	}
	for _, http2 := range []bool{false, true} {
		client := reaching(s.Address, authority, http2)
		defer client.CloseIdleConnections()
		for _, surface := range []string{s.Platform, s.Agents, s.Admin} {
			got := inquire(t, client, "GET", surface+"/api/auth/session")
			if got.Status != 200 || got.Header.Get("Strict-Transport-Security") == "" {
				t.Errorf("%s, HTTP/2 %t: %d %s", surface, http2, got.Status, got.Body)
			}
		}
		if got := streamed(t, client, s.Platform); got < 100*time.Millisecond {
			t.Errorf("HTTP/2 %t: the second part of a stream came %s after the first", http2, got)
		}
	}
	if _, err := reaching(s.Address, authority, false).Get("https://elsewhere.example.org/"); err == nil {
		t.Error("a host that is not ours is shown a certificate for it")
	}
}

// streamed is how long after the first part of the service's own probe the second comes: it is passed on as it is written.
func streamed(t *testing.T, client *http.Client, platform string) time.Duration {
	t.Helper()
	res, err := client.Get(platform + gateway.ProbePath)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var times []time.Time
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "data: ") {
			times = append(times, time.Now())
		}
	}
	if len(times) < 2 {
		t.Fatalf("%s with %d parts", res.Status, len(times))
	}
	return times[len(times)-1].Sub(times[0])
}

func TestWithoutTLSOneIsLedToIt(t *testing.T) {
	c, authority := sealedConfig(t)
	s := servicetest.Start(t, c)
	client := reaching(s.Plain, authority, false)
	for _, surface := range []string{s.Platform, s.Agents, s.Admin} {
		plain := strings.Replace(surface, "https", "http", 1)
		if got := inquire(t, client, "GET", plain+"/a/b?c=d"); got.Status != 308 || got.Header.Get("Location") != surface+"/a/b?c=d" {
			t.Errorf("%s: %d to %s", surface, got.Status, got.Header.Get("Location"))
		}
		got := inquire(t, client, "POST", plain+"/api/auth/login")
		var refusal struct{ Error struct{ Type string } }
		if err := json.Unmarshal([]byte(got.Body), &refusal); err != nil || got.Status != 421 || refusal.Error.Type != "misdirected_request" {
			t.Errorf("%s: a secret is taken without TLS: %d %s", surface, got.Status, got.Body)
		}
	}
	if got := inquire(t, client, "GET", "http://elsewhere.example.org/"); got.Status != 421 {
		t.Errorf("another host: %d to %s", got.Status, got.Header.Get("Location"))
	}
}

func TestACertificateForOthersIsNotServed(t *testing.T) {
	c, authority := sealedConfig(t)
	c.TLSCert, c.TLSKey = authority.Write(t, t.TempDir(), time.Now().Add(time.Hour), "example.com")
	if err := servicetest.Try(t, c); err == nil || !strings.Contains(err.Error(), "tls.cert: it is not for agents.example.com") {
		t.Error(err)
	}
}
