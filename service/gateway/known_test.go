package gateway_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"svc.dev/svc/internal/notepad"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/gateway"
)

// journal keeps the lines of a log.
type journal struct{ notepad.Pad }

// line is what was said of a request.
func (j *journal) line(t *testing.T, id string) map[string]any {
	t.Helper()
	for text := range strings.Lines(j.String()) {
		var line map[string]any
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if line["msg"] == "request" && line["request_id"] == id {
			return line
		}
	}
	return nil
}

// TestALineOfTheLogSaysWhoAskedForWhoseWork asks in every way that somebody can be known by, and by none.
func TestALineOfTheLogSaysWhoAskedForWhoseWork(t *testing.T) {
	var j journal
	s := withRuntime(t, sqldbtest.SQLite(t), false, func(c *gateway.Config) {
		c.Log = slog.New(slog.NewJSONHandler(&j, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	ada, _ := s.session(t, "ada@example.com")
	root, _ := s.hire(t, "root1", account.RoleAdmin)
	up := s.elevate(t, root)
	key := s.key(t, ada, "ada", "agents:read", "runs:read")
	for name, c := range map[string]struct {
		call call
		want string // scope, account, actor, stream and run
	}{
		"nobody":                      {call{on: gateway.Agents, path: "/api/auth/session"}, "||||"},
		"nobody in a workspace":       {call{on: gateway.Agents, path: "/v1/ada/personal/runs"}, "users/ada/personal|ada|||"},
		"nobody nowhere":              {call{on: gateway.Agents, path: "/v1/Ada/x/runs"}, "||||"},
		"a person":                    {call{on: gateway.Agents, path: "/api/auth/session", cookie: ada}, "|ada|ada||"},
		"a person in a workspace":     {call{on: gateway.Agents, path: "/api/workspaces/ada/personal/people", cookie: ada}, "users/ada/personal|ada|ada||"},
		"a person who is none there":  {call{on: gateway.Agents, path: "/api/workspaces/eve/personal/people", cookie: ada}, "users/eve/personal|eve|ada||"},
		"a person with a run":         {call{on: gateway.Agents, path: "/api/workspaces/ada/personal/runs/run_1", cookie: ada}, "users/ada/personal|ada|ada||run_1"},
		"a person with a project":     {call{on: gateway.Agents, path: "/api/workspaces/ada/personal/projects", cookie: ada}, "users/ada/personal|ada|ada||"},
		"a key":                       {call{on: gateway.Agents, path: "/v1/ada/personal/agents/central/x", header: by(key)}, "users/ada/personal|ada|ada|agents/central/x|"},
		"a key with a run":            {call{on: gateway.Agents, path: "/v1/ada/personal/runs/run_2", header: by(key)}, "users/ada/personal|ada|ada||run_2"},
		"a wrong key":                 {call{on: gateway.Agents, path: "/v1/ada/personal/runs", header: by("svck_x")}, "users/ada/personal|ada|||"},
		"staff at a customer's":       {call{on: gateway.Admin, path: "/v1/ada/personal/agents/central/x", cookie: up}, "users/ada/personal|ada|root1|agents/central/x|"},
		"staff at home":               {call{on: gateway.Admin, path: "/api/workspaces/admin/runs", cookie: up}, "admin|root1|root1||"},
		"staff over the service":      {call{on: gateway.Admin, path: "/api/admin/people", cookie: up}, "|root1|root1||"},
		"a webhook":                   {call{on: gateway.Agents, method: "POST", path: "/v1/ada/personal/channels/github/events", header: http.Header{}}, "users/ada/personal|ada|channel:github||"},
		"a webhook that nobody wants": {call{on: gateway.Agents, method: "POST", path: "/v1/nobody/personal/channels/x/y", header: http.Header{}}, "users/nobody/personal|nobody|||"},
	} {
		got := j.line(t, s.do(t, c.call).Header.Get("X-Request-Id"))
		var said []string
		for _, field := range []string{"scope", "account", "actor", "stream", "run_id"} {
			text, _ := got[field].(string)
			said = append(said, text)
		}
		if strings.Join(said, "|") != c.want || got["status"] == nil || got["duration_ms"] == nil {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
	for _, secret := range []string{key, strings.TrimPrefix(ada, "svc_session="), password} {
		if strings.Contains(j.String(), secret) {
			t.Error("a secret stands in the log")
		}
	}
}

// TestALineOfAFailureSaysSoToo breaks the runtime.
func TestALineOfAFailureSaysSoToo(t *testing.T) {
	var j journal
	s := quick(t, func(c *gateway.Config) {
		c.Log = slog.New(slog.NewJSONHandler(&j, nil))
		c.Runtime = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(errors.New("broken")) })
	})
	ada, _ := s.session(t, "ada@example.com")
	s.do(t, call{on: gateway.Agents, path: "/v1/ada/personal/agents/central/x", cookie: ada}).wants(t, 500, "internal_error")
	if text := j.String(); !strings.Contains(text, `"msg":"request panicked"`) || !strings.Contains(text, `"scope":"users/ada/personal","account":"ada","actor":"ada","stream":"agents/central/x"`) {
		t.Error(text)
	}
}
