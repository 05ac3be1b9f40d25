package outward

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"
)

func mustNew(t *testing.T, c Config) *Guard {
	t.Helper()
	g, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestPrivateAddressesAreRefusedInEverySpelling goes to each as a client does: what a spelling means is the resolver's business,
// and none may lead to a server that listens on every address of this machine.
func TestPrivateAddressesAreRefusedInEverySpelling(t *testing.T) {
	reached := false
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	server.Listener.Close()
	server.Listener = l
	server.Start()
	defer server.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	client := mustNew(t, Config{}).Client()
	for _, host := range []string{
		"127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1", "017700000001", "127.0.0.1.",
		"localhost", "LOCALHOST", "localhost.", "0", "0.0.0.0", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
		"[0:0:0:0:0:ffff:7f00:0001]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[::1%25lo]", "①②⑦.⓪.⓪.①",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+host+":"+port+"/", nil)
		if err == nil {
			var answer *http.Response
			if answer, err = client.Do(req); err == nil {
				answer.Body.Close()
			}
		}
		cancel()
		if err == nil || reached {
			t.Errorf("%s was reached", host)
		}
	}
}

func TestWhichAddressesArePublic(t *testing.T) {
	for _, text := range []string{
		"10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "127.0.0.1", "127.255.255.254", "169.254.169.254", "100.100.100.200",
		"192.0.0.192", "168.63.129.16", "0.0.0.0", "224.0.0.1", "255.255.255.255", "198.18.0.1", "240.0.0.1",
		"::1", "::", "fe80::1", "fd00:ec2::254", "fc00::1", "fec0::1", "ff02::1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:a9fe:a9fe::",
		"2001:db8::1", "2001::1", "3fff::1", "100::1", "::a9fe:a9fe",
	} {
		if public(netip.MustParseAddr(text)) {
			t.Errorf("%s is taken for public", text)
		}
	}
	for _, text := range []string{"1.1.1.1", "8.8.8.8", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2001:4860:4860::8888", "2a00:1450::1"} {
		if !public(netip.MustParseAddr(text)) {
			t.Errorf("%s is not taken for public", text)
		}
	}
}

func TestCheckNamesWhatIsWrong(t *testing.T) {
	g := mustNew(t, Config{Allow: []string{"127.0.0.1:11434", "10.1.0.0/16", "Model.Internal:80"}})
	for text, allowed := range map[string]bool{
		"https://api.example.com": true, "http://127.0.0.1:11434/v1": true, "http://10.1.2.3": true, "http://model.internal": true,
		"http://127.0.0.1:11435/v1": false, "http://10.2.0.1": false, "ftp://example.com": false, "https://user@example.com": false,
		"https://": false, "mailto:somebody@example.com": false, "http://[::ffff:10.2.0.1]": false, "file:///etc/passwd": false,
	} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Check(u); (err == nil) != allowed || err != nil && !errors.Is(err, ErrForbidden) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{"", "localhost", ":80", "10.0.0.0/33", "host:"} {
		if _, err := New(Config{Allow: []string{text}}); err == nil {
			t.Errorf("%q may be allowed", text)
		}
	}
}

func TestAllowedPlaceIsReached(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	defer server.Close()
	for _, allow := range []string{strings.TrimPrefix(server.URL, "http://"), "127.0.0.0/8"} {
		answer, err := mustNew(t, Config{Allow: []string{allow}}).Client().Get(server.URL)
		if err != nil || answer.StatusCode != http.StatusTeapot {
			t.Errorf("with %s: %v", allow, err)
			continue
		}
		answer.Body.Close()
	}
}

// TestRedirectsAreJudged sends a client on from a place that is allowed.
func TestRedirectsAreJudged(t *testing.T) {
	inner := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the inner server was reached") }))
	defer inner.Close()
	var to string
	outer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) }))
	defer outer.Close()
	place := strings.TrimPrefix(outer.URL, "http://")
	for _, to = range []string{inner.URL, "http://169.254.169.254/latest/meta-data/", "http://[::1]:80/", "file:///etc/passwd", "http://user@" + place, outer.URL} {
		answer, err := mustNew(t, Config{Allow: []string{place}, Redirects: 3}).Client().Get(outer.URL)
		if err == nil {
			answer.Body.Close()
			t.Errorf("a redirect to %s was followed", to)
		}
	}
	to = inner.URL
	answer, err := mustNew(t, Config{Allow: []string{place}}).Client().Get(outer.URL)
	if err != nil || answer.StatusCode != http.StatusFound {
		t.Errorf("without redirects: %v", err)
	}
	if err == nil {
		answer.Body.Close()
	}
}

// TestNameThatChangesItsMindIsJudgedEachTime has a name mean a public address when it is asked for first, and this machine
// when it is dialled: the address that is dialled is the one that is judged.
func TestNameThatChangesItsMindIsJudgedEachTime(t *testing.T) {
	g := mustNew(t, Config{})
	if err := g.control(t.Context(), "tcp4", "1.1.1.1:80", nil); err != nil {
		t.Errorf("a public address: %v", err)
	}
	for _, address := range []string{"127.0.0.1:80", "[::1]:80", "[fe80::1%eth0]:80", "169.254.169.254:80", "nonsense"} {
		if err := g.control(t.Context(), "tcp", address, nil); !errors.Is(err, ErrForbidden) {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// TestTheMachinesOwnAddressesAreRefused has it own public ones, which change, and which the operator may allow.
func TestTheMachinesOwnAddressesAreRefused(t *testing.T) {
	all, failed := []net.Addr{&net.IPNet{IP: net.ParseIP("1.1.1.1")}, &net.IPNet{IP: net.ParseIP("2606:4700::1111")}}, error(nil)
	own := func() ([]net.Addr, error) { return all, failed }
	g := mustNew(t, Config{Own: own})
	allowing := mustNew(t, Config{Own: own, Allow: []string{"1.1.1.1/32"}})
	check := func(g *Guard, host string, allowed bool) {
		t.Helper()
		u := &url.URL{Scheme: "https", Host: host}
		if err := g.Check(u); (err == nil) != allowed || err != nil && !errors.Is(err, ErrForbidden) {
			t.Errorf("%s: %v", host, err)
		}
		if err := g.control(t.Context(), "tcp", net.JoinHostPort(u.Hostname(), "443"), nil); (err == nil) != allowed {
			t.Errorf("%s is dialled: %v", host, err)
		}
	}
	check(g, "1.1.1.1", false)
	check(g, "[::ffff:1.1.1.1]", false)
	check(g, "[2606:4700::1111]", false)
	check(g, "8.8.8.8", true)
	check(allowing, "1.1.1.1", true)
	check(allowing, "[2606:4700::1111]", false)

	all = []net.Addr{&net.IPNet{IP: net.ParseIP("8.8.8.8")}}
	g.own.at = time.Now().Add(-fresh)
	check(g, "1.1.1.1", true)
	check(g, "8.8.8.8", false)
	failed = errors.New("no answer")
	g.own.at = time.Now().Add(-fresh)
	check(g, "8.8.8.8", false) // as it was known last
	check(mustNew(t, Config{Own: own}), "9.9.9.9", false)
}

// TestANameOfAPrivateNetworkIsNoName goes to a name that means this machine: it is answered as one that nobody has.
func TestANameOfAPrivateNetworkIsNoName(t *testing.T) {
	client := mustNew(t, Config{}).Client()
	_, err := client.Get("http://localhost:1/")
	if found, ok := errors.AsType[*net.DNSError](err); !ok || found.Name != "localhost" || !found.IsNotFound || errors.Is(err, ErrForbidden) {
		t.Errorf("a name: %v", err)
	}
	if _, err := client.Get("http://127.0.0.1:1/"); !errors.Is(err, ErrForbidden) {
		t.Errorf("an address that is written out: %v", err)
	}
}

func TestAllowsOnlyWhatTheOperatorNamed(t *testing.T) {
	g := mustNew(t, Config{Allow: []string{"127.0.0.1:11434", "10.1.0.0/16", "Model.Internal:80"}})
	for text, allowed := range map[string]bool{
		"http://127.0.0.1:11434/v1": true, "http://10.1.2.3": true, "http://[::ffff:10.1.2.3]": true, "http://model.internal": true,
		"http://127.0.0.1:80": false, "http://10.2.0.1": false, "http://1.1.1.1": false, "http://example.com": false, "http://model.internal:81": false,
	} {
		u, err := url.Parse(text)
		if err != nil || g.Allows(u) != allowed {
			t.Errorf("%s is allowed: %v, %v", text, !allowed, err)
		}
	}
}
