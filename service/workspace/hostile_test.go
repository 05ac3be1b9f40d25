package workspace_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/workspace"
)

// byID are the verbs that name an item of a workspace, by the id of that item.
var byID = map[string]struct {
	id   func(s scene) string
	call func(ctx context.Context, w *world, by workspace.Caller, address string, own scene, id string) error
}{
	"GetMember": {func(s scene) string { return s.guest }, func(ctx context.Context, w *world, by workspace.Caller, address string, _ scene, id string) error {
		return err2(w.GetMember(ctx, by, address, id))
	}},
	"ChangeRole": {func(s scene) string { return s.guest }, func(ctx context.Context, w *world, by workspace.Caller, address string, _ scene, id string) error {
		return err2(w.ChangeRole(ctx, by, address, id, workspace.Builder, 0))
	}},
	"Remove": {func(s scene) string { return s.guest }, func(ctx context.Context, w *world, by workspace.Caller, address string, _ scene, id string) error {
		return w.Remove(ctx, by, address, id, 0)
	}},
	"Remove the owner": {func(s scene) string { return s.owner.ID }, func(ctx context.Context, w *world, by workspace.Caller, address string, _ scene, id string) error {
		return w.Remove(ctx, by, address, id, 0)
	}},
	"Resend": {func(s scene) string { return s.invited }, func(ctx context.Context, w *world, by workspace.Caller, address string, _ scene, id string) error {
		return err2(w.Resend(ctx, by, address, id))
	}},
	"Revoke": {func(s scene) string { return s.invited }, func(ctx context.Context, w *world, by workspace.Caller, address string, _ scene, id string) error {
		return w.Revoke(ctx, by, address, id)
	}},
	"GetTeam": {func(s scene) string { return s.team }, func(ctx context.Context, w *world, by workspace.Caller, address string, _ scene, id string) error {
		return err2(w.Teams.Get(ctx, by, address, id))
	}},
	"RenameTeam": {func(s scene) string { return s.team }, func(ctx context.Context, w *world, by workspace.Caller, address string, _ scene, id string) error {
		return err2(w.Teams.Rename(ctx, by, address, id, "Mine", 0))
	}},
	"DeleteTeam": {func(s scene) string { return s.team }, func(ctx context.Context, w *world, by workspace.Caller, address string, _ scene, id string) error {
		return w.Teams.Delete(ctx, by, address, id, 0)
	}},
	"PutTeamMember, team": {func(s scene) string { return s.team }, func(ctx context.Context, w *world, by workspace.Caller, address string, own scene, id string) error {
		return err2(w.Teams.PutMember(ctx, by, address, id, own.outside))
	}},
	"PutTeamMember, account": {func(s scene) string { return s.outside }, func(ctx context.Context, w *world, by workspace.Caller, address string, own scene, id string) error {
		return err2(w.Teams.PutMember(ctx, by, address, own.team, id))
	}},
	"DropTeamMember, team": {func(s scene) string { return s.team }, func(ctx context.Context, w *world, by workspace.Caller, address string, own scene, id string) error {
		return err2(w.Teams.DropMember(ctx, by, address, id, own.guest))
	}},
	"DropTeamMember, account": {func(s scene) string { return s.guest }, func(ctx context.Context, w *world, by workspace.Caller, address string, own scene, id string) error {
		return err2(w.Teams.DropMember(ctx, by, address, own.team, id))
	}},
	"PutTeamProject": {func(s scene) string { return s.team }, func(ctx context.Context, w *world, by workspace.Caller, address string, _ scene, id string) error {
		return err2(w.Teams.PutProject(ctx, by, address, id, "shop", workspace.Viewer))
	}},
	"DropTeamProject": {func(s scene) string { return s.team }, func(ctx context.Context, w *world, by workspace.Caller, address string, _ scene, id string) error {
		return err2(w.Teams.DropProject(ctx, by, address, id, "site"))
	}},
}

// TestAnIDOfAnotherTenantIsUnknown uses every id of one workspace in another, as its owner and as staff.
func TestAnIDOfAnotherTenantIsUnknown(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		theirs, own := w.scene(t), w.scene(t)
		before, mine := w.dump(t, theirs.in.ID), w.dump(t, own.in.ID)
		text := ""
		for name, v := range byID {
			for _, by := range []workspace.Caller{own.owner, staff(own.owner, workspace.StaffAdmin)} {
				ids := []string{v.id(theirs), theirs.in.ID, theirs.in.Scope}
				if by.Staff != "" {
					ids = ids[:1]
				}
				// What no id looks like is unknown too, and reaches no database that would choke on it.
				for _, evil := range []string{"", "x", "%", "*", "..", "a\x00b", "\xff", "' OR '1'='1", strings.Repeat("A", 10_000)} {
					ids = append(ids, evil, v.id(theirs)[:4]+evil)
				}
				ids = append(ids, strings.ToLower(v.id(own)), v.id(own)+" ", v.id(own)+"\n", v.id(own)[4:])
				for _, id := range ids {
					err := v.call(t.Context(), w, by, own.in.Scope, own, id)
					f := fault.From(err)
					if f.Type != fault.ItemNotFound {
						t.Errorf("%s %q: %v", name, id, err)
					}
					if text == "" {
						text = f.Error()
					}
					if f.Error() != text || f.Meta != nil {
						t.Errorf("%s %q: %v differs", name, id, err)
					}
				}
			}
		}
		if w.dump(t, theirs.in.ID) != before || w.dump(t, own.in.ID) != mine {
			t.Error("something has changed")
		}
		if len(w.events(t, theirs.in.Scope))+len(w.events(t, own.in.Scope))+len(w.events(t, "")) != 0 {
			t.Error("something is told")
		}
	})
}

// TestWhatIsNotThereAndWhatIsNotOnesOwnAreTheSame asks every verb for workspaces of every kind that the caller must not know.
func TestWhatIsNotThereAndWhatIsNotOnesOwnAreTheSame(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		stranger := w.somebody(t)
		foreign, deleted, erased, suspended := w.scene(t), w.scene(t), w.scene(t), w.scene(t)
		must(t, err2(w.Delete(t.Context(), erased.owner, erased.in.Scope, "acme")))
		w.pass(14 * day)
		must(t, err2(w.Erase(t.Context())))
		must(t, err2(w.Delete(t.Context(), deleted.owner, deleted.in.Scope, "acme")))
		must(t, err2(w.Suspend(t.Context(), staff(stranger, workspace.StaffAdmin), suspended.in.ID, "spam")))
		left := w.member(t, foreign.in, workspace.Admin)
		must(t, w.Leave(t.Context(), left, foreign.in.Scope))

		missing := foreign
		missing.in.Scope = unknown()
		want := ""
		cases := 0
		check := func(name string, v verb, s scene, by workspace.Caller) {
			t.Helper()
			cases++
			f := fault.From(v.call(t.Context(), w, s, by))
			body, err := json.Marshal([]any{f.Type, f.Message, f.Details, f.Meta})
			must(t, err)
			if want == "" {
				want = string(body)
			}
			if f.Type != fault.WorkspaceNotFound || string(body) != want {
				t.Errorf("%s %s: %s", name, v.name, body)
			}
		}
		for _, v := range verbs {
			check("unknown", v, missing, stranger)
			check("foreign", v, foreign, stranger)
			check("deleted, stranger", v, deleted, stranger)
			check("deleted, member", v, deleted, workspace.Caller{Actor: person(deleted.guest, "guest")})
			check("erased, owner", v, erased, erased.owner)
			check("suspended, stranger", v, suspended, stranger)
			check("left", v, foreign, left)
			if v.name != "Restore" {
				check("deleted, owner", v, deleted, deleted.owner)
			}
			for _, address := range []string{
				"", "admin", "users", "users/", "users//", "users/nobody", "users/nobody/", "users/nobody/a/b", foreign.in.Scope + "/", foreign.in.Scope + "\x00",
				strings.ToUpper(foreign.in.Scope), " " + foreign.in.Scope, foreign.in.Scope + "%", "users/%/%", foreign.in.ID, "\xff", strings.Repeat("users/", 1000),
				strings.Replace(foreign.in.Scope, "users", "user", 1), strings.Replace(foreign.in.Scope, "/", "%2f", 1),
			} {
				s := foreign
				s.in.Scope = address
				// The owner writes it otherwise than it is.
				check(fmt.Sprintf("%.40q", address), v, s, foreign.owner)
			}
		}
		t.Logf("%d cases", cases)
	})
}

// TestNoSequenceOfVerbsLosesTheNamedOwner lets everybody do anything to everybody, in any order.
func TestNoSequenceOfVerbsLosesTheNamedOwner(t *testing.T) {
	eachWith(t, unlimited, func(t *testing.T, w *world) {
		const steps = 300
		random := rand.New(rand.NewPCG(5, uint64(len(w.db.Dialect()))))
		s := w.scene(t)
		people := []workspace.Caller{s.owner, s.owner}
		for range 4 {
			people = append(people, w.somebody(t))
		}
		done := map[string]int{}
		for step := range steps {
			w.stir(t, random, s, people[2:])
			by, target := people[random.IntN(len(people))], people[random.IntN(len(people))]
			if random.IntN(6) == 0 {
				by.Staff = workspace.StaffAdmin
			}
			name, err := w.anything(t, random, s, by, target, step)
			if typeOf(err) == fault.Internal {
				t.Fatalf("step %d, %s: %v", step, name, err)
			}
			if err == nil {
				done[name]++
			}
			if role := w.roleOf(t, s.in, s.owner); role != workspace.Owner {
				t.Fatalf("step %d: after %s by %s the owner is %q", step, name, by.Username, role)
			}
		}
		for _, name := range []string{"change", "remove", "leave", "accept", "delete", "restore", "suspend", "reinstate", "put"} {
			if done[name] == 0 {
				t.Errorf("it was never done: %s, only %v", name, done)
			}
		}
		report, err := w.log.Verify(t.Context())
		must(t, err)
		if !report.OK() {
			t.Errorf("the chains are broken: %+v", report)
		}
	})
}

// stir sees to it that there is something to do: a workspace that can be used, and people of all roles in it.
func (w *world) stir(t *testing.T, random *rand.Rand, s scene, people []workspace.Caller) {
	t.Helper()
	if random.IntN(2) == 0 {
		must(t, err2(w.Reinstate(t.Context(), staff(s.owner, workspace.StaffAdmin), s.in.ID)))
	}
	if random.IntN(3) == 0 {
		roles := append(workspace.Roles(), workspace.Owner, workspace.Owner)
		w.put(t, s.in, people[random.IntN(len(people))], roles[random.IntN(len(roles))])
	}
}

// anything does one thing, chosen by chance, and names it.
func (w *world) anything(t *testing.T, random *rand.Rand, s scene, by, target workspace.Caller, step int) (string, error) {
	role := workspace.Roles()[random.IntN(5)]
	switch random.IntN(14) {
	case 0, 1, 2, 3:
		return "change", err2(w.ChangeRole(t.Context(), by, s.in.Scope, target.ID, role, 0))
	case 4, 5:
		return "remove", w.Remove(t.Context(), by, s.in.Scope, target.ID, 0)
	case 6:
		return "leave", w.Leave(t.Context(), by, s.in.Scope)
	case 7, 8:
		email := fmt.Sprintf("p%d@example.com", step)
		sent, err := w.Invite(t.Context(), by, s.in.Scope, email, role)
		if err != nil {
			return "invite", err
		}
		return "accept", err2(w.Accept(t.Context(), guestOf(target, email, true), tokenOf(sent)))
	case 9:
		return "delete", err2(w.Delete(t.Context(), by, s.in.Scope, "acme"))
	case 10:
		return "restore", err2(w.Restore(t.Context(), by, s.in.Scope))
	case 11:
		by.Staff = workspace.StaffAdmin
		if random.IntN(2) == 0 {
			return "reinstate", err2(w.Reinstate(t.Context(), by, s.in.ID))
		}
		return "suspend", err2(w.Suspend(t.Context(), by, s.in.ID, "chance"))
	case 12:
		// The hold never ends here: an erased workspace has no owner, and is meant to have none.
		w.pass(time.Hour)
		return "erase", err2(w.Erase(t.Context()))
	}
	return "put", err2(w.Teams.PutMember(t.Context(), by, s.in.Scope, s.team, target.ID))
}

// TestWithoutAnAuditRowThereIsNoAct breaks the audit log under every verb that is told.
func TestWithoutAnAuditRowThereIsNoAct(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.exec(t, "ALTER TABLE audit_events RENAME TO audit_events_gone")
		defer w.exec(t, "ALTER TABLE audit_events_gone RENAME TO audit_events")
		for _, v := range verbs {
			if v.action == "" {
				continue
			}
			s := w.scene(t)
			before := w.dump(t, s.in.ID)
			if err := v.call(t.Context(), w, s, s.owner); typeOf(err) != fault.Internal {
				t.Errorf("%s: %v", v.name, err)
			}
			if w.dump(t, s.in.ID) != before {
				t.Errorf("%s was done in silence", v.name)
			}
		}
	})
}

// TestTheBinaryBeforeWorksOnTheseTables runs the statements of the version before this one, beside this one.
func TestTheBinaryBeforeWorksOnTheseTables(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		old := workspace.Caller{Actor: person("acc_01HZZZZZZZZZZZZZZZZZZZZZZZ", "old")}
		w.exec(t, `INSERT INTO workspaces (id, owner, scope, business, name, created_at, updated_at)
			VALUES ($1, $2, $3, $4, $5, $6, $6) ON CONFLICT (scope) DO NOTHING`, "wsp_01HZZZZZZZZZZZZZZZZZZZZZZZ", old.ID, "users/old/personal", "personal", "Personal", 1)
		w.exec(t, `INSERT INTO members (workspace, account, role, created_at) VALUES ($1, $2, $3, $4)
			ON CONFLICT (workspace, account) DO NOTHING`, "wsp_01HZZZZZZZZZZZZZZZZZZZZZZZ", old.ID, "owner", 1)
		m, err := w.GetMember(t.Context(), old, "users/old/personal", old.ID)
		must(t, err)
		if m.Version != 1 || m.UpdatedAt.UnixMilli() != 1 {
			t.Errorf("got %+v", m)
		}
		s := w.scene(t)
		var role string
		var suspended bool
		var owner, address, business, id string
		must(t, w.db.Read(t.Context(), func(tx *sqldb.Tx) error {
			return tx.QueryRow(`SELECT w.id, w.owner, w.scope, w.business, m.role, w.suspended_at IS NOT NULL
				FROM members m JOIN workspaces w ON w.id = m.workspace WHERE m.account = $1 AND w.scope = $2`, s.owner.ID, s.in.Scope).
				Scan(&id, &owner, &address, &business, &role, &suspended)
		}))
		if role != workspace.Owner || suspended || owner != s.owner.ID || business != "acme" {
			t.Errorf("the binary before sees %s %s %s", owner, business, role)
		}
	})
}

// TestWhatIsToldNamesWhoActed looks at one act of each kind of caller.
func TestWhatIsToldNamesWhoActed(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := w.scene(t)
		ctx := audit.With(t.Context(), audit.Source{RequestID: "req_1", IP: "192.0.2.1", Surface: "agents", Authority: "customer"})
		must(t, err2(w.Rename(ctx, s.owner, s.in.Scope, "New", 0)))
		e := w.events(t, s.in.Scope)[0]
		if e.Actor != s.owner.Actor || e.Source.RequestID != "req_1" || e.Source.IP != "192.0.2.1" || e.Target != (audit.Target{Kind: "workspace", ID: s.in.ID}) {
			t.Errorf("the chain says %+v", e)
		}
	})
}
