package service_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

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
		got := streamed(t, client, s.Platform)
		for try := 0; got < 100*time.Millisecond && try < 3; try++ { // a busy machine may read the first part late
			got = streamed(t, client, s.Platform)
		}
		if got < 100*time.Millisecond {
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

// TestHTTP2CarriesNoFieldsOfAConnection sends fields that no HTTP/2 has, frame by frame, as no client of ours would.
func TestHTTP2CarriesNoFieldsOfAConnection(t *testing.T) {
	c, authority := sealedConfig(t)
	s := servicetest.Start(t, c)
	for field, want := range map[hpack.HeaderField]string{
		{Name: "x-a", Value: "b"}:                       "200",
		{Name: "te", Value: "trailers"}:                 "200",
		{Name: "connection", Value: "close"}:            "400",
		{Name: "keep-alive", Value: "timeout=5"}:        "400",
		{Name: "proxy-connection", Value: "keep-alive"}: "400",
		{Name: "transfer-encoding", Value: "chunked"}:   "400",
		{Name: "upgrade", Value: "websocket"}:           "400",
		{Name: "te", Value: "gzip"}:                     "400",
		{Name: "x-a", Value: "b\r\nx-c: d"}:             "reset",
		{Name: "x-a", Value: "b\nx-c: d"}:               "reset",
		{Name: "x-a\r\nx-c", Value: "d"}:                "reset",
		{Name: "X-Upper", Value: "b"}:                   "reset",
	} {
		if got := frames(t, s.Address, authority, field); got != want {
			t.Errorf("%q: %q is answered %s, and not %s", field.Name, field.Value, got, want)
		}
	}
}

// frames asks for the session with one more field, and gives the status, or that the stream was reset.
func frames(t *testing.T, address string, authority *certificatetest.Authority, field hpack.HeaderField) string {
	t.Helper()
	_, at, _ := strings.Cut(address, "://")
	conn, err := tls.Dial("tcp", at, &tls.Config{RootCAs: authority.Pool, ServerName: "example.com", NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var head bytes.Buffer
	fields := hpack.NewEncoder(&head)
	for _, f := range []hpack.HeaderField{{Name: ":method", Value: "GET"}, {Name: ":scheme", Value: "https"}, {Name: ":authority", Value: "example.com"}, {Name: ":path", Value: "/api/auth/session"}, field} {
		if err := fields.WriteField(f); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := conn.Write([]byte(http2.ClientPreface)); err != nil {
		t.Fatal(err)
	}
	f := http2.NewFramer(conn, conn)
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	if err := f.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	if err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: head.Bytes(), EndStream: true, EndHeaders: true}); err != nil {
		t.Fatal(err)
	}
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return err.Error()
		}
		switch frame := frame.(type) {
		case *http2.MetaHeadersFrame:
			return frame.PseudoValue("status")
		case *http2.RSTStreamFrame:
			return "reset"
		}
	}
}
