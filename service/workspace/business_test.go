package workspace_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/listing"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/service/strictjson"
	"svc.dev/svc/service/workspace"
)

func TestABusinessIsMadeUnderItsOwner(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada, bob := w.person(t, "ada"), w.person(t, "bob")
		m, err := w.Create(t.Context(), ada, "acme", "  Acme Inc.  ")
		must(t, err)
		if m.Scope != "users/ada/acme" || m.Name != "Acme Inc." || m.Role != workspace.Owner || m.Owner != ada.ID || m.Version != 1 || !m.CreatedAt.Equal(w.Now()) {
			t.Errorf("got %+v", m)
		}
		got, err := w.Get(t.Context(), ada, m.Scope)
		must(t, err)
		if diff := cmp.Diff(m, got); diff != "" {
			t.Error(diff)
		}
		if own := w.business(t, bob, "acme"); own.Scope != "users/bob/acme" || own.Name != "acme" {
			t.Errorf("got %+v", own)
		}
		if got := w.actions(t, m.Scope); !slices.Equal(got, []string{"workspace.created"}) {
			t.Errorf("the chain says %v", got)
		}
	})
}

func TestABusinessHasAWellFormedName(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada := w.person(t, "ada")
		for business, problem := range map[string]string{
			"": "too_short", strings.Repeat("a", 49): "too_long", "Acme": "invalid", "acme-": "invalid", "-acme": "invalid", "a--b": "invalid", "a_b": "invalid",
			"a.b": "invalid", "..": "invalid", "a/b": "invalid", "a%2fb": "invalid", "ä": "invalid", "a b": "invalid", "a\x00": "invalid", "\xff": "invalid",
			"personal": "invalid", "new": "invalid", "settings": "invalid", "admin": "invalid", "api": "invalid", "con": "invalid", "lpt1": "invalid",
		} {
			_, err := w.Create(t.Context(), ada, business, "Name")
			want := []strictjson.Field{{Field: "business", Type: problem}}
			if got := strictjson.FieldsOf(refused(t, err, fault.InvalidRequest)); !slices.Equal(got, want) {
				t.Errorf("%q: %v", business, got)
			}
		}
		for name, problem := range map[string]string{
			strings.Repeat("ä", 81): "too_long", "a\nb": "invalid", "a\x00b": "invalid", "a\u202eb": "invalid", "\xff": "invalid", "a\u2028b": "invalid",
		} {
			_, err := w.Create(t.Context(), ada, "fine", name)
			want := []strictjson.Field{{Field: "name", Type: problem}}
			if got := strictjson.FieldsOf(refused(t, err, fault.InvalidRequest)); !slices.Equal(got, want) {
				t.Errorf("%q: %v", name, got)
			}
		}
		if _, err := w.Create(t.Context(), ada, "fine", strings.Repeat("ä", 80)); err != nil {
			t.Error(err)
		}
	})
}

func TestASlugIsTakenForEver(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada := w.person(t, "ada")
		m := w.business(t, ada, "acme")
		taken := func() {
			t.Helper()
			_, err := w.Create(t.Context(), ada, "acme", "")
			refused(t, err, fault.NameTaken)
		}
		taken()
		_, err := w.Delete(t.Context(), ada, m.Scope, "acme")
		must(t, err)
		taken()
		w.pass(14 * day)
		if n, err := w.Erase(t.Context()); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		taken()
	})
}

func TestNobodyMakesABusinessUnderAnothersName(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada, bob := w.person(t, "ada"), w.person(t, "bob")
		bob.Username = "ada"
		if _, err := w.Create(t.Context(), bob, "acme", ""); err == nil {
			t.Error("bob has a business of ada's")
		}
		ada.Kind = audit.Key
		_, err := w.Create(t.Context(), ada, "acme", "")
		refused(t, err, fault.Forbidden)
		if n := w.count(t, "SELECT count(*) FROM workspaces"); n != 2 {
			t.Errorf("there are %d workspaces", n)
		}
	})
}

func TestAnAccountOwnsSoManyBusinessesAndNoMore(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada := w.person(t, "ada")
		for i := range 98 {
			w.exec(t, "INSERT INTO workspaces (id, owner, scope, business, name, created_at, updated_at) VALUES ($1, $2, $1, 'x', 'x', 0, 0)", string(rune('A'+i)), ada.ID)
		}
		if got := together(8, func(i int) error { return err2(w.Create(t.Context(), ada, string(rune('a'+i)), "")) }); got[""] != 1 || got[fault.InvalidRequest] != 7 {
			t.Errorf("got %v", got)
		}
	})
}

func TestTheSameSlugIsGivenOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada := w.person(t, "ada")
		if got := together(16, func(int) error { return err2(w.Create(t.Context(), ada, "acme", "")) }); got[""] != 1 || got[fault.NameTaken] != 15 {
			t.Errorf("got %v", got)
		}
		if n := w.count(t, "SELECT count(*) FROM members m JOIN workspaces w ON w.id = m.workspace WHERE w.business = 'acme'"); n != 1 {
			t.Errorf("%d members", n)
		}
	})
}

func TestAHalfMadePersonalWorkspaceIsCompleted(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada := w.person(t, "ada")
		w.exec(t, "DELETE FROM members")
		w.business(t, ada, "acme")
		page, err := w.List(t.Context(), ada, listing.Query{})
		must(t, err)
		if len(page.Items) != 2 {
			t.Errorf("got %+v", page)
		}
	})
}

func TestARenameNeedsThePresentVersion(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada := w.person(t, "ada")
		m := w.business(t, ada, "acme")
		w.pass(time.Second)
		got, err := w.Rename(t.Context(), ada, m.Scope, " Acme 2 ", 1)
		must(t, err)
		if got.Name != "Acme 2" || got.Version != 2 || !got.UpdatedAt.Equal(w.Now()) || got.Scope != m.Scope || got.Role != workspace.Owner {
			t.Errorf("got %+v", got)
		}
		for _, stale := range []int64{1, 3, -1} {
			_, err = w.Rename(t.Context(), ada, m.Scope, "Acme 3", stale)
			if f := refused(t, err, fault.VersionConflict); f.Meta["version"] != int64(2) {
				t.Errorf("got %v", f.Meta)
			}
		}
		for name, problem := range map[string]string{"": "too_short", " \t ": "too_short", strings.Repeat("x", 81): "too_long", "a\x1b[2Jb": "invalid"} {
			_, err = w.Rename(t.Context(), ada, m.Scope, name, 0)
			if got := strictjson.FieldsOf(refused(t, err, fault.InvalidRequest)); len(got) != 1 || got[0].Field != "name" || got[0].Type != problem {
				t.Errorf("%q: %v", name, got)
			}
		}
	})
}

func TestThePersonalWorkspaceStays(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada := w.person(t, "ada")
		address := scope.Of("ada", scope.Personal).String()
		for _, by := range []workspace.Caller{ada, staff(w.person(t, "eve"), workspace.StaffAdmin)} {
			_, err := w.Delete(t.Context(), by, address, scope.Personal)
			if f := refused(t, err, fault.InUse); !slices.Equal(f.Meta["usedBy"].([]string), []string{ada.ID}) {
				t.Errorf("got %v", f.Meta)
			}
			_, err = w.Rename(t.Context(), by, address, "Mine", 0)
			refused(t, err, fault.InUse)
		}
	})
}

func TestArchivingTwiceChangesNothing(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada := w.person(t, "ada")
		m := w.business(t, ada, "acme")
		for _, step := range []struct {
			do       func(context.Context, workspace.Caller, string) (workspace.Membership, error)
			archived bool
			version  int64
		}{{w.Unarchive, false, 1}, {w.Archive, true, 2}, {w.Archive, true, 2}, {w.Unarchive, false, 3}, {w.Unarchive, false, 3}} {
			got, err := step.do(t.Context(), ada, m.Scope)
			must(t, err)
			if got.Archived != step.archived || got.Version != step.version {
				t.Errorf("got %+v, want %+v", got, step)
			}
		}
		if got := w.actions(t, m.Scope); !slices.Equal(got, []string{"workspace.created", "workspace.archived", "workspace.unarchived"}) {
			t.Errorf("the chain says %v", got)
		}
	})
}

func TestADeletedWorkspaceComesBackWithinItsHold(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada := w.person(t, "ada")
		m := w.business(t, ada, "acme")
		admin, second := w.member(t, m, workspace.Admin), w.member(t, m, workspace.Owner)
		_, err := w.Delete(t.Context(), ada, m.Scope, "Acme")
		if got := strictjson.FieldsOf(refused(t, err, fault.InvalidRequest)); len(got) != 1 || got[0].Field != "confirm" {
			t.Errorf("got %v", got)
		}
		at, err := w.Delete(t.Context(), ada, m.Scope, "acme")
		must(t, err)
		if !at.Equal(w.Now().Add(14 * day)) {
			t.Errorf("it is erased at %v", at)
		}
		// Nobody finds it, and only owners bring it back.
		for _, by := range []workspace.Caller{ada, admin, second, staff(w.somebody(t), workspace.StaffAdmin)} {
			_, err := w.Get(t.Context(), by, m.Scope)
			refused(t, err, fault.WorkspaceNotFound)
		}
		for _, by := range []workspace.Caller{admin, w.somebody(t), staff(admin, workspace.StaffSupport)} {
			_, err := w.Restore(t.Context(), by, m.Scope)
			refused(t, err, fault.WorkspaceNotFound)
		}
		list, err := w.List(t.Context(), ada, listing.Query{})
		must(t, err)
		if len(list.Items) != 1 || list.Items[0].Business != scope.Personal {
			t.Errorf("got %+v", list)
		}
		w.expectDeleted(t, ada, 1)
		w.expectDeleted(t, second, 1)
		w.expectDeleted(t, admin, 0)
		w.pass(14*day - time.Millisecond)
		got, err := w.Restore(t.Context(), second, m.Scope)
		must(t, err)
		if got.Role != workspace.Owner || !got.EraseAt.IsZero() || got.Version != 3 {
			t.Errorf("got %+v", got)
		}
		if role := w.roleOf(t, m, admin); role != workspace.Admin {
			t.Errorf("the admin is %q", role)
		}
		// Once more: nothing to do, and nothing told.
		_, err = w.Restore(t.Context(), ada, m.Scope)
		must(t, err)
		_, err = w.Restore(t.Context(), admin, m.Scope)
		refused(t, err, fault.Forbidden)
		if got := w.actions(t, m.Scope); !slices.Equal(got, []string{"workspace.created", "workspace.deleted", "workspace.restored"}) {
			t.Errorf("the chain says %v", got)
		}
		_, err = w.Delete(t.Context(), ada, m.Scope, "acme")
		must(t, err)
		w.pass(14 * day)
		_, err = w.Restore(t.Context(), ada, m.Scope)
		refused(t, err, fault.WorkspaceNotFound)
		w.expectDeleted(t, ada, 0)
	})
}

func (w *world) expectDeleted(t *testing.T, by workspace.Caller, n int) {
	t.Helper()
	page, err := w.Deleted(t.Context(), by, listing.Query{})
	must(t, err)
	if len(page.Items) != n {
		t.Errorf("%s can restore %+v", by.Username, page.Items)
	}
}

// TestAnErasedWorkspaceLeavesATombstone also kills the erasure between its halves.
func TestAnErasedWorkspaceLeavesATombstone(t *testing.T) {
	var destroyed []string
	var failing error
	edit := func(c *workspace.Config) {
		destroyed, failing = nil, errors.New("the disk is full")
		c.Destroy = func(_ context.Context, one workspace.Workspace) error {
			destroyed = append(destroyed, one.Scope)
			return failing
		}
	}
	eachWith(t, edit, func(t *testing.T, w *world) {
		s, other := w.scene(t), w.scene(t)
		before := w.dump(t, other.in.ID)
		_, err := w.Delete(t.Context(), s.owner, s.in.Scope, "acme")
		must(t, err)
		w.pass(14*day - time.Millisecond)
		if n, err := w.Erase(t.Context()); n != 0 || err != nil || len(destroyed) != 0 {
			t.Fatalf("erased %d, %v, %v", n, err, destroyed)
		}
		w.pass(time.Millisecond)
		if n, err := w.Erase(t.Context()); n != 0 || !errors.Is(err, failing) {
			t.Fatalf("erased %d, %v", n, err)
		}
		// Half destroyed, nobody brings it back, not even by a clock that goes wrong.
		w.pass(-day)
		_, err = w.Restore(t.Context(), s.owner, s.in.Scope)
		refused(t, err, fault.WorkspaceNotFound)
		_, err = w.Reinstate(t.Context(), staff(s.owner, workspace.StaffAdmin), s.in.ID)
		refused(t, err, fault.WorkspaceNotFound)
		failing = nil
		if n, err := w.Erase(t.Context()); n != 1 || err != nil || !slices.Equal(destroyed, []string{s.in.Scope, s.in.Scope}) {
			t.Fatalf("erased %d, %v, %v", n, err, destroyed)
		}
		if n, err := w.Erase(t.Context()); n != 0 || err != nil {
			t.Fatalf("erased %d, %v", n, err)
		}
		if left := w.dump(t, s.in.ID); strings.Count(left, "\n") != 1 || !strings.Contains(left, s.in.Scope) || strings.Contains(left, "Acme") || strings.Contains(left, "bob@") {
			t.Errorf("what is left is %s", left)
		}
		if w.dump(t, other.in.ID) != before {
			t.Error("another workspace has changed")
		}
		if got := w.actions(t, s.in.Scope); !slices.Equal(got, []string{"workspace.deleted", "workspace.erased"}) {
			t.Errorf("the chain says %v", got)
		}
		if got := w.actions(t, ""); !slices.Equal(got, []string{"workspace.erased"}) {
			t.Errorf("the service's chain says %v", got)
		}
	})
}

func TestTwoNodesEraseAWorkspaceOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := w.scene(t)
		_, err := w.Delete(t.Context(), s.owner, s.in.Scope, "acme")
		must(t, err)
		w.pass(15 * day)
		together(8, func(int) error { return err2(w.Erase(t.Context())) })
		if got := w.actions(t, ""); !slices.Equal(got, []string{"workspace.erased"}) {
			t.Errorf("the service's chain says %v", got)
		}
	})
}

func TestAnAbandonedAccountLeavesNothing(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := w.scene(t)
		personal := w.person(t, "gone")
		own := w.business(t, personal, "acme")
		w.put(t, s.in, personal, workspace.Owner)
		w.exec(t, "INSERT INTO team_members (team, account, workspace, created_at) VALUES ($1, $2, $3, 0)", s.team, personal.ID, s.in.ID)
		must(t, w.db.Write(t.Context(), func(tx *sqldb.Tx) error { return workspace.Abandon(tx, w.Now(), personal.ID) }))
		for _, address := range []string{own.Scope, s.in.Scope, "users/gone/personal"} {
			_, err := w.Get(t.Context(), personal, address)
			refused(t, err, fault.WorkspaceNotFound)
		}
		if n, err := w.Erase(t.Context()); n != 2 || err != nil {
			t.Fatal(n, err)
		}
		if n := w.count(t, "SELECT (SELECT count(*) FROM members WHERE account = $1) + (SELECT count(*) FROM team_members WHERE account = $1)", personal.ID); n != 0 {
			t.Errorf("%d rows are left", n)
		}
		if w.roleOf(t, s.in, s.owner) != workspace.Owner {
			t.Error("another owner is gone")
		}
	})
}

func TestASuspendedWorkspaceIsListedAndNotUsed(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := w.scene(t)
		admin := staff(w.somebody(t), workspace.StaffAdmin)
		for reason, problem := range map[string]string{"": "too_short", "  ": "too_short", strings.Repeat("x", 501): "too_long", "a\x00": "invalid"} {
			_, err := w.Suspend(t.Context(), admin, s.in.ID, reason)
			if got := strictjson.FieldsOf(refused(t, err, fault.InvalidRequest)); len(got) != 1 || got[0].Field != "reason" || got[0].Type != problem {
				t.Errorf("%q: %v", reason, got)
			}
		}
		one, err := w.Suspend(t.Context(), admin, s.in.ID, "sends spam")
		must(t, err)
		if !one.Suspended || one.Version != 2 {
			t.Errorf("got %+v", one)
		}
		before := w.dump(t, s.in.ID)
		for _, v := range verbs {
			err := v.call(t.Context(), w, s, s.owner)
			if v.need == workspace.Enter {
				must(t, err)
				continue
			}
			refused(t, err, fault.WorkspaceSuspended)
		}
		if w.dump(t, s.in.ID) != before {
			t.Error("a suspended workspace has changed")
		}
		list, err := w.List(t.Context(), s.owner, listing.Query{})
		must(t, err)
		if len(list.Items) != 1 || !list.Items[0].Suspended {
			t.Errorf("got %+v", list)
		}
		all, err := w.All(t.Context(), admin, listing.Query{Q: s.owner.Username})
		must(t, err)
		if len(all.Items) != 1 || all.Items[0].Reason != "sends spam" {
			t.Errorf("got %+v", all)
		}
		_, err = w.Rename(t.Context(), admin, s.in.Scope, "By staff", 0)
		must(t, err)
		must(t, w.Leave(t.Context(), workspace.Caller{Actor: person(s.guest, "guest")}, s.in.Scope))
		got, err := w.Reinstate(t.Context(), admin, s.in.ID)
		must(t, err)
		if got.Suspended {
			t.Errorf("got %+v", got)
		}
		_, err = w.Rename(t.Context(), s.owner, s.in.Scope, "Mine", 0)
		must(t, err)
		if got := w.actions(t, ""); !slices.Equal(got, []string{"workspace.suspended", "workspace.renamed", "workspace.restored"}) {
			t.Errorf("the service's chain says %v", got)
		}
		for _, e := range w.events(t, "") {
			if e.Actor != admin.Actor || e.Scope != s.in.Scope {
				t.Errorf("the service's chain says %+v", e)
			}
		}
	})
}

func TestStaffUndoADeletion(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := w.scene(t)
		admin := staff(w.somebody(t), workspace.StaffAdmin)
		_, err := w.Delete(t.Context(), s.owner, s.in.Scope, "acme")
		must(t, err)
		_, err = w.Suspend(t.Context(), admin, s.in.ID, "under investigation")
		must(t, err)
		_, err = w.Restore(t.Context(), s.owner, s.in.Scope)
		refused(t, err, fault.WorkspaceSuspended)
		_, err = w.Reinstate(t.Context(), admin, s.in.ID)
		must(t, err)
		m, err := w.Get(t.Context(), s.owner, s.in.Scope)
		must(t, err)
		if m.Suspended || !m.EraseAt.IsZero() {
			t.Errorf("got %+v", m)
		}
		for _, id := range []string{"", "wsp_", "wsp_01", "wsp_" + strings.Repeat("A", 26), s.team, s.in.Scope, s.in.ID + "\x00", strings.ToLower(s.in.ID)} {
			_, err = w.Reinstate(t.Context(), admin, id)
			refused(t, err, fault.WorkspaceNotFound)
			_, err = w.Suspend(t.Context(), admin, id, "spam")
			refused(t, err, fault.WorkspaceNotFound)
		}
	})
}

func TestOnlyStaffSeeAllWorkspaces(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := w.scene(t)
		_, err := w.Delete(t.Context(), s.owner, s.in.Scope, "acme")
		must(t, err)
		someone := w.somebody(t)
		for _, role := range []string{"", "root", "owner"} {
			_, err := w.All(t.Context(), staff(someone, role), listing.Query{})
			refused(t, err, fault.AdminRequired)
		}
		for _, role := range []string{workspace.StaffAdmin, workspace.StaffSupport} {
			page, err := w.All(t.Context(), staff(someone, role), listing.Query{})
			must(t, err)
			if len(page.Items) != 2 || page.Items[1].EraseAt.IsZero() && page.Items[0].EraseAt.IsZero() {
				t.Errorf("got %+v", page)
			}
		}
	})
}

func TestAnOwnerIsFoundOfWhatCanBeUsed(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := w.scene(t)
		admin := staff(w.somebody(t), workspace.StaffAdmin)
		expect := func(there, usable bool) {
			t.Helper()
			must(t, w.db.Read(t.Context(), func(tx *sqldb.Tx) error {
				at, found, err := workspace.At(tx, s.in.Scope)
				if err != nil || found != there || (found && !at.Suspended) != usable || found && at.Owner != s.owner.ID {
					t.Errorf("it is %+v, %v, %v", at, found, err)
				}
				_, found, err = workspace.Find(tx, s.owner.ID, s.in.Scope)
				if err != nil || found != there {
					t.Errorf("its owner finds it: %v, %v", found, err)
				}
				all, err := workspace.Of(tx, s.owner.ID)
				if err != nil || (len(all) == 1) != there {
					t.Errorf("its owner has %v, %v", all, err)
				}
				return nil
			}))
		}
		expect(true, true)
		_, err := w.Suspend(t.Context(), admin, s.in.ID, "spam")
		must(t, err)
		expect(true, false)
		_, err = w.Reinstate(t.Context(), admin, s.in.ID)
		must(t, err)
		_, err = w.Delete(t.Context(), s.owner, s.in.Scope, "acme")
		must(t, err)
		expect(false, false)
	})
}

func TestWorkspacesNeedWhatTheyStandOn(t *testing.T) {
	if _, err := workspace.New(workspace.Config{}); err == nil {
		t.Error("they stand on nothing")
	}
}

// TestAVerbOnWhatSomebodyChangedIsRefused asks for every verb with a version that is no more, and finds all as it was.
func TestAVerbOnWhatSomebodyChangedIsRefused(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada, bob := w.somebody(t), w.somebody(t)
		in := w.business(t, ada, "acme")
		w.put(t, in, bob, workspace.Builder)
		w.addProject(in.ID, "site")
		team, err := w.Teams.Create(t.Context(), ada, in.Scope, "Core")
		must(t, err)
		sent, err := w.Invite(t.Context(), ada, in.Scope, "guest@example.com", workspace.Viewer)
		must(t, err)
		stale := ada
		stale.Seen = 99
		for name, verb := range map[string]func(by workspace.Caller) error{
			"archive":   func(by workspace.Caller) error { _, err := w.Archive(t.Context(), by, in.Scope); return err },
			"unarchive": func(by workspace.Caller) error { _, err := w.Unarchive(t.Context(), by, in.Scope); return err },
			"delete":    func(by workspace.Caller) error { _, err := w.Delete(t.Context(), by, in.Scope, "acme"); return err },
			"restore":   func(by workspace.Caller) error { _, err := w.Restore(t.Context(), by, in.Scope); return err },
			"join a team": func(by workspace.Caller) error {
				_, err := w.Teams.PutMember(t.Context(), by, in.Scope, team.ID, bob.ID)
				return err
			},
			"leave a team": func(by workspace.Caller) error {
				_, err := w.Teams.DropMember(t.Context(), by, in.Scope, team.ID, bob.ID)
				return err
			},
			"give a project": func(by workspace.Caller) error {
				_, err := w.Teams.PutProject(t.Context(), by, in.Scope, team.ID, "site", workspace.Viewer)
				return err
			},
			"take a project": func(by workspace.Caller) error {
				_, err := w.Teams.DropProject(t.Context(), by, in.Scope, team.ID, "site")
				return err
			},
			"resend": func(by workspace.Caller) error { _, err := w.Resend(t.Context(), by, in.Scope, sent.ID); return err },
			"revoke": func(by workspace.Caller) error { return w.Revoke(t.Context(), by, in.Scope, sent.ID) },
		} {
			if f := fault.From(verb(stale)); f == nil || f.Type != fault.VersionConflict {
				t.Errorf("%s: %v", name, f)
			}
		}
		now, err := w.Get(t.Context(), ada, in.Scope)
		must(t, err)
		if now.Version != in.Version || now.Archived {
			t.Errorf("it was %+v and is %+v", in, now)
		}
		seen := ada
		seen.Seen = in.Version
		if _, err := w.Archive(t.Context(), seen, in.Scope); err != nil {
			t.Errorf("with the present version: %v", err)
		}
	})
}
