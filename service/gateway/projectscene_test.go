package gateway_test

import (
	"context"
	"net/http"
	"path/filepath"
	"testing"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/agent"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/engine"
	"svc.dev/svc/service/gateway"
	"svc.dev/svc/service/mcp"
	"svc.dev/svc/service/models"
	"svc.dev/svc/service/offer"
	"svc.dev/svc/service/project"
	"svc.dev/svc/service/receipt"
	"svc.dev/svc/service/repository"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/service/storage"
	"svc.dev/svc/service/workspace"
	"svc.dev/svc/sqlstore"
)

// measured is what a scope stores in the runtime.
func measured(db *sqldb.DB) func(context.Context, string) (int64, int64, error) {
	return func(ctx context.Context, scope string) (int64, int64, error) {
		u, err := sqlstore.Measure(ctx, db, scope)
		return u.Attachments, u.Streams, err
	}
}

// admission is how a runtime asks whether there is room for new work.
func admission(db *sqldb.DB) func(context.Context, scope.Claims) error {
	gauge := storage.NewGauge(db, 0, measured(db))
	return func(ctx context.Context, c scope.Claims) error { return gauge.Admit(ctx, c.Scope) }
}

// openProjects makes the projects of the scene.
func (s *scene) openProjects(t testing.TB) {
	t.Helper()
	if err := s.DB.Migrate(t.Context(), sqlstore.Migrations, project.Migrations, receipt.Migrations, models.Migrations, agent.Migrations, mcp.Migrations, offer.Migrations); err != nil {
		t.Fatal(err)
	}
	var err error
	s.quotas, err = storage.New(storage.Config{DB: s.DB, Audit: s.Log, Measure: measured(s.DB), Log: s.Accounts.Log})
	if err != nil {
		t.Fatalf("open quotas: %v", err)
	}
	s.files, err = project.New(project.Config{
		DB: s.DB, Audit: s.Log, Quotas: s.quotas, Root: filepath.Join(t.TempDir(), "root-sandbox"), Removed: workspace.ForgetProject, Log: s.Accounts.Log,
	})
	if err != nil {
		t.Fatalf("open projects: %v", err)
	}
	t.Cleanup(func() { _ = s.files.Close() })
	s.followed, err = repository.New(repository.Config{
		DB: s.DB, Audit: s.Log, Quotas: s.quotas, Projects: s.files, Connected: s.Installations.Need, Token: s.Installations.RepositoryToken,
	})
	if err != nil {
		t.Fatalf("open repositories: %v", err)
	}
	s.openMCPs(t)
	if s.agents, err = agents(s.DB, s.Log, "", s.mcps); err != nil {
		t.Fatalf("open agents: %v", err)
	}
}

// agents are those of a database and of a folder, as a gateway or a runtime opens them. One without MCP servers gives no tools to agents.
func agents(db *sqldb.DB, log *audit.Log, folder string, servers *mcp.Servers) (*agent.Agents, error) {
	c := agent.Config{
		DB: db, Audit: log, Folder: folder, BuiltIn: engine.BuiltIn(),
		DefaultModel: func(context.Context, string) (string, error) { return "scripted/words", nil },
		Models:       func(_ context.Context, _, name string) error { return models.CheckName(name) },
		ByKey: func(ctx context.Context) bool {
			c, _ := scope.From(ctx)
			return c.Key != ""
		},
	}
	if servers == nil {
		return agent.New(c)
	}
	build, err := equips(db, servers)
	if err != nil {
		return nil, err
	}
	c.Build, c.MCPs = build, servers.Names
	c.Tools = func(ctx context.Context, scope string) ([]string, error) {
		all, err := servers.ToolNames(ctx, scope)
		return append(all, "ask_agent", "read_file"), err
	}
	return agent.New(c)
}

// limit gives somebody's own workspace so many bytes.
func (s *scene) limit(t testing.TB, scope string, bytes int64) {
	t.Helper()
	if err := s.quotas.SetLimit(t.Context(), audit.Actor{Kind: audit.Operator}, scope, bytes); err != nil {
		t.Fatal(err)
	}
}

// desk is somebody with a key in their own workspace, at one of its projects.
type desk struct {
	*scene
	t    testing.TB
	key  string
	path string // of the workspace
}

// sit signs somebody up who has a project "site".
func (s *scene) sit(t testing.TB, username string, scopes ...string) *desk {
	t.Helper()
	cookie, _ := s.session(t, username+"@example.com")
	if len(scopes) == 0 {
		scopes = []string{"projects:read", "projects:write", "agents:read", "agents:write"}
	}
	d := &desk{s, t, s.key(t, cookie, username, scopes...), "/api/workspaces/" + username + "/personal"}
	s.do(t, call{on: gateway.Agents, method: "POST", path: d.path + "/projects", cookie: cookie, body: map[string]string{"slug": "site", "name": "Site"}}).wants(t, 201, "")
	return d
}

// ask sends a request about the project; pairs are headers.
func (d *desk) ask(method, path string, body any, pairs ...string) reply {
	d.t.Helper()
	h := http.Header{"Authorization": {"Bearer " + d.key}}
	if _, text := body.(string); body != nil && !text {
		h.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return d.do(d.t, call{on: gateway.Agents, method: method, path: d.path + path, body: body, header: h})
}
