package service

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"strings"
	"testing"

	"svc.dev/svc"
	"svc.dev/svc/conversation"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/config"
	"svc.dev/svc/service/database"
	"svc.dev/svc/service/engine"
	"svc.dev/svc/service/mail"
	"svc.dev/svc/service/project"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/service/storage"
	"svc.dev/svc/service/workspace"
	"svc.dev/svc/sqlstore"
)

// furnished is a house with projects on a database.
func furnished(t *testing.T, address string, change ...func(*house)) *house {
	t.Helper()
	c := config.Config{DataDir: t.TempDir(), Database: address}.WithDefaults()
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	db, err := sqldb.Open(t.Context(), address, sqldb.Options{Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	h := &house{config: c, surfaces: c.Surfaces(), db: db}
	h.log, h.redactor = redacted(log)
	for _, change := range change {
		change(h)
	}
	if err := db.Migrate(t.Context(), database.Rooms...); err != nil {
		t.Fatal(err)
	}
	if err := h.furnish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := h.openProjects(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.projects.Close() })
	if err := h.openAgents(t.Context(), true, nil); err != nil {
		t.Fatal(err)
	}
	return h
}

// person is an account with an address that is verified or not.
func (h *house) person(t *testing.T, name string, verified bool) account.Account {
	t.Helper()
	r, err := h.accounts.Registrations.Register(t.Context(), account.Registration{Email: name + "@example.com", Password: "a calm and long password", Username: name})
	if err != nil {
		t.Fatal(err)
	}
	if verified {
		h.exec(t, "UPDATE accounts SET email_verified = 1 WHERE id = $1", r.Account.ID)
	}
	return r.Account
}

func (h *house) exec(t *testing.T, statement string, args ...any) {
	t.Helper()
	err := h.db.Write(t.Context(), func(tx *sqldb.Tx) error { _, err := tx.Exec(statement, args...); return err })
	if err != nil {
		t.Fatal(err)
	}
}

// TestOwnersAreMailedThatTheirWorkspaceFills has two owners with addresses, one whose address is nobody's yet, and a viewer.
func TestOwnersAreMailedThatTheirWorkspaceFills(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		h := furnished(t, address)
		ada := h.person(t, "ada", true)
		shop, err := h.spaces.Create(t.Context(), workspace.Caller{Actor: ada.Actor()}, "shop", "Shop")
		if err != nil {
			t.Fatal(err)
		}
		for name, role := range map[string]string{"bo": workspace.Owner, "cy": workspace.Owner, "eve": workspace.Viewer} {
			p := h.person(t, name, name != "cy")
			h.exec(t, "INSERT INTO members (workspace, account, role, created_at) VALUES ($1, $2, $3, 1)", shop.ID, p.ID, role)
		}
		limit := func(scope string, bytes int64) {
			t.Helper()
			if err := h.quotas.SetLimit(t.Context(), ada.Actor(), scope, bytes); err != nil {
				t.Fatal(err)
			}
		}
		mails := func(mails, events int) {
			t.Helper()
			if m, e := h.rowsWith(t, "outbox", "kind", "storage_warning"), h.rowsWith(t, "audit_events", "action", "storage.warning"); m != mails || e != events {
				t.Errorf("%d mails and %d events, want %d and %d", m, e, mails, events)
			}
		}
		h.write(t, ada.Actor(), project.Owner{Workspace: shop.ID, Scope: shop.Scope}, "a.md", strings.Repeat("x", 90))
		limit(shop.Scope, 110)
		mails(0, 1) // no mail server
		h.outbox, err = mail.New(h.db, mail.Config{SMTP: "smtp://127.0.0.1:1", From: "svc@example.com", URL: "https://platform.example", Box: h.secrets.Box("mail")})
		if err != nil {
			t.Fatal(err)
		}
		limit(shop.Scope, 100)
		mails(2, 2)
		h.sweep(t.Context())
		mails(2, 2)
		if n := h.rowsWith(t, "audit_events", "target_id", shop.ID); n == 0 {
			t.Error("the event is not about the workspace")
		}
		h.write(t, audit.Actor{Kind: audit.Account, ID: ada.ID}, project.Owner{Workspace: scope.Admin, Scope: scope.Admin}, "a.md", "staff")
		limit(scope.Admin, 5)
		mails(2, 3)
		// Nobody is told of a workspace that is deleted.
		if _, err := h.spaces.Delete(t.Context(), workspace.Caller{Actor: ada.Actor()}, shop.Scope, "shop"); err != nil {
			t.Fatal(err)
		}
		limit(shop.Scope, 90)
		mails(2, 3)
	})
}

// TestWorkBeyondTheOverdraftEnds prompts the central agent of a workspace that got too full after the work was admitted.
func TestWorkBeyondTheOverdraftEnds(t *testing.T) {
	h := furnished(t, sqldbtest.SQLite(t))
	const here, there = "users/ada/shop", "users/bo/shop"
	h.write(t, audit.Actor{Kind: audit.System}, project.Owner{Workspace: "wsp_1", Scope: here}, "a.md", "more than ten bytes")
	if err := h.quotas.SetLimit(t.Context(), audit.Actor{Kind: audit.System}, here, 10); err != nil {
		t.Fatal(err)
	}
	store, err := sqlstore.New(t.Context(), h.db, sqlstore.Config{Log: h.log})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	n := &node{house: h, gauge: storage.NewGauge(h.db, 0, h.measure)}
	rt, err := svc.New(svc.Config{Store: store, Model: n.model, Resolve: h.agents.Resolve, Log: h.log})
	if err != nil {
		t.Fatal(err)
	}
	engine.Declare(rt)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- rt.Run(ctx) }()
	for scope, want := range map[string]string{here: "storage_quota_exceeded", there: ""} {
		message := conversation.Message{Kind: "user", Body: "hello"}
		if _, err := rt.In(scope).Prompt(t.Context(), engine.Central, "1", svc.Prompt{Message: message}); err != nil {
			t.Fatal(err)
		}
		if got := settlement(t, rt.In(scope)); got != want {
			t.Errorf("%s: settled with %q, want %q", scope, got, want)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

// settlement waits for the end of the one submission of a conversation, and is the type of its error.
func settlement(t *testing.T, s svc.Scoped) string {
	t.Helper()
	var settled struct{ Error struct{ Type string } }
	eventually(t, "it settled", func() bool {
		snapshot, _, err := s.Conversation(t.Context(), engine.Central, "1")
		if err == nil && len(snapshot.Settlements) > 0 {
			err = json.Unmarshal(snapshot.Settlements[0], &settled)
		}
		if err != nil {
			t.Fatal(err)
		}
		return len(snapshot.Settlements) > 0
	})
	return settled.Error.Type
}
