package device_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"svc.dev/svc/internal/listing"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/device"
	"svc.dev/svc/service/workspace"
)

const day = 24 * time.Hour

// scene is a world in which ada owns a business, and bob has a role there.
type scene struct {
	*accounttest.World
	spaces   *workspace.Workspaces
	ada, bob account.Registered
	acme     workspace.Membership
}

// each runs a test on both databases.
func each(t *testing.T, fn func(t *testing.T, s *scene)) {
	t.Helper()
	accounttest.Each(t, accounttest.Options{}, func(t *testing.T, w *accounttest.World) { fn(t, set(t, w, workspace.Builder)) })
}

// set sets the scene, with bob in that role.
func set(t *testing.T, w *accounttest.World, role string) *scene {
	t.Helper()
	s := &scene{World: w, ada: w.Join(t, "ada@example.com"), bob: w.Join(t, "bob@example.com")}
	var err error
	s.spaces, err = workspace.New(workspace.Config{DB: w.DB, Audit: w.Log, Mail: w.Box, Platform: accounttest.Platform, Now: w.Clock.Now})
	accounttest.Check(t, err)
	s.acme, err = s.spaces.Create(t.Context(), s.owner(), "acme", "Acme")
	accounttest.Check(t, err)
	s.seat(t, role)
	return s
}

func (s *scene) owner() workspace.Caller { return workspace.Caller{Actor: s.ada.Account.Actor()} }

// seat gives bob a role, or another one; he has been there since the business was made.
func (s *scene) seat(t *testing.T, role string) {
	t.Helper()
	s.Execute(t, `INSERT INTO members (workspace, account, role, created_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (workspace, account) DO UPDATE SET role = excluded.role`, s.acme.ID, s.bob.Account.ID, role, s.acme.CreatedAt.UnixMilli())
}

// ask is a program that asks for a key.
func (s *scene) ask(t *testing.T) device.Asked {
	t.Helper()
	a, err := s.Devices.Ask(accounttest.Request(t, "192.0.2.9"), "laptop")
	accounttest.Check(t, err)
	return a
}

// runs is an approval of what every member may.
func runs(a device.Asked) device.Approval {
	return device.Approval{UserCode: a.UserCode, Scopes: []string{"runs:read"}, Life: day}
}

// approve lets bob approve.
func (s *scene) approve(t *testing.T, a device.Approval) {
	t.Helper()
	accounttest.Check(t, s.Devices.Approve(accounttest.From(t), s.bob.Who, s.acme, a))
}

// fetch waits as long as a program should, and looks for its key.
func (s *scene) fetch(t *testing.T, a device.Asked) (device.Given, device.Verdict) {
	t.Helper()
	s.Clock.Pass(device.Pause)
	g, v, err := s.Devices.Fetch(accounttest.Request(t, "192.0.2.9"), a.Code)
	accounttest.Check(t, err)
	if (v == "") != (g.Value != "") {
		t.Errorf("a key with the verdict %q", v)
	}
	return g, v
}

// tells fails unless a program is told that.
func (s *scene) tells(t *testing.T, a device.Asked, want device.Verdict) {
	t.Helper()
	if _, v := s.fetch(t, a); v != want {
		t.Errorf("told %q, want %q", v, want)
	}
}

// opens reports whether a key opens anything.
func (s *scene) opens(t *testing.T, key string) bool {
	t.Helper()
	_, err := s.Bearer(t.Context(), key)
	return err == nil
}

// told are the acts of a chain, the oldest first.
func (s *scene) told(t *testing.T, chain string) (all []string) {
	t.Helper()
	page, err := s.Log.Page(t.Context(), audit.Query{Scope: chain, Query: listing.Query{Limit: 200}})
	accounttest.Check(t, err)
	for _, e := range page.Items {
		all = append(all, e.Action)
	}
	slices.Reverse(all)
	return all
}

// guess is a code of its own for every number, and no program's.
func guess(n int) string {
	const letters = "BCDFGHJKLMNPQRSTVWXZ"
	code := make([]byte, 8)
	for i := range code {
		code[i] = letters[n%20]
		n /= 20
	}
	return string(code)
}

// look is somebody who types a code, from an address.
func (s *scene) look(ctx context.Context, who account.Who, code string) error {
	return accounttest.ErrOf(s.Devices.Look(ctx, who, code))
}

type tx = *sqldb.Tx

// end has keys end as the room of the accounts has them.
func (s *scene) end(t *testing.T, do func(device.Ends, tx) error) {
	t.Helper()
	accounttest.Check(t, s.DB.Write(t.Context(), func(tx *sqldb.Tx) error { return do(device.Ends{}, tx) }))
}
