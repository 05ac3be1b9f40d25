package gateway_test

import (
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"svc.dev/svc/fault"
	"svc.dev/svc/memory"
	"svc.dev/svc/service/gateway"
)

// TestABodyTakesMemoryAtEveryRoute finds the routes that read a body: those that do not take half a document. Without memory
// each of them refuses it shortly, and with some it is as before.
func TestABodyTakesMemoryAtEveryRoute(t *testing.T) {
	budget := memory.New(64 << 20)
	s := quick(t, plenty, func(c *gateway.Config) { c.Memory = budget })
	cookie, who := s.session(t, "ada@example.com")
	fill := strings.NewReplacer("{username}", who.Account.Username, "{business}", "personal", "{provider}", "github", "{secret}", "TOKEN", "{", "", "}", "")
	ask := func(l gateway.Line, on gateway.Surface) reply {
		return s.do(t, call{on: on, method: l.Method, path: fill.Replace(l.Path), body: "{", cookie: cookie, from: fresh()})
	}
	type reading struct {
		gateway.Line
		status int
	}
	var reads []reading
	elsewhere := regexp.MustCompile(`^/api/auth/logout$|/runs/|/workflows/|^/[^a]`) // no body, the runtime's, and pages
	for _, l := range gateway.Lines() {
		if l.Method == http.MethodGet || elsewhere.MatchString(l.Path) {
			continue
		}
		if r := ask(l, l.Surfaces[0]); strings.Contains(r.body, `"invalid_json"`) || r.StatusCode == http.StatusUnauthorized && strings.Contains(r.body, fault.InvalidSignature) {
			reads = append(reads, reading{l, r.StatusCode})
		}
	}
	if len(reads) < 15 {
		t.Errorf("only %d routes read a body", len(reads))
	}
	held, err := budget.Try("", memory.Work, budget.Limit())
	if err != nil {
		t.Fatal(err)
	}
	var asking sync.WaitGroup
	for _, l := range reads {
		asking.Go(func() {
			r := ask(l.Line, l.Surfaces[0]).wants(t, http.StatusServiceUnavailable, "runtime_unavailable")
			if r.Header.Get("Retry-After") == "" || !strings.Contains(r.body, `"busy"`) {
				t.Errorf("%s: %s, again after %q", l.Path, r.body, r.Header.Get("Retry-After"))
			}
		})
	}
	asking.Wait()
	held.Release()
	for _, l := range reads {
		if r := ask(l.Line, l.Surfaces[0]); r.StatusCode != l.status {
			t.Errorf("%s: %d before, %d after", l.Path, l.status, r.StatusCode)
		}
	}
	if all := budget.Stats(); all.Held != 0 {
		t.Errorf("held after the last answer: %+v", all)
	}
}

// TestAPartyHasItsShareOfMemory lets one network hold what strangers of one network may: others still sign in.
func TestAPartyHasItsShareOfMemory(t *testing.T) {
	budget := memory.New(64 << 20)
	s := quick(t, plenty, func(c *gateway.Config) { c.Memory = budget })
	held, err := budget.Try("network 192.0.2.7", memory.Strangers, budget.Share()/2)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Release()
	try := func(from string) reply {
		return s.do(t, call{method: "POST", path: loginPath, body: sized(200), from: from})
	}
	try("192.0.2.7").wants(t, http.StatusServiceUnavailable, "runtime_unavailable")
	try("192.0.2.8").wants(t, http.StatusUnauthorized, "invalid_credentials")
}
