package gateway_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/service/gateway"
)

// probed is the first part of a probe's answer.
func probed(t *testing.T, r reply) (p gateway.Probe) {
	t.Helper()
	_, data, _ := strings.Cut(r.body, "event: probe\ndata: ")
	data, rest, _ := strings.Cut(data, "\n\n")
	if err := json.Unmarshal([]byte(data), &p); err != nil || rest != "event: end\ndata: {}\n\n" {
		t.Fatalf("%d %q: %v", r.StatusCode, r.body, err)
	}
	return p
}

func TestAProbeNamesTheSurfaceThatWasReached(t *testing.T) {
	s := quick(t, func(c *gateway.Config) { c.Node = "n1" })
	for _, on := range surfaces {
		got := s.do(t, call{on: on, path: gateway.ProbePath}).wants(t, 200, "")
		if p := probed(t, got); p != (gateway.Probe{Service: "svc", Surface: on, Node: "n1", Forwarded: gateway.ForwardedNone}) {
			t.Errorf("%s: %+v", on, p)
		}
		if got.Header.Get("Content-Type") != "text/event-stream" || got.Header.Get("X-Accel-Buffering") != "no" {
			t.Errorf("%v", got.Header)
		}
	}
}

func TestAProbeTellsWhatBecameOfTheClientsAddress(t *testing.T) {
	everybody := func(c *gateway.Config) { c.Trusted = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} }
	for name, c := range map[string]struct {
		edit func(*gateway.Config)
		said string
		want string
	}{
		"nobody says anything":           {nil, "", gateway.ForwardedNone},
		"a proxy that is not trusted":    {nil, "198.51.100.7", gateway.ForwardedIgnored},
		"a claim that is not trusted":    {nil, gateway.NobodysAddress, gateway.ForwardedIgnored},
		"a trusted proxy":                {everybody, "198.51.100.7", gateway.ForwardedCounted},
		"a trusted proxy says nothing":   {everybody, "", gateway.ForwardedMissing},
		"a claim, and a proxy behind it": {everybody, gateway.NobodysAddress + ", 198.51.100.7", gateway.ForwardedCounted},
		"a claim that was passed on":     {everybody, gateway.NobodysAddress, gateway.ForwardedClaimed},
	} {
		t.Run(name, func(t *testing.T) {
			var edits []func(*gateway.Config)
			if c.edit != nil {
				edits = append(edits, c.edit)
			}
			header := http.Header{}
			if c.said != "" {
				header.Set("X-Forwarded-For", c.said)
			}
			got := quick(t, edits...).do(t, call{on: gateway.Agents, path: gateway.ProbePath, header: header}).wants(t, 200, "")
			if p := probed(t, got); p.Forwarded != c.want {
				t.Errorf("%+v, want %s", p, c.want)
			}
		})
	}
}

// What lies between the parts is what tells a proxy that holds answers back.
func TestTheFirstPartOfAProbeDoesNotWaitForTheSecond(t *testing.T) {
	const pause = 300 * time.Millisecond
	s := quick(t, func(c *gateway.Config) { c.ProbePause = pause })
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.server.URL+gateway.ProbePath, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = s.hosts[gateway.Agents]
	ask := func() (first, whole time.Duration) {
		began := time.Now()
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
			if first == 0 {
				first = time.Since(began)
			}
		}
		return first, time.Since(began)
	}
	// A busy machine may read the first part late.
	for range 5 {
		first, whole := ask()
		if whole >= pause && whole-first >= pause/2 {
			return
		}
		t.Logf("the first part came after %s, the whole after %s", first, whole)
	}
	t.Error("the first part waits for the second")
}

func TestProbesAreFew(t *testing.T) {
	s := quick(t)
	for range 30 {
		s.do(t, call{on: gateway.Agents, path: gateway.ProbePath}).wants(t, 200, "")
	}
	var got reply
	for range 10 { // some are regained meanwhile
		if got = s.do(t, call{on: gateway.Agents, path: gateway.ProbePath}); got.StatusCode == 429 {
			break
		}
	}
	if got.wants(t, 429, "rate_limited"); got.Header.Get("Retry-After") == "" {
		t.Errorf("%v", got.Header)
	}
}

func TestAProbeWithoutABodyDoesNotWait(t *testing.T) {
	s := quick(t, func(c *gateway.Config) { c.ProbePause = time.Hour })
	if got := s.do(t, call{on: gateway.Agents, method: "HEAD", path: gateway.ProbePath}); got.StatusCode != 200 || got.body != "" {
		t.Errorf("%d %q", got.StatusCode, got.body)
	}
}
