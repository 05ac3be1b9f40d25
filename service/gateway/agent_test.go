package gateway_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/agent"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/gateway"
)

// throughAgents goes through what there is of agents, as a customer and as the staff in their own workspace.
func (w *way) throughAgents(t *testing.T) {
	w.throughAgentsOf(t, gateway.Agents, "/api/workspaces/ada/personal")
	w.throughAgentsOf(t, gateway.Admin, "/api/workspaces/admin")
}

func (w *way) throughAgentsOf(t *testing.T, surface gateway.Surface, path string) {
	t.Helper()
	on := func(method, rest string, body any, pairs ...string) call {
		h := http.Header{}
		if method != "GET" {
			h = w.page(surface)
		}
		for i := 0; i < len(pairs); i += 2 {
			h.Set(pairs[i], pairs[i+1])
		}
		return call{on: surface, method: method, path: path + rest, body: body, header: h}
	}
	made := w.goes(t, 201, on("POST", "/agents", map[string]any{"name": "writer", "instructions": "Write.", "tools": []string{"ask_agent:central"}, "outputSchema": map[string]string{"type": "object"}}))
	if at := made.Header.Get("Location"); at != path+"/agents/writer" {
		t.Errorf("it was made at %q", at)
	}
	w.goes(t, 200, on("GET", "/agents", nil))
	w.goes(t, 200, on("GET", "/agents/writer", nil))
	w.goes(t, 200, on("PATCH", "/agents/writer", map[string]any{"model": "scripted/words", "reasoning": "low", "outputSchema": nil}, "If-Match", `"1"`))
	w.goes(t, 200, on("POST", "/agents/writer/disable", nil, "If-Match", `"2"`))
	w.goes(t, 200, on("POST", "/agents/writer/enable", nil))
	w.goes(t, 200, on("GET", "/agents/writer/versions", nil))
	w.goes(t, 200, on("GET", "/agents/writer/versions/1", nil))
	w.goes(t, 200, on("GET", "/agents/writer/versions/1/diff?with=2", nil))
	w.goes(t, 200, on("POST", "/agents/writer/versions/1/restore", nil))
	file := w.goes(t, 200, on("GET", "/agents/writer/export", nil)).body
	w.goes(t, 204, on("DELETE", "/agents/writer", nil, "If-Match", `"3"`))
	var again struct{ Version int64 }
	w.goes(t, 412, on("POST", "/agents/import", file, "Content-Type", "text/markdown", "If-Match", "*"))
	w.goes(t, 200, on("POST", "/agents/import", file, "Content-Type", "text/markdown", "If-None-Match", "*")).read(t, &again)
	if again.Version != 4 {
		t.Errorf("a name that is made again has version %d", again.Version)
	}
	w.goes(t, 412, on("POST", "/agents/import", file, "Content-Type", "text/markdown", "If-None-Match", "*"))
	w.goes(t, 412, on("POST", "/agents/import", file, "Content-Type", "text/markdown", "If-None-Match", `"3", "4"`))
	w.goes(t, 200, on("POST", "/agents/import", file, "Content-Type", "text/markdown", "If-Match", `"4"`))
	w.goes(t, 200, on("PATCH", "/agents/central", map[string]any{"instructions": "Be brief."}))
	w.goes(t, 200, on("POST", "/agents/central/versions/1/restore", nil))
}

// TestAnAgentIsWrittenPromptedAndTakenAway goes the way of somebody who writes an agent, in one process and in two.
func TestAnAgentIsWrittenPromptedAndTakenAway(t *testing.T) {
	modes(t, func(t *testing.T, s *scene) {
		cookie, _ := s.session(t, "ada@example.com")
		const at, base = "/api/workspaces/ada/personal/agents", "/v1/ada/personal/agents/writer/1"
		do := func(method, path string, body any) reply {
			return s.do(t, call{on: gateway.Agents, method: method, path: path, cookie: cookie, body: body})
		}
		prompt := func(status int, typ string) {
			t.Helper()
			eventually(t, "the runtime knows", func() bool {
				got := do("POST", base, `{"kind":"user","body":"n=2"}`)
				return got.StatusCode == status && strings.Contains(got.body, typ)
			})
		}
		do("POST", base, `{"kind":"user","body":"n=2"}`).wants(t, 404, "agent_not_found")
		do("POST", at, map[string]any{"name": "writer", "instructions": "Write."}).wants(t, 201, "")
		prompt(202, "submissionId")
		eventually(t, "it is answered by version 1", func() bool {
			got := do("GET", base, nil).wants(t, 200, "").body
			return strings.Contains(got, "word1") && strings.Count(got, `"agentVersion":"1"`) >= 2 && strings.Contains(got, `"outcome":"completed"`)
		})
		do("POST", at+"/writer/disable", nil).wants(t, 200, "")
		prompt(404, "agent_not_found")
		do("GET", base, nil).wants(t, 200, "")
		do("POST", base+"/abort", nil).wants(t, 200, "")
		do("POST", at+"/writer/enable", nil).wants(t, 200, "")
		prompt(202, "submissionId")
		do("DELETE", at+"/writer", nil).wants(t, 204, "")
		prompt(404, "agent_not_found")
		do("GET", base, nil).wants(t, 200, "")
		do("GET", at+"/writer", nil).wants(t, 404, "item_not_found")
		do("DELETE", at+"/central", nil).wants(t, 409, "read_only")
		do("POST", at, map[string]any{"name": "central"}).wants(t, 409, "name_taken")
		do("POST", at, map[string]any{"name": "A b", "model": "none/such", "tools": []string{"fly"}}).wants(t, 400, "invalid_request")
	}, trusting)
}

// filed is a scene whose runtime has read the files of a folder, by name; the gateway has none, as a process of its own.
func filed(t *testing.T, files map[string]string) (s *scene, stored *agent.Agents) {
	t.Helper()
	s = open(t, sqldbtest.SQLite(t), accounttest.Options{}, trusting)
	stored = s.agents
	folder := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name+".md"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all, err := agents(s.DB, s.Log, folder, s.mcps)
	if err == nil {
		err = all.Load(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	s.agents = all
	s.start(t, false)
	return s, stored
}

func TestANameOfAFileIsTaken(t *testing.T) {
	s, stored := filed(t, map[string]string{"writer": "Write."})
	cookie, _ := s.session(t, "ada@example.com")
	do := func(method, path string, body any) reply {
		return s.do(t, call{on: gateway.Agents, method: method, path: "/api/workspaces/ada/personal/agents" + path, cookie: cookie, body: body})
	}
	do("POST", "", map[string]any{"name": "writer"}).wants(t, 409, "name_taken")
	do("PATCH", "/writer", map[string]any{"description": "Mine."}).wants(t, 409, "read_only")
	do("POST", "/writer/disable", nil).wants(t, 409, "read_only")
	do("DELETE", "/writer", nil).wants(t, 409, "read_only")
	// One that was there before the file is shadowed by it, and can be removed.
	if _, err := stored.Create(t.Context(), audit.Actor{Kind: audit.Operator}, "users/ada/personal", agent.Draft{Name: "writer"}); err != nil {
		t.Fatal(err)
	}
	do("DELETE", "/writer", nil).wants(t, 204, "")
	do("DELETE", "/writer", nil).wants(t, 409, "read_only")
	if got := do("GET", "/writer", nil).wants(t, 200, ""); !strings.Contains(got.body, `"source":"file"`) {
		t.Errorf("it is %s", got.body)
	}
}

func TestAgentsAskNoCircleThroughAFile(t *testing.T) {
	s, _ := filed(t, map[string]string{"writer": "---\ntools: [\"ask_agent:reader\"]\n---\nWrite."})
	cookie, _ := s.session(t, "ada@example.com")
	do := func(method, path string, body any) reply {
		return s.do(t, call{on: gateway.Agents, method: method, path: "/api/workspaces/ada/personal/agents" + path, cookie: cookie, body: body})
	}
	asking := func(names ...string) []string {
		tools := []string{}
		for _, name := range names {
			tools = append(tools, "ask_agent:"+name)
		}
		return tools
	}
	do("POST", "", map[string]any{"name": "reader", "tools": asking("writer")}).wants(t, 400, "invalid_request")
	do("POST", "", map[string]any{"name": "reader", "tools": asking("helper")}).wants(t, 201, "")
	if got := do("POST", "", map[string]any{"name": "helper", "tools": asking("other", "writer")}).wants(t, 400, "invalid_request"); !strings.Contains(got.body, "helper, writer, reader, helper") {
		t.Errorf("it was refused by %s", got.body)
	}
	do("PATCH", "/reader", map[string]any{"tools": asking()}).wants(t, 200, "")
	do("POST", "", map[string]any{"name": "helper", "tools": asking("writer")}).wants(t, 201, "")
	do("PATCH", "/reader", map[string]any{"tools": asking("helper")}).wants(t, 400, "invalid_request")
	do("POST", "/reader/versions/1/restore", nil).wants(t, 400, "invalid_request")
}
