package service

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/model"
	"svc.dev/svc/model/scripted"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/agent"
	"svc.dev/svc/service/apikey"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/engine"
	"svc.dev/svc/service/mcp"
	"svc.dev/svc/service/project"
	"svc.dev/svc/service/secret"
	"svc.dev/svc/service/workspace"
	"svc.dev/svc/sqlstore"
)

// eventually waits until something is true.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not yet: %s", what)
		}
	}
}

// takes is what takes its time in a scene. Nothing is waited for.
func takes(d time.Duration) { time.Sleep(d) }

// settled is a house with projects, whose account ada has a business.
func settled(t *testing.T, log *slog.Logger) (*house, account.Registered, workspace.Membership) {
	t.Helper()
	h := openHouse(t, t.TempDir(), log)
	t.Cleanup(func() { _ = h.db.Close() })
	h.config.RetentionHold = time.Nanosecond
	h.spaces.Hold = time.Nanosecond
	if err := h.openProjects(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.projects.Close() })
	if err := h.openAgents(t.Context(), true, nil); err != nil {
		t.Fatal(err)
	}
	ada, err := h.accounts.Registrations.Register(t.Context(), account.Registration{Email: "ada@example.com", Password: "a calm and long password", Username: "ada"})
	if err != nil {
		t.Fatal(err)
	}
	m, err := h.spaces.Create(t.Context(), workspace.Caller{Actor: ada.Account.Actor()}, "shop", "Shop")
	if err != nil {
		t.Fatal(err)
	}
	return h, ada, m
}

// write makes a file of a project "site", which is made if need be.
func (h *house) write(t *testing.T, by audit.Actor, o project.Owner, path, text string) {
	t.Helper()
	if _, err := h.projects.Get(t.Context(), o, "site"); err != nil {
		if _, err := h.projects.Create(t.Context(), by, o, project.Draft{Slug: "site"}); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := h.projects.Write(t.Context(), by, o, "site", path, project.Upload{Body: strings.NewReader(text), Size: int64(len(text))}); err != nil {
		t.Fatal(err)
	}
}

// talk leaves a conversation in a scope.
func (h *house) talk(t *testing.T, scopes ...string) {
	t.Helper()
	store, err := sqlstore.New(t.Context(), h.db, sqlstore.Config{Log: h.log})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	rt, err := svc.New(svc.Config{Store: store, Model: model.Providers{"scripted": scripted.Words()}.Find, Log: h.log})
	if err != nil {
		t.Fatal(err)
	}
	engine.Declare(rt)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- rt.Run(ctx) }()
	for _, scope := range scopes {
		eventually(t, "the runtime serves", func() bool { return rt.State() == svc.Serving })
		if _, err := rt.In(scope).Invoke(t.Context(), engine.Verification, svc.Invocation{Wait: true}); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

// rowsWith counts the rows of a table whose column has that value.
func (h *house) rowsWith(t *testing.T, table, column, value string) (n int) {
	t.Helper()
	err := h.db.Read(t.Context(), func(tx *sqldb.Tx) error {
		return tx.QueryRow("SELECT count(*) FROM "+table+" WHERE "+column+" = $1", value).Scan(&n)
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestAnErasedWorkspaceLeavesNothing(t *testing.T) {
	h, ada, shop := settled(t, slog.New(slog.DiscardHandler))
	by := ada.Account.Actor()
	personal := project.Owner{Workspace: "wsp_personal", Scope: "users/ada/personal"}
	h.write(t, by, project.Owner{Workspace: shop.ID, Scope: shop.Scope}, "docs/a.md", "gone soon")
	h.write(t, by, personal, "a.md", "stays")
	h.talk(t, shop.Scope, personal.Scope)
	for _, scope := range []string{shop.Scope, personal.Scope} {
		if _, err := h.agents.Create(t.Context(), by, scope, agent.Draft{Name: "writer"}); err != nil {
			t.Fatal(err)
		}
		if _, err := h.mcps.Create(t.Context(), by, scope, mcp.Draft{Name: "search", URL: "https://mcp.example.com", Token: "a-bearers-token"}); err != nil {
			t.Fatal(err)
		}
	}
	err := h.db.Write(t.Context(), func(tx *sqldb.Tx) error {
		for _, scope := range []string{shop.Scope, personal.Scope} {
			if _, err := h.secrets.Seal(tx, secret.Owner{Kind: secret.Business, Scope: scope}, "TOKEN", []byte("a secret value"), ada.Account.ID); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := h.apikeys.Create(t.Context(), account.Who{Account: ada.Account, Session: ada.Session}, shop, apikey.Draft{Name: "k", Scopes: []string{"agents:read"}}); err != nil {
		t.Fatal(err)
	}
	before, err := sqlstore.Measure(t.Context(), h.db, shop.Scope)
	if err != nil || before.Streams == 0 {
		t.Fatalf("%+v %v", before, err)
	}
	if _, err := h.spaces.Delete(t.Context(), workspace.Caller{Actor: by}, shop.Scope, "shop"); err != nil {
		t.Fatal(err)
	}
	takes(2 * time.Millisecond) // the hold
	h.sweep(t.Context())
	h.sweep(t.Context()) // again is no error
	for _, c := range []struct{ table, column string }{
		{"projects", "scope"}, {"storage_quotas", "scope"}, {"secrets", "scope"}, {"api_keys", "scope"}, {"runs", "scope"}, {"members", "workspace"}, {"agents", "scope"}, {"agent_versions", "scope"}, {"mcp_servers", "scope"},
	} {
		value := shop.Scope
		if c.column == "workspace" {
			value = shop.ID
		}
		if n := h.rowsWith(t, c.table, c.column, value); n != 0 {
			t.Errorf("%s still has %d", c.table, n)
		}
	}
	if after, err := sqlstore.Measure(t.Context(), h.db, shop.Scope); err != nil || after != (sqlstore.Usage{}) {
		t.Errorf("%+v %v", after, err)
	}
	if _, err := os.Stat(filepath.Join(h.config.FilesDir, "ada", "shop")); !os.IsNotExist(err) {
		t.Errorf("files: %v", err)
	}
	if text, err := os.ReadFile(filepath.Join(h.config.FilesDir, "ada", "personal", "projects", "site", "a.md")); err != nil || string(text) != "stays" {
		t.Errorf("%s %v", text, err)
	}
	if h.rowsWith(t, "secrets", "scope", personal.Scope) != 2 || h.rowsWith(t, "mcp_servers", "scope", personal.Scope) != 1 || h.rowsWith(t, "runs", "scope", personal.Scope) != 1 || h.rowsWith(t, "agents", "scope", personal.Scope) != 1 {
		t.Error("another workspace lost something")
	}
}

func TestARecountIsOnceANightAndTellsWhatWasWrong(t *testing.T) {
	var out bytes.Buffer
	h, ada, shop := settled(t, slog.New(slog.NewTextHandler(&out, nil)))
	h.write(t, ada.Account.Actor(), project.Owner{Workspace: shop.ID, Scope: shop.Scope}, "a.md", "text")
	if err := h.db.Write(t.Context(), func(tx *sqldb.Tx) error {
		_, err := tx.Exec("UPDATE storage_quotas SET used = used + 7 WHERE scope = $1", shop.Scope)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	h.recount(t.Context())
	if text := out.String(); !strings.Contains(text, "used_bytes=7") || !strings.Contains(text, "workspaces=1 wrong=1") {
		t.Error(text)
	}
	out.Reset()
	h.recount(t.Context()) // another node
	if out.Len() != 0 {
		t.Error(out.String())
	}
	if got, err := h.quotas.Of(t.Context(), shop.Scope); err != nil || got.ByKind.Projects != 4 {
		t.Errorf("%+v %v", got, err)
	}
}

func TestTheNightBegins(t *testing.T) {
	for clock, want := range map[string]time.Duration{"01:59": time.Minute, "02:00": 24 * time.Hour, "03:00": 23 * time.Hour, "23:00": 3 * time.Hour} {
		now, err := time.Parse("15:04", clock)
		if err != nil {
			t.Fatal(err)
		}
		if got := untilNight(now); got != want {
			t.Errorf("at %s it is %s", clock, got)
		}
	}
}
