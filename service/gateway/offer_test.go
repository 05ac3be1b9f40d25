package gateway_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/agent"
	"svc.dev/svc/service/gateway"
	"svc.dev/svc/service/offer"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/service/workspace"
)

// mcpOf is what answers MCP clients of a runtime.
func mcpOf(rt *svc.Runtime, all *agent.Agents, db *sqldb.DB, log *slog.Logger) func(http.ResponseWriter, *http.Request) error {
	made, err := offer.New(offer.Config{
		DB: db, Runtime: rt, Agents: all, Log: log, Admit: admission(db), Beat: 20 * time.Millisecond,
		May: func(ctx context.Context, c scope.Claims, need access.Need) error {
			_, err := access.Act(ctx, db, c.By(), need, access.Place{Scope: c.Scope})
			return err
		},
	})
	if err != nil {
		panic(err)
	}
	return made.Serve
}

// unhurried lets one key ask as often as these tests do.
func unhurried(c *gateway.Config) { c.Rate, c.Burst = 1_000_000, 1_000_000 }

const mcpPath = "/v1/ada/personal/mcp"

// allScopes are those that MCP knows.
var allScopes = []string{"agents:read", "agents:write", "runs:read", "workflows:run"}

// TestAnMCPClientAsksAgentsAndRunsWorkflows goes the way of the official client, in its latest protocol and in one that most speak.
func TestAnMCPClientAsksAgentsAndRunsWorkflows(t *testing.T) {
	modes(t, func(t *testing.T, s *scene) {
		cookie, _ := s.session(t, "ada@example.com")
		key := s.key(t, cookie, "ada", allScopes...)
		for _, version := range []string{"", "2025-06-18"} {
			c := s.mcp(t, mcpPath, key, version)
			if got := c.tools(t); !slices.Equal(got, []string{"ask_central", "cancel", "get_result", "run_endless", "run_quick", "run_sample"}) {
				t.Errorf("tools: %v", got)
			}
			got := c.calls(t, "ask_central", map[string]any{"message": "n=40 delay=5"}, "progressToken", "p1")
			if got.failed || got.State != "completed" || got.Text != words(40) || got.content != got.Text || got.SubmissionID == "" || !strings.HasPrefix(got.Conversation, "mcp-") {
				t.Errorf("answer: %+v", got)
			}
			// The client hears of an answer beside the last progress.
			eventually(t, "all was told as it came", func() bool {
				heard := c.progress()
				return len(heard) > 2 && said(heard[1:]) == words(40)
			})
			for i, p := range c.progress() {
				if p.ProgressToken != "p1" || p.Progress <= 0 || i == 0 && p.Meta["submissionId"] != got.SubmissionID || i > 0 && p.Progress <= c.progress()[i-1].Progress {
					t.Errorf("progress %d: %+v", i, p)
				}
			}

			// The conversation goes on, and what it was told first can be had again, by another client.
			again := c.calls(t, "ask_central", map[string]any{"message": "n=2", "conversation": got.Conversation})
			if again.Conversation != got.Conversation || again.Text != words(2) || again.SubmissionID == got.SubmissionID {
				t.Errorf("the second answer: %+v", again)
			}
			other := s.mcp(t, mcpPath, key, version)
			if fetched := other.calls(t, "get_result", map[string]any{"id": got.SubmissionID}); fetched.Text != words(40) || fetched.State != "completed" || fetched.Conversation != got.Conversation {
				t.Errorf("fetched: %+v", fetched)
			}

			run := c.calls(t, "run_sample", map[string]any{"account": "a", "accountId": "b", "actor": "c", "scope": "d", "authority": "e"})
			if run.failed || run.Status != "completed" || !strings.Contains(run.content, `"actor":"c"`) || !strings.Contains(string(run.Result), `"actor":"c"`) {
				t.Errorf("run: %+v", run)
			}
			if fetched := other.calls(t, "get_result", map[string]any{"id": run.RunID}); fetched.content != run.content || fetched.RunID != run.RunID {
				t.Errorf("fetched run: %+v", fetched)
			}
			if quick := c.calls(t, "run_quick", nil); quick.content != `{"ok":true}` {
				t.Errorf("a workflow without input: %+v", quick)
			}
			if failed := c.calls(t, "ask_central", map[string]any{"message": "fail"}); !failed.failed || failed.State != "failed" {
				t.Errorf("a model that fails: %+v", failed)
			}
		}
	}, unhurried)
}

// TestAnAgentsFormIsItsAnswerByMCP asks an agent that answers in a form of its own.
func TestAnAgentsFormIsItsAnswerByMCP(t *testing.T) {
	s := withRuntime(t, sqldbtest.SQLite(t), false)
	cookie, _ := s.session(t, "ada@example.com")
	c := s.mcp(t, mcpPath, s.key(t, cookie, "ada", allScopes...), "")
	s.do(t, call{on: gateway.Agents, method: "POST", path: "/api/workspaces/ada/personal/agents", cookie: cookie, body: map[string]any{
		"name": "teller", "description": "Tells.", "instructions": "Tell.", "exposed": true,
		"outputSchema": map[string]any{"type": "object", "required": []string{"text"}, "properties": map[string]any{"text": map[string]string{"type": "string"}}},
	}}).wants(t, 201, "")
	got := c.calls(t, "ask_teller", map[string]any{"message": "call give_result"}, "progressToken", "p")
	if got.failed || got.State != "completed" || string(got.Result) != `{"text":"hi"}` || got.content != `{"text":"hi"}` {
		t.Errorf("%+v", got)
	}
	if again := c.calls(t, "get_result", map[string]any{"id": got.SubmissionID}); string(again.Result) != `{"text":"hi"}` || again.content != got.content {
		t.Errorf("fetched again: %+v", again)
	}
}

// TestWrongCallsAreTold has what a model can get wrong: it sees what and where.
func TestWrongCallsAreTold(t *testing.T) {
	modes(t, func(t *testing.T, s *scene) {
		cookie, _ := s.session(t, "ada@example.com")
		c := s.mcp(t, mcpPath, s.key(t, cookie, "ada", allScopes...), "2025-06-18")
		for name, one := range map[string]struct {
			tool      string
			arguments any
			meta      []any
			want      string // in the text
		}{
			"no message":             {"ask_central", map[string]any{}, nil, "message"},
			"another type":           {"ask_central", map[string]any{"message": 5}, nil, "message"},
			"a field too many":       {"ask_central", map[string]any{"message": "n=1", "massage": "x"}, nil, "massage"},
			"a conversation's path":  {"ask_central", map[string]any{"message": "n=1", "conversation": "a/b"}, nil, "conversation"},
			"a conversation of dots": {"ask_central", map[string]any{"message": "n=1", "conversation": ".."}, nil, "conversation"},
			"no input":               {"run_sample", nil, nil, "account"},
			"input that none takes":  {"run_quick", map[string]any{"x": 1}, nil, "no input"},
			"no id":                  {"get_result", nil, nil, "id"},
			"an unknown id":          {"get_result", map[string]any{"id": "b7a5c1de-0000-4000-8000-000000000000"}, nil, "no such"},
			"an unknown run":         {"get_result", map[string]any{"id": "run_01HZZZZZZZZZZZZZZZZZZZZZZZ"}, nil, "no such"},
			"an id of zero bytes":    {"get_result", map[string]any{"id": "a\x00b"}, nil, "no such"},
			"nothing to cancel":      {"cancel", map[string]any{"id": "x"}, nil, "no such"},
			"a key that is none":     {"ask_central", map[string]any{"message": "n=1"}, []any{"idempotencyKey", 5}, "idempotencyKey"},
			"a wait that is none":    {"ask_central", map[string]any{"message": "n=1"}, []any{"waitSeconds", 601}, "waitSeconds"},
		} {
			if got := c.calls(t, one.tool, one.arguments, one.meta...); !got.failed || !strings.Contains(got.content, one.want) || got.Error.Type == "" {
				t.Errorf("%s: %+v", name, got)
			}
		}
		for _, tool := range []string{"", "ask_", "ask_nobody", "ask_workspace-verification", "run_workspace-verification", "run_", "delete_all", "ask_central ", "ask_" + strings.Repeat("\x00", 60), strings.Repeat("x", 5000)} {
			if got, err := c.asks(t.Context(), tool, map[string]any{"message": "n=1"}); err == nil || !strings.Contains(err.Error(), "unknown tool") || len(err.Error()) > 400 {
				t.Errorf("%.40q: %+v, %v", tool, got, err)
			}
		}
	}, unhurried)
}

// TestACallThatIsCancelledStopsItsWork cancels as the official client does: by a notification, which is another request.
func TestACallThatIsCancelledStopsItsWork(t *testing.T) {
	modes(t, func(t *testing.T, s *scene) {
		cookie, _ := s.session(t, "ada@example.com")
		key := s.key(t, cookie, "ada", allScopes...)
		for _, version := range []string{"", "2025-06-18"} {
			c, other := s.mcp(t, mcpPath, key, version), s.mcp(t, mcpPath, key, version)
			for tool, arguments := range map[string]any{"ask_central": map[string]any{"message": "n=100000 delay=5"}, "run_endless": nil} {
				ctx, cancel := context.WithCancel(t.Context())
				before := len(c.progress())
				ended := make(chan error, 1)
				go func() {
					_, err := c.asks(ctx, tool, arguments, "progressToken", tool)
					ended <- err
				}()
				var begun map[string]any
				eventually(t, "it has begun", func() bool {
					for _, p := range c.progress()[before:] { // what is told of the call before may come late
						if p.ProgressToken == tool {
							begun = p.Meta
							return true
						}
					}
					return false
				})
				id, _ := begun["submissionId"].(string)
				if id == "" {
					id, _ = begun["runId"].(string)
				}
				cancel()
				if err := <-ended; !errors.Is(err, context.Canceled) {
					t.Errorf("%s: %v", tool, err)
				}
				got := other.calls(t, "get_result", map[string]any{"id": id})
				if !got.failed || got.State != "aborted" && got.Error.Name != "RunCancelled" {
					t.Errorf("%s with %q: %+v", tool, version, got)
				}
			}

			// By its id it is cancelled from anywhere, and only once.
			begun := c.calls(t, "ask_central", map[string]any{"message": "n=100000 delay=5"}, "waitSeconds", 0)
			if begun.failed || begun.State != "running" || !strings.Contains(begun.content, "get_result") {
				t.Errorf("without a wait: %+v", begun)
			}
			if got := other.calls(t, "cancel", map[string]any{"id": begun.SubmissionID}); got.failed || !got.Cancelled {
				t.Errorf("cancel: %+v", got)
			}
			if got := other.calls(t, "get_result", map[string]any{"id": begun.SubmissionID}); got.State != "aborted" {
				t.Errorf("cancelled: %+v", got)
			}
			if got := other.calls(t, "cancel", map[string]any{"id": begun.SubmissionID}); got.failed || got.Cancelled {
				t.Errorf("cancel again: %+v", got)
			}
		}
	}, unhurried)
}

// rpc sends a message as it is.
func (s *scene) rpc(t testing.TB, key, body string, pairs ...string) reply {
	t.Helper()
	return s.do(t, call{on: gateway.Agents, method: "POST", path: mcpPath, header: rpcHeader(key, pairs...), body: body})
}

func rpcHeader(key string, pairs ...string) http.Header {
	h := http.Header{"Authorization": {"Bearer " + key}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}

// TestADroppedConnectionLosesNothing has clients that go away in the middle of a call, without a word.
func TestADroppedConnectionLosesNothing(t *testing.T) {
	modes(t, func(t *testing.T, s *scene) {
		cookie, _ := s.session(t, "ada@example.com")
		key := s.key(t, cookie, "ada", allScopes...)
		conn, err := net.Dial("tcp", s.server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask_central","arguments":{"message":"n=60 delay=10"},"_meta":{"progressToken":7}}}`
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: %d\r\n\r\n%s",
			mcpPath, s.hosts[gateway.Agents], key, len(body), body)
		var id string
		for lines := bufio.NewScanner(conn); id == "" && lines.Scan(); {
			if _, rest, is := strings.Cut(lines.Text(), `"submissionId":"`); is {
				id, _, _ = strings.Cut(rest, `"`)
			}
		}
		_ = conn.Close()
		if id == "" {
			t.Fatal("the call does not say what it began")
		}
		got := s.mcp(t, mcpPath, key, "").calls(t, "get_result", map[string]any{"id": id})
		if got.State != "completed" || got.Text != words(60) {
			t.Errorf("fetched: %+v", got)
		}
	}, unhurried)
}

// TestCallsWithOneIdempotencyKeyAreOne has a client that calls again because it does not know what came of it.
func TestCallsWithOneIdempotencyKeyAreOne(t *testing.T) {
	modes(t, func(t *testing.T, s *scene) {
		cookie, _ := s.session(t, "ada@example.com")
		c := s.mcp(t, mcpPath, s.key(t, cookie, "ada", allScopes...), "")
		other := s.mcp(t, mcpPath, s.key(t, cookie, "ada", allScopes...), "")
		ask := func(c *mcpClient, tool string, arguments any) mcpAnswer {
			return c.calls(t, tool, arguments, "idempotencyKey", "once")
		}
		message := map[string]any{"message": "n=3"}
		first, second := ask(c, "ask_central", message), ask(c, "ask_central", message)
		if first.SubmissionID != second.SubmissionID || first.Conversation != second.Conversation || second.Text != words(3) {
			t.Errorf("%+v and %+v", first, second)
		}
		if got := ask(c, "ask_central", map[string]any{"message": "n=4"}); !got.failed || got.Error.Type != "idempotency_conflict" {
			t.Errorf("another message: %+v", got)
		}
		if got := ask(other, "ask_central", message); got.SubmissionID == first.SubmissionID || got.failed {
			t.Errorf("by another key: %+v", got)
		}
		if one, two := ask(c, "run_quick", nil), ask(c, "run_quick", nil); one.RunID != two.RunID || one.failed {
			t.Errorf("runs: %+v and %+v", one, two)
		}
	}, unhurried)
}

// TestScopesDecideWhichToolsThereAre has a key of each scope, and of none that counts here.
func TestScopesDecideWhichToolsThereAre(t *testing.T) {
	modes(t, func(t *testing.T, s *scene) {
		cookie, _ := s.session(t, "ada@example.com")
		whole := s.mcp(t, mcpPath, s.key(t, cookie, "ada", allScopes...), "")
		answer := whole.calls(t, "ask_central", map[string]any{"message": "n=1"})
		run := whole.calls(t, "run_quick", nil)
		calls := map[string]any{
			"ask_central": map[string]any{"message": "n=1"}, "run_quick": nil, "get_result": map[string]any{"id": answer.SubmissionID}, "get_result ": map[string]any{"id": run.RunID},
			"cancel": map[string]any{"id": answer.SubmissionID}, "cancel ": map[string]any{"id": run.RunID}, // a blank tells them apart
		}
		needs := map[string]string{
			"ask_central": "agents:write", "run_quick": "workflows:run", "get_result": "agents:read", "get_result ": "runs:read", "cancel": "agents:write", "cancel ": "workflows:run",
		}
		for scope, tools := range map[string][]string{
			"agents:read": {"get_result"}, "agents:write": {"ask_central", "cancel"}, "runs:read": {"get_result"},
			"workflows:run": {"cancel", "run_endless", "run_quick", "run_sample"},
		} {
			c := s.mcp(t, mcpPath, s.key(t, cookie, "ada", scope, "projects:read"), "")
			if got := c.tools(t); !slices.Equal(got, tools) {
				t.Errorf("%s: %v, want %v", scope, got, tools)
			}
			for tool, arguments := range calls {
				got := c.calls(t, strings.TrimSpace(tool), arguments)
				if may := needs[tool] == scope; may == got.failed || !may && (got.Error.Type != "insufficient_scope" || got.Error.Meta.Required != needs[tool]) {
					t.Errorf("%s with %s: %+v", tool, scope, got)
				}
			}
		}
		s.rpc(t, s.key(t, cookie, "ada", "projects:read"), `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`).wants(t, 403, "insufficient_scope")
	}, unhurried)
}

// TestOnlyExposedAgentsAreTools exposes an agent, hides it, switches it off and takes it away.
func TestOnlyExposedAgentsAreTools(t *testing.T) {
	modes(t, func(t *testing.T, s *scene) {
		cookie, _ := s.session(t, "ada@example.com")
		c := s.mcp(t, mcpPath, s.key(t, cookie, "ada", allScopes...), "")
		const at = "/api/workspaces/ada/personal/agents"
		do := func(method, path string, body any) {
			t.Helper()
			if got := s.do(t, call{on: gateway.Agents, method: method, path: at + path, cookie: cookie, body: body}); got.StatusCode/100 != 2 {
				t.Fatalf("%s %s: %d %s", method, path, got.StatusCode, got.body)
			}
		}
		long := strings.Repeat("long-name-", 6) + "poet"
		for _, name := range []string{"poet", long} {
			do("POST", "", map[string]any{"name": name, "description": "Writes poems.", "instructions": "Write."})
			tool := "ask_" + name
			message := map[string]any{"message": "n=2"}
			offered := func(c *mcpClient) bool {
				return slices.ContainsFunc(c.tools(t), func(found string) bool {
					is := strings.HasPrefix(found, tool[:min(len(tool), 50)])
					if is {
						tool = found
					}
					return is
				})
			}
			refused := func(when string) {
				t.Helper()
				if offered(c) {
					t.Errorf("%s: %s is listed", when, name)
				}
				if _, err := c.asks(t.Context(), tool, message); err == nil || !strings.Contains(err.Error(), "unknown tool") {
					t.Errorf("%s: %v", when, err)
				}
			}
			refused("hidden")
			do("PATCH", "/"+name, map[string]any{"exposed": true})
			if !offered(c) || len(tool) > 64 {
				t.Fatalf("%s is not listed, or as %s", name, tool)
			}
			var got mcpAnswer
			eventually(t, "the runtime knows", func() bool {
				got = c.calls(t, tool, message)
				return !got.failed
			})
			if got.Text != words(2) {
				t.Errorf("answer: %+v", got)
			}
			do("POST", "/"+name+"/disable", nil)
			refused("switched off")
			if got := c.calls(t, "get_result", map[string]any{"id": got.SubmissionID}); got.Text != words(2) {
				t.Errorf("what it said: %+v", got)
			}
			do("POST", "/"+name+"/enable", nil)
			do("PATCH", "/"+name, map[string]any{"exposed": false})
			refused("hidden again")
			eventually(t, "what it said is hidden too", func() bool {
				return c.calls(t, "get_result", map[string]any{"id": got.SubmissionID}).Error.Type == "item_not_found"
			})
			do("DELETE", "/"+name, nil)
			refused("taken away")
		}
	}, unhurried)
}

// TestWorkspacesNeverMeetByMCP has eve, who knows ada's ids.
func TestWorkspacesNeverMeetByMCP(t *testing.T) {
	modes(t, func(t *testing.T, s *scene) {
		cookie, _ := s.session(t, "ada@example.com")
		ada := s.mcp(t, mcpPath, s.key(t, cookie, "ada", allScopes...), "")
		answer := ada.calls(t, "ask_central", map[string]any{"message": "n=1"})
		run := ada.calls(t, "run_quick", nil)
		other, _ := s.session(t, "eve@example.com")
		key := s.key(t, other, "eve", allScopes...)
		eve := s.mcp(t, "/v1/eve/personal/mcp", key, "")
		for _, tool := range []string{"get_result", "cancel"} {
			unknown := eve.calls(t, tool, map[string]any{"id": "run_none"})
			for _, id := range []string{answer.SubmissionID, run.RunID} {
				if got := eve.calls(t, tool, map[string]any{"id": id}); !got.failed || got.content != unknown.content || got.Error != unknown.Error {
					t.Errorf("%s of %s: %+v, want %+v", tool, id, got, unknown)
				}
			}
		}
		s.rpc(t, key, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`).wants(t, 404, "workspace_not_found")
		mine := eve.calls(t, "ask_central", map[string]any{"message": "n=1", "conversation": answer.Conversation})
		if mine.failed || mine.SubmissionID == answer.SubmissionID {
			t.Errorf("a conversation of the same name: %+v", mine)
		}
	}, unhurried)
}

// TestAKeyThatIsGoneIsToldNothingMore takes a key away while its call is told of progress.
func TestAKeyThatIsGoneIsToldNothingMore(t *testing.T) {
	modes(t, func(t *testing.T, s *scene) {
		cookie, _ := s.session(t, "ada@example.com")
		var made struct{ ID, Key string }
		s.do(t, call{on: gateway.Agents, method: "POST", path: keysPath, cookie: cookie, body: map[string]any{"name": "k", "scopes": allScopes}}).wants(t, 201, "").read(t, &made)
		c := s.mcp(t, mcpPath, made.Key, "")
		ended := make(chan error, 1)
		go func() {
			_, err := c.asks(t.Context(), "ask_central", map[string]any{"message": "n=100000 delay=5"}, "progressToken", "p")
			ended <- err
		}()
		eventually(t, "it has begun", func() bool { return len(c.progress()) > 1 })
		s.do(t, call{on: gateway.Agents, method: "DELETE", path: keysPath + "/" + made.ID, cookie: cookie}).wants(t, 204, "")
		select {
		case err := <-ended:
			if err == nil {
				t.Error("a key that is gone is answered")
			}
		case <-time.After(20 * time.Second):
			t.Error("a key that is gone is still told news")
		}
		eventually(t, "the key is refused", func() bool {
			return s.rpc(t, made.Key, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`).StatusCode == 401
		})
	}, unhurried, func(c *gateway.Config) { c.Recheck = 50 * time.Millisecond })
}

// TestMCPClientsAreRefusedAsTheyExpect sends what no good client does.
func TestMCPClientsAreRefusedAsTheyExpect(t *testing.T) {
	modes(t, func(t *testing.T, s *scene) {
		cookie, _ := s.session(t, "ada@example.com")
		key := s.key(t, cookie, "ada", allScopes...)
		const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
		at := func(method string, h http.Header) call {
			return call{on: gateway.Agents, method: method, path: mcpPath, header: h, body: list}
		}
		bare := rpcHeader("")
		bare.Del("Authorization")
		for _, h := range []http.Header{bare, rpcHeader("svck_none")} {
			typ := "unauthenticated"
			if h.Get("Authorization") != "" {
				typ = "invalid_api_key"
			}
			if got := s.do(t, at("POST", h)).wants(t, 401, typ); got.Header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s: no WWW-Authenticate", typ)
			}
		}
		for _, method := range []string{"GET", "DELETE", "PUT"} {
			if got := s.do(t, at(method, rpcHeader(key))).wants(t, 405, "method_not_allowed"); got.Header.Get("Allow") != "POST" {
				t.Errorf("%s: Allow %q", method, got.Header.Get("Allow"))
			}
		}
		s.rpc(t, key, list, "Origin", "https://evil.example").wants(t, 403, "cross_origin_request")
		s.rpc(t, key, list, "Origin", agentsURL).wants(t, 200, "")
		foreign := call{on: gateway.Agents, method: "POST", path: mcpPath, cookie: cookie, header: bare.Clone(), body: list}
		s.do(t, foreign).wants(t, 403, "cross_origin_request")
		foreign.header = bare.Clone()
		foreign.header.Set("Origin", agentsURL)
		if got := s.do(t, foreign).wants(t, 200, ""); !strings.Contains(got.body, "ask_central") {
			t.Errorf("by a session: %s", got.body)
		}

		deep := strings.Repeat("[", 5000) + strings.Repeat("]", 5000)
		huge := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask_central","arguments":{"message":"` + strings.Repeat("x", 9<<20) + `"}}}`
		for name, one := range map[string]struct {
			body   string
			pairs  []string
			status int
			typ    string
		}{
			"several at once":      {"[" + list + "," + list + "]", nil, 400, "invalid_request"},
			"nothing":              {"", nil, 400, "invalid_json"},
			"no message":           {`"tools/list"`, nil, 400, "invalid_json"},
			"half a message":       {list[:20], nil, 400, "invalid_json"},
			"too deep":             {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask_central","arguments":{"message":` + deep + `}}}`, nil, 400, "invalid_json"},
			"too long":             {huge, nil, 413, "body_too_large"},
			"an unknown method":    {`{"jsonrpc":"2.0","id":1,"method":"tools/delete"}`, nil, 400, "invalid_request"},
			"a long id":            {`{"jsonrpc":"2.0","id":"` + strings.Repeat("i", 300) + `","method":"tools/list"}`, nil, 400, "invalid_request"},
			"an id of no text":     {`{"jsonrpc":"2.0","id":"` + "\xff" + `","method":"tools/list"}`, nil, 400, "invalid_request"},
			"a session of no text": {list, []string{"Mcp-Session-Id", "\xff"}, 400, "invalid_request"},
			"a cancel of no text":  {`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"` + "\xff" + `"}}`, nil, 400, "invalid_request"},
			"a long session":       {list, []string{"Mcp-Session-Id", strings.Repeat("s", 300)}, 400, "invalid_request"},
			"another type":         {list, []string{"Content-Type", "text/plain"}, 415, "unsupported_media_type"},
			"no stream taken":      {list, []string{"Accept", "application/json"}, 400, "invalid_request"},
			"an old version":       {list, []string{"Mcp-Protocol-Version", "2001-01-01"}, 400, "invalid_request"},
			"a resumed stream":     {list, []string{"Last-Event-ID", "1"}, 400, "invalid_request"},
			"a cancel of nothing":  {`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}`, nil, 400, "invalid_request"},
		} {
			got := s.rpc(t, key, one.body, one.pairs...)
			if got.StatusCode != one.status || !strings.Contains(got.body, `"type":"`+one.typ+`"`) {
				t.Errorf("%s: %d %.300s", name, got.StatusCode, got.body)
			}
		}
		for _, session := range []string{"", "somebody"} {
			if got := s.rpc(t, key, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}`, "Mcp-Session-Id", session); got.StatusCode != 202 || got.body != "" {
				t.Errorf("a cancel of what nobody knows: %d %s", got.StatusCode, got.body)
			}
		}
	}, unhurried)
}

// begins starts a call as a client that calls its request so, in a session or in none, and waits for nothing.
func (s *scene) begins(t testing.TB, key, session, request string) (id string) {
	t.Helper()
	got := s.rpc(t, key, `{"jsonrpc":"2.0","id":`+request+`,"method":"tools/call","params":{"name":"ask_central","arguments":{"message":"n=100000 delay=5"},"_meta":{"waitSeconds":0}}}`, "Mcp-Session-Id", session)
	_, rest, _ := strings.Cut(got.body, `"submissionId":"`)
	if id, _, _ = strings.Cut(rest, `"`); id == "" {
		t.Fatalf("begin: %d %s", got.StatusCode, got.body)
	}
	return id
}

// TestACancellationStopsTheOneCallThatItMeans has two keys and two sessions that call their requests the same.
func TestACancellationStopsTheOneCallThatItMeans(t *testing.T) {
	modes(t, func(t *testing.T, s *scene) {
		cookie, _ := s.session(t, "ada@example.com")
		key, other := s.key(t, cookie, "ada", allScopes...), s.key(t, cookie, "ada", allScopes...)
		c := s.mcp(t, mcpPath, key, "")
		all := map[string]string{
			"meant": s.begins(t, key, "one", "1"), "of another session": s.begins(t, key, "two", "1"), "of no session": s.begins(t, key, "", "1"),
			"of another key": s.begins(t, other, "one", "1"), "of another request": s.begins(t, key, "one", `"1"`),
		}
		if got := s.rpc(t, key, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"enough"}}`, "Mcp-Session-Id", "one"); got.StatusCode != 202 {
			t.Errorf("cancel: %d %s", got.StatusCode, got.body)
		}
		for what, id := range all {
			wait := 0
			if what == "meant" {
				wait = 20
			}
			want := map[bool]string{true: "aborted", false: "running"}[what == "meant"]
			if got := c.calls(t, "get_result", map[string]any{"id": id}, "waitSeconds", wait); got.State != want {
				t.Errorf("the call %s: %s", what, got.State)
			}
			c.calls(t, "cancel", map[string]any{"id": id})
		}
	}, unhurried)
}

// TestAKeyIsWorthWhatItsMakerMayNow takes the role of a key's maker down while the key is in use.
func TestAKeyIsWorthWhatItsMakerMayNow(t *testing.T) {
	modes(t, func(t *testing.T, s *scene) {
		business, cookie := s.staff(t, workspace.Admin)
		var made struct{ Key string }
		s.do(t, call{on: gateway.Agents, method: "POST", path: "/api/workspaces/boss/" + business + "/keys", cookie: cookie, body: map[string]any{"name": "k", "scopes": allScopes}}).
			wants(t, 201, "").read(t, &made)
		path := "/v1/boss/" + business + "/mcp"
		c := s.mcp(t, path, made.Key, "")
		message := map[string]any{"message": "n=2"}
		answer := c.calls(t, "ask_central", message)
		becomes := func(role string) {
			execute(t, s, "UPDATE members SET role = $1 WHERE account = $2", role, s.person(t, "admin-er").Account.ID)
		}
		becomes(workspace.Viewer)
		if got := c.tools(t); !slices.Equal(got, []string{"get_result"}) {
			t.Errorf("a viewer's tools: %v", got)
		}
		if got := c.calls(t, "ask_central", message); !got.failed || got.Error.Type != "forbidden" {
			t.Errorf("a viewer asks: %+v", got)
		}
		if got := c.calls(t, "cancel", map[string]any{"id": answer.SubmissionID}); !got.failed || got.Error.Type != "forbidden" {
			t.Errorf("a viewer cancels: %+v", got)
		}
		if got := c.calls(t, "get_result", map[string]any{"id": answer.SubmissionID}); got.Text != words(2) {
			t.Errorf("a viewer reads: %+v", got)
		}
		becomes("billing")
		s.do(t, call{on: gateway.Agents, method: "POST", path: path, header: rpcHeader(made.Key), body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`}).wants(t, 403, "forbidden")
	}, unhurried)
}

// TestWhatIsErasedIsNotFoundByMCP erases a conversation that others go on with under its name, and a run.
func TestWhatIsErasedIsNotFoundByMCP(t *testing.T) {
	modes(t, func(t *testing.T, s *scene) {
		cookie, _ := s.session(t, "ada@example.com")
		c := s.mcp(t, mcpPath, s.key(t, cookie, "ada", allScopes...), "")
		answer, run := c.calls(t, "ask_central", map[string]any{"message": "n=1"}), c.calls(t, "run_quick", nil)
		erase := func(path string) {
			s.do(t, call{on: gateway.Agents, method: "DELETE", path: "/api/workspaces/ada/personal" + path, cookie: cookie}).wants(t, 202, "")
		}
		erase("/runs/" + run.RunID)
		erase("/agents/central/conversations/" + answer.Conversation)
		gone := func(when string) {
			t.Helper()
			for _, id := range []string{answer.SubmissionID, run.RunID} {
				if got := c.calls(t, "get_result", map[string]any{"id": id}, "waitSeconds", 0); got.Error.Type != "item_not_found" {
					t.Errorf("%s: %+v", when, got)
				}
			}
		}
		gone("erased")
		if again := c.calls(t, "ask_central", map[string]any{"message": "n=2", "conversation": answer.Conversation}); again.Text != words(2) {
			t.Errorf("a new one of its name: %+v", again)
		}
		gone("begun anew")
	}, unhurried)
}
