package service_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/config"
	"svc.dev/svc/service/models"
	"svc.dev/svc/service/secret"
	"svc.dev/svc/service/servicetest"
)

// TestAWorkspaceHasToolsAndADigest lists the tools, and runs the workflow that uses them in the name of the one who started it.
func TestAWorkspaceHasToolsAndADigest(t *testing.T) {
	s := servicetest.Start(t, servicetest.Config(t))
	made := post(t, s, "/api/auth/password/register", `{"email":"ada@example.com","password":"a long and quiet sentence","username":"ada"}`)
	cookie, _, _ := strings.Cut(made.Header.Get("Set-Cookie"), ";")
	do := func(method, path, body string) servicetest.Answer {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, s.Agents+"/api/workspaces/ada/personal"+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"Origin": {s.Agents}, "Cookie": {cookie}, "Content-Type": {"application/json"}}
		got := servicetest.Send(t, servicetest.Client, req)
		if got.Status/100 != 2 {
			t.Fatalf("%s %s: %d %s", method, path, got.Status, got.Body)
		}
		return got
	}
	if got := do("GET", "/tools", ""); !strings.Contains(got.Body, `"name":"run_workflow"`) || !strings.Contains(got.Body, `"inputSchema":{`) {
		t.Errorf("tools: %s", got.Body)
	}
	do("POST", "/projects", `{"slug":"site","name":"Site"}`)
	do("PUT", "/projects/site/files/a.txt", "n=2")
	var run struct {
		RunID, Status, StartedBy string
		Result                   struct {
			Files int
			Into  string
		}
		Error *struct{ Message string }
	}
	begun := do("POST", "/workflows/digest/run", `{"project":"site"}`)
	if err := json.Unmarshal([]byte(begun.Body), &run); err != nil {
		t.Fatal(err)
	}
	servicetest.Eventually(t, "the digest is made", func() bool {
		if err := json.Unmarshal([]byte(do("GET", "/runs/"+run.RunID, "").Body), &run); err != nil {
			t.Fatal(err)
		}
		return run.Status != "active"
	})
	if run.Result.Files != 1 || run.Result.Into != "digest.md" || run.StartedBy != "ada" {
		t.Fatalf("run: %+v, %+v", run, run.Error)
	}
	if got := do("GET", "/projects/site/files/digest.md", "").Body; !strings.Contains(got, "## a.txt\n\nword0 word1") {
		t.Errorf("digest: %q", got)
	}
	if got := do("GET", "/projects/site/files", "").Body; !strings.Contains(got, `"updatedBy":{"kind":"account","id":"acc_`) {
		t.Errorf("files: %s", got)
	}
}

// asking is a model server that asks the agent it is told to ask, retells what it heard, and else says who it is.
func asking(t *testing.T) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Messages []struct{ Role, Content string }
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Errorf("asked: %v", err)
			return
		}
		first, last := q.Messages[0], q.Messages[len(q.Messages)-1]
		delta, end := map[string]any{"content": "I am " + first.Content}, "stop"
		to, asks := strings.CutPrefix(last.Content, "ask ")
		switch {
		case last.Role == "tool":
			delta["content"] = "heard " + last.Content
		case asks:
			end, delta = "tool_calls", map[string]any{"tool_calls": []any{map[string]any{
				"index": 0, "id": "0", "type": "function",
				"function": map[string]string{"name": "ask_agent", "arguments": fmt.Sprintf(`{"agent":%q,"prompt":"well?"}`, to)},
			}}}
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, choice := range []map[string]any{{"index": 0, "delta": delta}, {"index": 0, "delta": map[string]any{}, "finish_reason": end}} {
			data, _ := json.Marshal(map[string]any{"id": "1", "object": "chat.completion.chunk", "model": "m", "choices": []any{choice}})
			fmt.Fprintf(w, "data: %s\n\n", data)
		}
		fmt.Fprint(w, "data: [DONE]\n\n")
	}))
	t.Cleanup(s.Close)
	return s
}

// startSplit serves by two processes on one database.
func startSplit(t *testing.T, c config.Config) *servicetest.Served {
	t.Helper()
	pair, err := config.NewAssertionPair()
	if err != nil {
		t.Fatal(err)
	}
	c.RuntimeListen = "127.0.0.1:" + servicetest.Port(t)
	c.Database, c.RuntimeURL = sqldbtest.Postgres(t), "http://"+c.RuntimeListen
	c.RuntimeToken, c.RuntimeAdminToken = secret.Hide(strings.Repeat("t", 32)), secret.Hide(strings.Repeat("a", 32))
	c.AssertionKey, c.AssertionPublic = secret.Hide(pair.Key), pair.Public
	c.KeysFile = filepath.Join(t.TempDir(), "keys.json")
	ring, err := secret.NewRing()
	if err == nil {
		err = ring.WriteNew(c.KeysFile)
	}
	if err != nil {
		t.Fatal(err)
	}
	work := c
	work.DataDir = filepath.Join(t.TempDir(), "runtime")
	servicetest.StartPart(t, config.RuntimeAlone, work)
	served := servicetest.StartPart(t, config.GatewayAlone, c)
	served.Split = work
	return served
}

// TestAKeyAsksNoHiddenAgent lets central ask an agent that is not exposed, for a session and for a key, in one process and in two.
func TestAKeyAsksNoHiddenAgent(t *testing.T) {
	for name, start := range map[string]func(*testing.T, config.Config) *servicetest.Served{"serve": servicetest.Start, "split": startSplit} {
		t.Run(name, func(t *testing.T) {
			server := asking(t)
			c := servicetest.Config(t)
			c.ModelDefault, c.ModelOpenAI = "openai/m", models.Service{URL: server.URL + "/v1", Key: secret.Hide("k")}
			c.ModelAllowPrivate = []string{strings.TrimPrefix(server.URL, "http://")}
			s := start(t, c)
			made := post(t, s, "/api/auth/password/register", `{"email":"ada@example.com","password":"a long and quiet sentence","username":"ada"}`)
			cookie, _, _ := strings.Cut(made.Header.Get("Set-Cookie"), ";")
			session := http.Header{"Origin": {s.Agents}, "Cookie": {cookie}, "Content-Type": {"application/json"}}
			do := func(as http.Header, method, path, body string) servicetest.Answer {
				t.Helper()
				req, err := http.NewRequestWithContext(t.Context(), method, s.Agents+path, strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				req.Header = as
				got := servicetest.Send(t, servicetest.Client, req)
				if got.Status/100 != 2 {
					t.Fatalf("%s %s: %d %s", method, path, got.Status, got.Body)
				}
				return got
			}
			const at = "/api/workspaces/ada/personal"
			do(session, "POST", at+"/agents", `{"name":"hidden","instructions":"hidden"}`)
			do(session, "POST", at+"/agents", `{"name":"open","instructions":"open","exposed":true}`)
			var key struct{ Key string }
			if err := json.Unmarshal([]byte(do(session, "POST", at+"/keys", `{"name":"ci","scopes":["agents:read","agents:write"]}`).Body), &key); err != nil {
				t.Fatal(err)
			}
			byKey := http.Header{"Authorization": {"Bearer " + key.Key}, "Content-Type": {"application/json"}}
			for i, test := range []struct {
				as       http.Header
				ask, say string
			}{
				{session, "hidden", "heard I am hidden"}, {byKey, "open", "heard I am open"}, {byKey, "hidden", `heard error: No agent named \"hidden\".`},
			} {
				talk := fmt.Sprintf("/v1/ada/personal/agents/central/%d", i)
				do(test.as, "POST", talk, `{"kind":"user","body":"ask `+test.ask+`"}`)
				var history string
				servicetest.Eventually(t, "it is answered", func() bool {
					history = do(test.as, "GET", talk, "").Body
					return strings.Contains(history, `"outcome":`)
				})
				if !strings.Contains(history, test.say) {
					t.Errorf("ask %s: %s, want %s", test.ask, history, test.say)
				}
			}
		})
	}
}
