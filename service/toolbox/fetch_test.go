package toolbox_test

import (
	"compress/gzip"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/outward"
	"svc.dev/svc/service/toolbox"
)

// web is a box, and a server that it may reach, with what it was asked.
func web(t *testing.T, serve http.HandlerFunc) (b *bench, g toolbox.Grant, at string) {
	t.Helper()
	server := httptest.NewServer(serve)
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	b = open(t, nil, outward.Config{Allow: []string{host}})
	return b, toolbox.Grant{Agent: "a", Tools: all, Hosts: []string{host}}, server.URL
}

func TestPagesAreFetchedAsText(t *testing.T) {
	pages := map[string]struct{ kind, body string }{
		"/json": {"application/json", `{"a":1}`}, "/plain": {"text/plain; charset=utf-8", "Grüße"}, "/latin": {"text/plain; charset=ISO-8859-1", "Gr\xfc\xdfe"},
		"/html": {"text/html", `<!doctype html><html><head><title>Shop</title><style>p{}</style><script>alert(1)</script></head>
			<body><h1>Chairs</h1><p>Twelve <b>red</b> chairs,<br>one <a href="https://example.com/table">table</a>.<ul><li>soft<li>hard</ul><script>if (1<2) {}</script></body></html>`},
		"/image": {"image/png", "\x89PNG\x00"}, "/lie": {"text/plain", "\x00\x01\x02"}, "/svg": {"image/svg+xml", "<svg/>"}, "/nothing": {"", "just words"},
		"/long": {"text/plain", strings.Repeat("0123456789abcdef", 4<<10)},
	}
	b, g, at := web(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method != http.MethodGet && r.Method != http.MethodHead, r.Header.Get("Authorization")+r.Header.Get("Cookie") != "":
			t.Errorf("asked: %s %v", r.Method, r.Header)
		case r.URL.Path == "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			w.Header().Set("Content-Type", "text/plain")
			z := gzip.NewWriter(w)
			for range 100 {
				_, _ = z.Write([]byte(strings.Repeat("x", 1<<20)))
			}
			_ = z.Close()
		case r.URL.Path == "/cookie":
			http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
			http.Redirect(w, r, "/json", http.StatusFound)
		case r.URL.Path == "/once", r.URL.Path == "/missing":
			w.Header().Set("Content-Type", "text/plain")
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte("no such page"))
		default:
			page := pages[r.URL.Path]
			w.Header()["Content-Type"] = []string{page.kind}
			_, _ = w.Write([]byte(page.body))
		}
	})
	for _, c := range []struct{ path, want string }{
		{"/json", "200 OK application/json\n%s/json\n\n{\"a\":1}\n"},
		{"/plain", "200 OK text/plain\n%s/plain\n\nGrüße\n"},
		{"/latin", "200 OK text/plain\n%s/latin\n\nGrüße\n"},
		{"/missing", "404 Not Found text/plain\n%s/missing\n\nno such page\n"},
		{"/nothing", "200 OK \n%s/nothing\n\njust words\n"},
		{"/cookie", "200 OK application/json\n%s/json\n\n{\"a\":1}\n"},
		{"/html", "200 OK text/html\n%s/html\n\nShop\n# Chairs\nTwelve red chairs,\none table (https://example.com/table) .\n- soft\n- hard\n"},
	} {
		got, err := b.use(g, "http_fetch", object{"url": at + c.path})
		if want := fmt.Sprintf(c.want, at); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", c.path, got, err, want)
		}
	}
	for _, path := range []string{"/image", "/lie", "/svg"} {
		b.refuses(g, "http_fetch", object{"url": at + path}, fault.InvalidRequest, "no text")
	}
	got, err := b.use(g, "http_fetch", object{"url": at + "/image", "method": "head"})
	if err != nil || got != "200 OK image/png\n"+at+"/image\n" {
		t.Errorf("head: %q, %v", got, err)
	}
	got, err = b.use(g, "http_fetch", object{"url": at + "/bomb"})
	if err != nil || len(got) > 34<<10 || !strings.Contains(got, "go on with from=") {
		t.Errorf("a page of 100 MB: %d bytes, %v", len(got), err)
	}
	got, err = b.use(g, "http_fetch", object{"url": at + "/bomb", "from": 2<<20 - 10})
	if err != nil || !strings.HasSuffix(got, "xxxxxxxxxx\n[the page is longer than what is read of it]\n") {
		t.Errorf("its end: …%q, %v", got[max(0, len(got)-80):], err)
	}
	got, err = b.use(g, "http_fetch", object{"url": at + "/long", "from": 64<<10 - 16})
	if err != nil || !strings.HasSuffix(got, "\n\n0123456789abcdef\n") {
		t.Errorf("from a place on: %q, %v", got, err)
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "GET\r\nX: y"} {
		b.refuses(g, "http_fetch", object{"url": at, "method": method}, fault.InvalidRequest, "GET or HEAD")
	}
}

// TestNoAddressBesideThoseGivenIsFetched goes to each with a server that would answer: whatever is written, nothing of this
// machine or its neighbours is reached, and no host that the agent was not given.
func TestNoAddressBesideThoseGivenIsFetched(t *testing.T) {
	var reached atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer server.Close()
	here, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	p := here.Port()
	b := open(t, nil, outward.Config{})
	for _, c := range []struct{ host, address string }{
		{"example.com", "http://other.com/"}, {"example.com", "http://sub.example.com/"}, {"example.com", "http://example.com.evil.com/"},
		{"*.example.com", "http://example.com/"}, {"*.example.com", "http://evilexample.com/"}, {"*.example.com", "http://a.example.com.evil.com/"},
		{"example.com", "http://example.com:8080/"}, {"example.com", "https://example.com:80/"}, {"example.com", "http://example.com:443/"}, {"example.com", "http://example.com:22/"},
		{"example.com", "http://user@example.com/"}, {"example.com", "http://user:pass@example.com/"}, {"example.com", "http://example.com@127.0.0.1:" + p + "/"},
		{"example.com", "http://127.0.0.1:" + p + "#@example.com/"}, {"example.com", "http://127.0.0.1:" + p + "?example.com"}, {"example.com", "http://example.com\\@127.0.0.1:" + p + "/"},
		{"example.com", "http://example.com./"}, {"example.com", "http://example.com../"}, {"example.com", "http://.example.com/"}, {"example.com", "http:///example.com"},
		{"example.com", "ftp://example.com/"}, {"example.com", "file:///etc/passwd"}, {"example.com", "gopher://example.com/"}, {"example.com", "//example.com/"}, {"example.com", "example.com"},
		{"example.com", "http:example.com"}, {"example.com", "javascript:alert(1)"}, {"example.com", ""}, {"example.com", "http://"}, {"example.com", "http://[::1"},
		{"example.com", " http://example.com/"}, {"example.com", "http://exam\tple.com/"}, {"example.com", "http://example.com/\r\nHost: x"}, {"example.com", "http://ⓔxample.com/"}, {"example.com", "http://examp\u212ae.com/"},
		{"", "http://127.0.0.1:" + p + "/"}, {"*", "http://127.0.0.1:" + p + "/"}, {"*.0.0.1", "http://127.0.0.1:" + p + "/"}, {"*.", "http://127.0.0.1./"},
		// Those that somebody was given all the same.
		{"localhost:" + p, "http://localhost:" + p + "/"}, {"127.0.0.1:" + p, "http://127.0.0.1:" + p + "/"}, {"[::1]:" + p, "http://[::1]:" + p + "/"},
		{"2130706433:" + p, "http://2130706433:" + p + "/"}, {"0x7f000001:" + p, "http://0x7f000001:" + p + "/"}, {"0x7f.0.0.1:" + p, "http://0x7f.0.0.1:" + p + "/"}, {"127.1:" + p, "http://127.1:" + p + "/"},
		{"0177.0.0.1:" + p, "http://0177.0.0.1:" + p + "/"}, {"017700000001:" + p, "http://017700000001:" + p + "/"}, {"0:" + p, "http://0:" + p + "/"}, {"0.0.0.0:" + p, "http://0.0.0.0:" + p + "/"},
		{"[::]:" + p, "http://[::]:" + p + "/"}, {"[::ffff:127.0.0.1]:" + p, "http://[::ffff:127.0.0.1]:" + p + "/"}, {"[::ffff:7f00:1]:" + p, "http://[::ffff:7f00:1]:" + p + "/"},
		{"[64:ff9b::7f00:1]:" + p, "http://[64:ff9b::7f00:1]:" + p + "/"}, {"[64:ff9b:1::7f00:1]:" + p, "http://[64:ff9b:1::7f00:1]:" + p + "/"}, {"[2002:7f00:1::]:" + p, "http://[2002:7f00:1::]:" + p + "/"},
		{"[::127.0.0.1]:" + p, "http://[::127.0.0.1]:" + p + "/"}, {"[fe80::1%25lo]:" + p, "http://[fe80::1%25lo]:" + p + "/"}, {"[::1%25lo]:" + p, "http://[::1%25lo]:" + p + "/"}, {"[fc00::1]", "http://[fc00::1]/"},
		{"169.254.169.254", "http://169.254.169.254/latest/meta-data/"}, {"[fd00:ec2::254]", "http://[fd00:ec2::254]/"}, {"100.100.100.200", "http://100.100.100.200/"}, {"168.63.129.16", "http://168.63.129.16/"},
		{"192.0.0.192", "http://192.0.0.192/"}, {"10.0.0.1", "http://10.0.0.1/"}, {"172.16.0.1", "http://172.16.0.1/"}, {"192.168.1.1", "http://192.168.1.1/"}, {"100.64.0.1", "http://100.64.0.1/"},
		{"224.0.0.1", "http://224.0.0.1/"}, {"255.255.255.255", "http://255.255.255.255/"}, {"198.18.0.1", "http://198.18.0.1/"}, {"127.0.0.1.", "http://127.0.0.1./"},
	} {
		got, err := b.use(toolbox.Grant{Tools: all, Hosts: []string{c.host}}, "http_fetch", object{"url": c.address})
		f := fault.From(err)
		if err == nil || f.Type != fault.Forbidden && f.Type != fault.InvalidRequest && (f.Type != fault.BadGateway || f.Details != "no such host") {
			t.Errorf("%s with %q: %q, %v", c.address, c.host, got, err)
		}
	}
	if reached.Load() > 0 {
		t.Errorf("this machine was reached %d times", reached.Load())
	}
}

// TestEachRedirectIsJudged leads on to what may not be fetched.
func TestEachRedirectIsJudged(t *testing.T) {
	var reached atomic.Int32
	inner := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer inner.Close()
	var to atomic.Pointer[string]
	b, g, at := web(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/end" {
			w.Header().Set("Content-Type", "text/plain")
			_, _ = w.Write([]byte("here"))
			return
		}
		w.Header().Set("Location", *to.Load())
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	g.Hosts = append(g.Hosts, strings.TrimPrefix(inner.URL, "http://"), "169.254.169.254", "example.com") // the guard lets none of them through
	for _, c := range []struct{ to, typ string }{
		{inner.URL, fault.Forbidden}, {"http://169.254.169.254/", fault.Forbidden}, {"http://other.com/", fault.Forbidden}, {"file:///etc/passwd", fault.Forbidden},
		{"http://u:p@example.com/", fault.Forbidden}, {"//other.com/", fault.Forbidden}, {"http://[::1", fault.BadGateway}, {"/again", fault.InvalidRequest}, {"http://localhost/", fault.Forbidden},
	} {
		to.Store(&c.to)
		b.refuses(g, "http_fetch", object{"url": at + "/"}, c.typ, "")
	}
	end := "/end"
	to.Store(&end)
	got, err := b.use(g, "http_fetch", object{"url": at + "/"})
	if err != nil || !strings.HasSuffix(got, "/end\n\nhere\n") {
		t.Errorf("led on: %q, %v", got, err)
	}
	if reached.Load() > 0 {
		t.Error("what may not be reached was")
	}
}

// TestANameThatChangesItsMindLeadsNowhere is asked for the addresses of a name that is public at first, and of this machine later.
func TestANameThatChangesItsMindLeadsNowhere(t *testing.T) {
	var reached atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int32
	resolver := fakeResolver(t, func() [4]byte {
		if asked.Add(1)%2 == 1 {
			return [4]byte{192, 0, 2, 1} // nobody's, and refused as such
		}
		return [4]byte{127, 0, 0, 1}
	})
	b := open(t, nil, outward.Config{Resolver: resolver})
	g := toolbox.Grant{Tools: all, Hosts: []string{"rebind.example.com:" + port}}
	for range 4 {
		b.refuses(g, "http_fetch", object{"url": "http://rebind.example.com:" + port + "/"}, fault.BadGateway, "could not be reached")
	}
	if reached.Load() > 0 || asked.Load() < 4 {
		t.Errorf("reached %d times, %d questions", reached.Load(), asked.Load())
	}
}

// fakeResolver answers every question for an IPv4 address with what it is told.
func fakeResolver(t *testing.T, address func() [4]byte) *net.Resolver {
	t.Helper()
	l, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		buffer := make([]byte, 1500)
		for {
			n, from, err := l.ReadFrom(buffer)
			if err != nil {
				return
			}
			if reply, err := answerName(buffer[:n], address); err == nil {
				_, _ = l.WriteTo(reply, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", l.LocalAddr().String())
	}}
}

func answerName(question []byte, address func() [4]byte) ([]byte, error) {
	var m dnsmessage.Message
	if err := m.Unpack(question); err != nil {
		return nil, err
	}
	m.Response, m.Additionals = true, nil
	for _, q := range m.Questions {
		if q.Type == dnsmessage.TypeA {
			m.Answers = append(m.Answers, dnsmessage.Resource{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class}, Body: &dnsmessage.AResource{A: address()},
			})
		}
	}
	return m.Pack()
}
