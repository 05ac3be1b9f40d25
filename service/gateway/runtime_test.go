package gateway_test

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/model"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/engine"
	"svc.dev/svc/service/gateway"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/sqlstore"
)

// The tokens of a runtime in another process.
const (
	runtimeToken = "a token of a runtime, thirty-two bytes"
	adminToken   = "another token of it, for administrators"
)

// mode is where the runtime runs, and on which database.
type mode struct {
	name    string
	address func(testing.TB) string
	apart   bool // the runtime is another process
}

// everyMode has each database and each arrangement once; the soak has them together too.
func everyMode() []mode {
	all := []mode{{"one process, sqlite", sqldbtest.SQLite, false}, {"two processes, postgres", sqldbtest.Schema, true}}
	if soak {
		all = append(all, mode{"one process, postgres", sqldbtest.Schema, false})
	}
	return all
}

// modes runs a test in every mode.
func modes(t *testing.T, fn func(t *testing.T, s *scene), edit ...func(*gateway.Config)) {
	t.Helper()
	for _, m := range everyMode() {
		t.Run(m.name, func(t *testing.T) { fn(t, withRuntime(t, m.address(t), m.apart, edit...)) })
	}
}

// withRuntime sets the scene with a runtime behind it.
func withRuntime(t testing.TB, address string, apart bool, edit ...func(*gateway.Config)) *scene {
	t.Helper()
	s := open(t, address, accounttest.Options{}, edit...)
	s.start(t, apart)
	return s
}

// start runs a runtime on the scene's database. One that is apart has a process of its own, but on SQLite, which belongs to
// one: there it is a server of its own that believes signatures alone.
func (s *scene) start(t testing.TB, apart bool) {
	t.Helper()
	if apart && s.DB.Dialect() == sqldb.Postgres {
		s.runtime = s.spawn(t)
		return
	}
	if err := s.DB.Migrate(t.Context(), sqlstore.Migrations); err != nil {
		t.Fatal(err)
	}
	store, err := sqlstore.New(t.Context(), s.DB, sqlstore.Config{Log: s.Accounts.Log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	rt, err := svc.New(svc.Config{Store: store, Model: model.Providers{"scripted": caller{}}.Find, Resolve: s.agents.Resolve, Log: s.Accounts.Log, StopTimeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	declare(rt)
	accounttest.Run(t, rt.Run)
	s.runtime = behind(t, rt, apart, s)
	accounttest.Eventually(t, "the runtime serves", func() bool { return rt.State() == svc.Serving })
}

// eventually asks until something is true, ever more slowly: what asks the gateway counts on a rate.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	pause := time.Millisecond
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(pause) {
		if time.Now().After(end) {
			t.Fatalf("not yet: %s", what)
		}
		pause = min(2*pause, 50*time.Millisecond)
	}
}

// takes is what takes its time in a scene. Nothing is waited for.
func takes(d time.Duration) { time.Sleep(d) }

// content is what the workflow sample is given, and returns.
type content struct {
	Account   string `json:"account"`
	AccountID string `json:"accountId"`
	Actor     string `json:"actor"`
	Scope     string `json:"scope"`
	Authority string `json:"authority"`
}

// declare gives a runtime what the product declares, and three workflows that customers can run: one that returns what it is
// given, one that ends at once, and one that does not by itself.
func declare(rt *svc.Runtime) {
	engine.Declare(rt)
	sample := svc.NewWorkflow("sample", func(_ context.Context, _ *svc.Work, in content) (content, error) { return in, nil })
	quick := svc.NewWorkflow("quick", func(context.Context, *svc.Work, struct{}) (map[string]bool, error) {
		return map[string]bool{"ok": true}, nil
	})
	endless := svc.NewWorkflow("endless", func(ctx context.Context, w *svc.Work, _ struct{}) (struct{}, error) {
		return struct{}{}, w.Sleep(ctx, 24*time.Hour)
	})
	for _, wf := range []*svc.Workflow{sample, quick, endless} {
		wf.Route, wf.Runs = svc.Open, svc.Open
		rt.AddWorkflow(wf)
	}
}

// standing is how the service judges workspaces, on a database of its own.
func standing(db *sqldb.DB) func(context.Context, scope.Claims) error {
	return func(ctx context.Context, c scope.Claims) error { return account.CheckStanding(ctx, db, c) }
}

// behind is the runtime as the gateway reaches it: in process, or as a server of its own that believes signatures alone.
func behind(t testing.TB, rt *svc.Runtime, apart bool, s *scene) http.Handler {
	t.Helper()
	c := engine.Config{Runtime: rt, Agents: s.agents, Log: s.Accounts.Log, Admit: admission(s.DB), MCP: mcpOf(rt, s.agents, s.DB, s.Accounts.Log)}
	if !apart {
		forward, guard := scope.NewPair()
		c.Guard, guard.Standing = guard, standing(s.DB)
		return forward.Within(engine.New(c))
	}
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.Guard, err = scope.NewGuard([]string{runtimeToken}, []string{adminToken}, []ed25519.PublicKey{public}); err != nil {
		t.Fatal(err)
	}
	c.Guard.Standing = standing(s.DB)
	server := httptest.NewServer(engine.New(c))
	t.Cleanup(server.Close)
	s.private = server.URL
	return gateway.NewProxy(parse(server.URL), &scope.Forward{Token: runtimeToken, AdminToken: adminToken, Key: private}, nil, s.Accounts.Log)
}

// key makes an API key of somebody's own workspace.
func (s *scene) key(t testing.TB, cookie, username string, scopes ...string) string {
	t.Helper()
	var made struct{ Key string }
	s.do(t, call{on: gateway.Agents, method: "POST", path: "/api/workspaces/" + username + "/personal/keys", cookie: cookie, body: map[string]any{"name": "k", "scopes": scopes}}).
		wants(t, 201, "").read(t, &made)
	return made.Key
}

func by(key string) http.Header {
	return http.Header{"Authorization": {"Bearer " + key}, "Content-Type": {"application/json"}}
}

func TestAPromptGoesThroughTheGatewayAndItsReplyComesBack(t *testing.T) {
	modes(t, func(t *testing.T, s *scene) {
		cookie, _ := s.session(t, "ada@example.com")
		key := s.key(t, cookie, "ada", "agents:read", "agents:write")
		var admitted struct{ StreamURL, Offset, SubmissionID string }
		s.do(t, call{on: gateway.Agents, method: "POST", path: "/v1/ada/personal/agents/central/first", header: by(key), body: `{"kind":"user","body":"n=3"}`}).
			wants(t, 202, "").read(t, &admitted)
		if admitted.StreamURL != agentsURL+"/v1/ada/personal/agents/central/first" {
			t.Errorf("streamUrl %q", admitted.StreamURL)
		}
		text := s.follow(t, "/v1/ada/personal/agents/central/first?view=updates&offset="+admitted.Offset+"&live=sse", by(key), "word2")
		if !strings.Contains(text, "event: data") || !strings.Contains(text, "streamNextOffset") {
			t.Errorf("stream: %s", text)
		}
		got := s.do(t, call{on: gateway.Agents, path: "/v1/ada/personal/agents/central/first", cookie: cookie}).wants(t, 200, "")
		if !strings.Contains(got.body, "word0 word1 word2") || got.Header.Get("X-Request-Id") == "" {
			t.Errorf("history: %s", got.body)
		}
		s.do(t, call{on: gateway.Agents, path: "/api/workspaces/ada/personal/agents", header: by(key)}).wants(t, 200, "")
		list := s.do(t, call{on: gateway.Agents, path: "/api/workspaces/ada/personal/agents/central/conversations", header: by(key)}).wants(t, 200, "")
		for _, want := range []string{`"id":"first"`, `"instance":"first"`, `"title":"`, `"state":"`, `"startedBy":"ada"`, `"createdAt":"`, `"usedAt":"`} {
			if !strings.Contains(list.body, want) {
				t.Errorf("conversations: %s, want %s", list.body, want)
			}
		}
	})
}

// follow reads a stream until it holds the text, and hangs up.
func (s *scene) follow(t testing.TB, path string, header http.Header, until string) string {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, s.server.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host, r.Header = s.hosts[gateway.Agents], header
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var seen strings.Builder
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		seen.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), until) {
			for lines.Scan() && !strings.Contains(lines.Text(), "streamNextOffset") {
				seen.WriteString(lines.Text() + "\n")
			}
			return seen.String() + lines.Text()
		}
	}
	t.Fatalf("%s: %d, the stream ended: %s", path, answer.StatusCode, seen.String())
	return ""
}

func TestTwoWorkspacesOfEqualNamesNeverMeet(t *testing.T) {
	modes(t, func(t *testing.T, s *scene) {
		ada, _ := s.session(t, "ada@example.com")
		eve, _ := s.session(t, "eve@example.com")
		adas, eves := s.key(t, ada, "ada", "agents:read", "agents:write", "runs:read", "workflows:run"), s.key(t, eve, "eve", "agents:read", "agents:write", "runs:read", "workflows:run")
		s.do(t, call{on: gateway.Agents, method: "POST", path: "/v1/ada/personal/agents/central/x", header: by(adas), body: `{"kind":"user","body":"n=1 secret of ada"}`}).wants(t, 202, "")
		var run struct{ RunID string }
		s.do(t, call{on: gateway.Agents, method: "POST", path: "/v1/ada/personal/workflows/sample?wait=result", header: by(adas),
			body: `{"account":"a","accountId":"b","actor":"c","scope":"d","authority":"e"}`}).wants(t, 200, "").read(t, &run)
		none := s.do(t, call{on: gateway.Agents, path: "/v1/nobody/personal/agents/central/x", header: by(eves)}).wants(t, 404, "workspace_not_found")
		for _, path := range []string{"/agents/central/x", "/agents/central/x?view=updates&offset=-1", "/agents/central/x/submissions", "/runs/" + run.RunID, "/runs", "/agents/central/x/attachments/y"} {
			for name, c := range map[string]call{"key": {header: by(eves)}, "cookie": {cookie: eve}} {
				c.on, c.path = gateway.Agents, "/v1/ada/personal"+path
				if got := s.do(t, c).wants(t, 404, "workspace_not_found"); got.body != none.body {
					t.Errorf("%s %s: %s", name, path, got.body)
				}
			}
		}
		for _, path := range []string{"/v1/eve/personal/agents/central/x", "/v1/eve/personal/runs/" + run.RunID} {
			if got := s.do(t, call{on: gateway.Agents, path: path, header: by(eves)}); got.StatusCode != 404 || strings.Contains(got.body, "ada") {
				t.Errorf("%s: %d %s", path, got.StatusCode, got.body)
			}
		}
		for _, path := range []string{"runs", "agents/central/conversations"} {
			if got := s.do(t, call{on: gateway.Agents, path: "/api/workspaces/eve/personal/" + path, header: by(eves)}).wants(t, 200, ""); strings.Contains(got.body, run.RunID) || strings.Contains(got.body, `"x"`) {
				t.Errorf("%s: %s", path, got.body)
			}
			s.do(t, call{on: gateway.Agents, path: "/api/workspaces/ada/personal/" + path, header: by(eves)}).wants(t, 404, "workspace_not_found")
		}
		s.do(t, call{on: gateway.Agents, method: "POST", path: "/v1/ada/personal/agents/central/x/abort", header: by(eves)}).wants(t, 404, "workspace_not_found")
	})
}

func TestAKeyDoesOnlyWhatItWasMadeFor(t *testing.T) {
	s := withRuntime(t, sqldbtest.SQLite(t), false)
	ada, _ := s.session(t, "ada@example.com")
	reads := s.key(t, ada, "ada", "agents:read")
	s.do(t, call{on: gateway.Agents, method: "POST", path: "/v1/ada/personal/agents/central/x", header: by(reads), body: `{"kind":"user","body":"hi"}`}).wants(t, 403, "insufficient_scope")
	s.do(t, call{on: gateway.Agents, path: "/v1/ada/personal/runs", header: by(reads)}).wants(t, 403, "insufficient_scope")
	s.do(t, call{on: gateway.Agents, path: "/v1/ada/personal/agents/central/x", header: by(reads)}).wants(t, 404, "stream_not_found")
	s.do(t, call{on: gateway.Agents, path: "/v1/ada/personal/agents/central/x"}).wants(t, 401, "unauthenticated")
	s.do(t, call{on: gateway.Agents, method: "POST", path: "/v1/ada/personal/agents/central/x", cookie: ada, header: http.Header{"Content-Type": {"application/json"}}, body: `{}`}).
		wants(t, 403, "cross_origin_request")
	s.do(t, call{on: gateway.Admin, path: "/v1/ada/personal/agents/central/x", cookie: ada}).wants(t, 403, "admin_required")
	s.do(t, call{on: gateway.Platform, path: "/v1/ada/personal/agents/central/x", cookie: ada}).wants(t, 404, "route_not_found")
}

func TestAWorkspaceIsVerifiedThroughGatewayAndRuntime(t *testing.T) {
	modes(t, func(t *testing.T, s *scene) {
		cookie, ada := s.session(t, "ada@example.com")
		header := http.Header{"X-Svc-Scope": {"users/eve/personal"}, "X-Svc-Account": {"eve"}}
		var got struct {
			OK                                         bool
			Surface, Authority, Scope, Workflow, RunID string
			Account                                    struct{ ID, Username string }
			Actor                                      struct{ Username string }
			FilesRead                                  int
			Mutated                                    bool
			Checks                                     []struct {
				Name string
				OK   bool
			}
		}
		s.do(t, call{on: gateway.Agents, path: "/api/orchestration/workspace-verification", cookie: cookie, header: header}).wants(t, 200, "").read(t, &got)
		if !got.OK || got.Surface != "agents" || got.Authority != "customer" || got.Scope != "users/ada/personal" || got.Account.Username != "ada" ||
			got.Account.ID != ada.Account.ID || got.Actor.Username != "ada" || got.RunID == "" || got.FilesRead != 0 || got.Mutated || len(got.Checks) != 2 {
			t.Errorf("report: %+v", got)
		}
		s.do(t, call{on: gateway.Agents, path: "/api/orchestration/workspace-verification"}).wants(t, 401, "unauthenticated")
		s.do(t, call{on: gateway.Agents, path: "/api/orchestration/workspace-verification?business=none", cookie: cookie}).wants(t, 404, "workspace_not_found")
		s.do(t, call{on: gateway.Admin, path: "/api/orchestration/workspace-verification", cookie: cookie}).wants(t, 404, "route_not_found")
		wrong := s.do(t, call{on: gateway.Agents, method: "POST", path: "/api/orchestration/workspace-verification", cookie: cookie})
		if wrong.wants(t, 405, "method_not_allowed"); wrong.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("Allow: %s", wrong.Header.Get("Allow"))
		}
	})
}

func TestARuntimeThatIsGoneIsABadGateway(t *testing.T) {
	s := withRuntime(t, sqldbtest.SQLite(t), false, func(c *gateway.Config) {
		_, private, _ := ed25519.GenerateKey(nil)
		c.Runtime = gateway.NewProxy(parse("http://127.0.0.1:1"), &scope.Forward{Token: runtimeToken, AdminToken: adminToken, Key: private}, nil, c.Log)
	})
	cookie, _ := s.session(t, "ada@example.com")
	s.do(t, call{on: gateway.Agents, path: "/v1/ada/personal/agents/central/x", cookie: cookie}).wants(t, 502, "bad_gateway")
	s.do(t, call{on: gateway.Agents, path: "/api/orchestration/workspace-verification", cookie: cookie}).wants(t, 502, "bad_gateway")
}

func TestARuntimeBelievesNobodyButItsGateway(t *testing.T) {
	s := withRuntime(t, sqldbtest.SQLite(t), true)
	ask := func(header http.Header) string {
		r, err := http.NewRequest(http.MethodGet, s.private+"/agents/central/x", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header = header
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		var envelope struct{ Error struct{ Type string } }
		_ = json.NewDecoder(answer.Body).Decode(&envelope)
		return envelope.Error.Type
	}
	claims := func(edit func(http.Header)) http.Header {
		h := http.Header{scope.HeaderToken: {runtimeToken}, scope.HeaderAccount: {"ada"}, scope.HeaderScope: {"users/ada/personal"}, scope.HeaderActor: {"ada"}, scope.HeaderAuthority: {"customer"}}
		edit(h)
		return h
	}
	for name, c := range map[string]struct {
		edit func(http.Header)
		want string
	}{
		"no token":            {func(h http.Header) { h.Del(scope.HeaderToken) }, "runtime_unauthorized"},
		"wrong token":         {func(h http.Header) { h.Set(scope.HeaderToken, runtimeToken+"x") }, "runtime_unauthorized"},
		"two tokens":          {func(h http.Header) { h.Add(scope.HeaderToken, runtimeToken) }, "runtime_unauthorized"},
		"two scopes":          {func(h http.Header) { h.Add(scope.HeaderScope, "users/eve/personal") }, "invalid_header"},
		"underscore":          {func(h http.Header) { h["X_Svc_Scope"] = []string{"users/eve/personal"} }, "invalid_header"},
		"no scope":            {func(h http.Header) { h.Del(scope.HeaderScope) }, "invalid_scope"},
		"upper case":          {func(h http.Header) { h.Set(scope.HeaderScope, "users/Ada/personal") }, "invalid_scope"},
		"extra segment":       {func(h http.Header) { h.Set(scope.HeaderScope, "users/ada/personal/x") }, "invalid_scope"},
		"escaped":             {func(h http.Header) { h.Set(scope.HeaderScope, "users/ada%2fpersonal") }, "invalid_scope"},
		"list":                {func(h http.Header) { h.Set(scope.HeaderScope, "users/ada/personal, users/eve/x") }, "invalid_scope"},
		"another's scope":     {func(h http.Header) { h.Set(scope.HeaderScope, "users/eve/personal") }, "scope_mismatch"},
		"prefix of the name":  {func(h http.Header) { h.Set(scope.HeaderScope, "users/ad/personal") }, "scope_mismatch"},
		"suffix of the name":  {func(h http.Header) { h.Set(scope.HeaderScope, "users/adaa/personal") }, "scope_mismatch"},
		"admin, customer's":   {func(h http.Header) { h.Set(scope.HeaderAuthority, "admin") }, "admin_required"},
		"admin scope":         {func(h http.Header) { h.Set(scope.HeaderScope, "admin") }, "admin_required"},
		"customer by admin's": {func(h http.Header) { h.Set(scope.HeaderToken, adminToken) }, "admin_required"},
		"no assertion":        {func(http.Header) {}, "assertion_invalid"},
		"nonsense":            {func(h http.Header) { h.Set(scope.HeaderAssertion, "x.y.z") }, "assertion_invalid"},
		"none":                {func(h http.Header) { h.Set(scope.HeaderAssertion, "eyJhbGciOiJub25lIn0.e30.") }, "assertion_invalid"},
	} {
		if got := ask(claims(c.edit)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
