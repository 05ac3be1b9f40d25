package gateway_test

import (
	"net/http"
	"slices"
	"testing"

	"svc.dev/svc/service/account"
	"svc.dev/svc/service/gateway"
)

// TestWhichPagesMayReadWhat asks every surface for everything, and for leave before it, from every origin. What Admin answers
// is for pages of Admin alone, whoever is signed in there.
func TestWhichPagesMayReadWhat(t *testing.T) {
	s := quick(t, func(c *gateway.Config) { c.Rate, c.Burst = 1_000_000, 1_000_000 })
	s.start(t, false)
	s.session(t, "ada@example.com")
	cookie, _ := s.hire(t, "root1", account.RoleAdmin)
	cookie = s.elevate(t, cookie)
	readers := map[gateway.Surface][]string{
		gateway.Platform: {platformURL, agentsURL, adminURL}, gateway.Agents: {platformURL, agentsURL, adminURL}, gateway.Admin: {adminURL},
	}
	lines := []gateway.Line{}
	for _, shape := range append(gateway.Shapes(), "channels/github/events") {
		for _, at := range []string{"/v1/ada/personal/", "/v1/admin/"} {
			lines = append(lines, gateway.Line{Method: "GET", Path: at + somewhere(shape), Surfaces: []gateway.Surface{gateway.Agents, gateway.Admin}})
		}
	}
	for _, l := range gateway.Lines() {
		if l.Method == "GET" && l.Path != gateway.ProbePath {
			lines = append(lines, l)
		}
	}
	shared := 0
	for _, l := range lines {
		for _, on := range l.Surfaces {
			for _, origin := range []string{platformURL, agentsURL, adminURL, "http://evil.example", "null", agentsURL + ".evil.example", "https://agents.svc.localhost:8080"} {
				for _, method := range []string{"GET", "OPTIONS"} {
					got := s.do(t, call{on: on, method: method, path: somewhere(l.Path), cookie: cookie, header: http.Header{"Origin": {origin}, "Access-Control-Request-Method": {"GET"}}})
					allowed := got.Header.Get("Access-Control-Allow-Origin")
					if allowed != "" && (allowed != origin || !slices.Contains(readers[on], origin)) {
						t.Errorf("%s: %s %s from %s may be read by %s", on, method, l.Path, origin, allowed)
					}
					if allowed == "" && (got.Header.Get("Access-Control-Allow-Credentials") != "" || got.Header.Get("Access-Control-Allow-Methods") != "") {
						t.Errorf("%s: %s %s from %s: %v", on, method, l.Path, origin, got.Header)
					}
					if allowed != "" {
						shared++
					}
				}
			}
		}
	}
	if shared < 20 {
		t.Errorf("only %d answers are shared", shared)
	}
}
