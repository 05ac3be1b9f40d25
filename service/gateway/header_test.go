package gateway_test

import (
	"strings"
	"testing"

	"svc.dev/svc/service/gateway"
)

// TestAnswersAreSharedBelowTheBaseURLAndNowhereElse asks for every kind of answer, of the gateway and of the runtime.
func TestAnswersAreSharedBelowTheBaseURLAndNowhereElse(t *testing.T) {
	modes(t, func(t *testing.T, s *scene) {
		cookie, _ := s.session(t, "ada@example.com")
		const base, own, prompt = "/v1/ada/personal", "/api/workspaces/ada/personal", `{"kind":"user","body":"n=1"}`
		var made struct{ RunID string }
		s.do(t, call{on: gateway.Agents, method: "POST", path: base + "/workflows/quick?wait=result", cookie: cookie, header: s.page(gateway.Agents)}).wants(t, 200, "").read(t, &made)
		run := made.RunID
		for _, c := range []struct {
			method, path, body string
			status             int
		}{
			{"POST", base + "/agents/central/shared", prompt, 202},
			{"POST", base + "/agents/central/shared", "{", 400},
			{"POST", base + "/agents/central/shared/abort", "", 200},
			{"GET", base + "/agents/central/shared/submissions", "", 200},
			{"GET", base + "/agents/central/shared", "", 200},
			{"HEAD", base + "/agents/central/shared", "", 200},
			{"GET", base + "/agents/central/shared?view=updates&offset=-1", "", 200},
			{"GET", base + "/agents/central/nobody", "", 404},
			{"POST", base + "/workflows/quick", "", 202},
			{"POST", base + "/workflows/quick?wait=result", "", 200},
			{"GET", base + "/runs/" + run, "", 200},
			{"GET", base + "/runs/" + run + "?meta", "", 200},
			{"GET", base + "/runs", "", 200},
			{"POST", base + "/runs", "", 405},
			{"DELETE", base + "/runs", "", 405},
			{"DELETE", base + "/agents/central/shared", "", 405},
			{"GET", base + "/nothing", "", 404},
			{"GET", "/v1/eve/personal/runs", "", 404},
			{"GET", own + "/runs", "", 200},
			{"GET", own + "/runs/" + run, "", 200},
			{"GET", own + "/runs/" + run + "/events", "", 200},
			{"GET", own + "/runs/run_nothing", "", 404},
			{"GET", own + "/agents", "", 200},
			{"GET", own + "/workflows", "", 200},
			{"GET", own + "/agents/central/conversations", "", 200},
			{"POST", own + "/workflows/quick/run", "", 202},
			{"POST", own + "/runs/" + run + "/cancel", "", 202},
			{"GET", own + "/nothing", "", 404},
		} {
			asked := call{on: gateway.Agents, method: c.method, path: c.path, cookie: cookie}
			if c.body != "" {
				asked.body = c.body
			}
			got := s.do(t, asked)
			want := "same-site"
			if strings.HasPrefix(c.path, "/v1/") {
				want = "cross-origin"
			}
			if got.StatusCode != c.status || strings.Join(got.Header.Values("Cross-Origin-Resource-Policy"), "|") != want || got.Header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s %s: %d %v", c.method, c.path, got.StatusCode, got.Header)
			}
		}
		// Of a page OPTIONS asks whether another page may; of a program it is a method like others.
		key := s.key(t, cookie, "ada", "agents:read", "agents:write", "runs:read", "workflows:run")
		for _, path := range []string{"/runs", "/agents/central/shared"} {
			s.do(t, call{on: gateway.Agents, method: "OPTIONS", path: base + path, header: by(key)}).wants(t, 405, "method_not_allowed")
		}
	})
}
