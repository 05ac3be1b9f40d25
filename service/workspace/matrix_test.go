package workspace_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/oklog/ulid/v2"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/listing"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/service/workspace"
)

// scene is a workspace with something of everything in it.
type scene struct {
	in      workspace.Membership
	owner   workspace.Caller // whose name it bears
	guest   string           // account of a viewer, who is in the team
	outside string           // account of a viewer, who is in no team
	team    string
	invited string
}

// scene makes a workspace for one act, in one transaction: there are hundreds of them.
func (w *world) scene(t *testing.T) scene {
	t.Helper()
	s := scene{owner: w.nextCaller(), guest: w.nextCaller().ID, outside: w.nextCaller().ID}
	id, address := "wsp_"+ulid.Make().String(), scope.Of(s.owner.Username, "acme").String()
	s.team, s.invited = "tem_"+ulid.Make().String(), "inv_"+ulid.Make().String()
	now := w.Now().UnixMilli()
	w.addProject(id, "site")
	w.addProject(id, "shop")
	must(t, w.db.Write(t.Context(), func(tx *sqldb.Tx) error {
		for _, row := range []struct {
			sql  string
			args []any
		}{
			{"INSERT INTO accounts (id, username, display_name, created_at, updated_at) VALUES ($1, $2, $2, 1, 1)", []any{s.owner.ID, s.owner.Username}},
			{"INSERT INTO workspaces (id, owner, scope, business, name, created_at, updated_at) VALUES ($1, $2, $3, 'acme', 'Acme', $4, $4)", []any{id, s.owner.ID, address, now}},
			{"INSERT INTO members (workspace, account, role, created_at) VALUES ($1, $2, 'owner', $5), ($1, $3, 'viewer', $5), ($1, $4, 'viewer', $5)",
				[]any{id, s.owner.ID, s.guest, s.outside, now}},
			{"INSERT INTO teams (id, workspace, name, folded, created_at, updated_at) VALUES ($1, $2, 'Core', 'core', $3, $3)", []any{s.team, id, now}},
			{"INSERT INTO team_members (team, account, workspace, created_at) VALUES ($1, $2, $3, $4)", []any{s.team, s.guest, id, now}},
			{"INSERT INTO team_projects (team, project, workspace, role, created_at) VALUES ($1, 'site', $2, 'builder', $3)", []any{s.team, id, now}},
			{`INSERT INTO invitations (id, workspace, email, role, token, inviter, created_at, updated_at, expires_at)
				VALUES ($1, $2, 'bob@example.com', 'viewer', $1, $3, $4, $4, $5)`, []any{s.invited, id, s.owner.ID, now, now + day.Milliseconds()}},
		} {
			if _, err := tx.Exec(row.sql, row.args...); err != nil {
				return err
			}
		}
		var err error
		s.in, _, err = workspace.Find(tx, s.owner.ID, address)
		return err
	}))
	return s
}

// verb is something that one does in a workspace.
type verb struct {
	name   string
	need   workspace.Right
	action string // what the audit log tells of it; empty: it changes nothing
	call   func(ctx context.Context, w *world, s scene, by workspace.Caller) error
}

func err2[T any](_ T, err error) error { return err }

// verbs are all that is done in a workspace, by the name of its method.
var verbs = []verb{
	{"Get", workspace.Enter, "", func(ctx context.Context, w *world, s scene, by workspace.Caller) error {
		return err2(w.Get(ctx, by, s.in.Scope))
	}},
	{"Rename", workspace.Manage, "workspace.renamed", func(ctx context.Context, w *world, s scene, by workspace.Caller) error {
		return err2(w.Rename(ctx, by, s.in.Scope, "New", 0))
	}},
	{"Archive", workspace.Own, "workspace.archived", func(ctx context.Context, w *world, s scene, by workspace.Caller) error {
		return err2(w.Archive(ctx, by, s.in.Scope))
	}},
	{"Unarchive", workspace.Own, "", func(ctx context.Context, w *world, s scene, by workspace.Caller) error {
		return err2(w.Unarchive(ctx, by, s.in.Scope))
	}},
	{"Delete", workspace.Own, "workspace.deleted", func(ctx context.Context, w *world, s scene, by workspace.Caller) error {
		return err2(w.Delete(ctx, by, s.in.Scope, "acme"))
	}},
	{"Restore", workspace.Own, "", func(ctx context.Context, w *world, s scene, by workspace.Caller) error {
		return err2(w.Restore(ctx, by, s.in.Scope))
	}},
	{"People", workspace.Read, "", func(ctx context.Context, w *world, s scene, by workspace.Caller) error {
		return err2(w.People(ctx, by, s.in.Scope, listing.Query{}))
	}},
	{"GetMember", workspace.Read, "", func(ctx context.Context, w *world, s scene, by workspace.Caller) error {
		return err2(w.GetMember(ctx, by, s.in.Scope, s.guest))
	}},
	{"ChangeRole", workspace.Manage, "member.changed", func(ctx context.Context, w *world, s scene, by workspace.Caller) error {
		return err2(w.ChangeRole(ctx, by, s.in.Scope, s.guest, workspace.Builder, 0))
	}},
	{"Remove", workspace.Manage, "member.removed", func(ctx context.Context, w *world, s scene, by workspace.Caller) error {
		return w.Remove(ctx, by, s.in.Scope, s.guest, 0)
	}},
	{"Invitations", workspace.Review, "", func(ctx context.Context, w *world, s scene, by workspace.Caller) error {
		return err2(w.Invitations(ctx, by, s.in.Scope, listing.Query{}))
	}},
	{"Invite", workspace.Manage, "invitation.created", func(ctx context.Context, w *world, s scene, by workspace.Caller) error {
		return err2(w.Invite(ctx, by, s.in.Scope, "eve@example.com", workspace.Viewer))
	}},
	{"Resend", workspace.Manage, "invitation.resent", func(ctx context.Context, w *world, s scene, by workspace.Caller) error {
		return err2(w.Resend(ctx, by, s.in.Scope, s.invited))
	}},
	{"Revoke", workspace.Manage, "invitation.revoked", func(ctx context.Context, w *world, s scene, by workspace.Caller) error {
		return w.Revoke(ctx, by, s.in.Scope, s.invited)
	}},
	{"Teams", workspace.Read, "", func(ctx context.Context, w *world, s scene, by workspace.Caller) error {
		return err2(w.Teams.List(ctx, by, s.in.Scope, listing.Query{}))
	}},
	{"GetTeam", workspace.Read, "", func(ctx context.Context, w *world, s scene, by workspace.Caller) error {
		return err2(w.Teams.Get(ctx, by, s.in.Scope, s.team))
	}},
	{"CreateTeam", workspace.Manage, "team.created", func(ctx context.Context, w *world, s scene, by workspace.Caller) error {
		return err2(w.Teams.Create(ctx, by, s.in.Scope, "Sales"))
	}},
	{"RenameTeam", workspace.Manage, "team.changed", func(ctx context.Context, w *world, s scene, by workspace.Caller) error {
		return err2(w.Teams.Rename(ctx, by, s.in.Scope, s.team, "Sales", 0))
	}},
	{"DeleteTeam", workspace.Manage, "team.deleted", func(ctx context.Context, w *world, s scene, by workspace.Caller) error {
		return w.Teams.Delete(ctx, by, s.in.Scope, s.team, 0)
	}},
	{"PutTeamMember", workspace.Manage, "team.member_added", func(ctx context.Context, w *world, s scene, by workspace.Caller) error {
		return err2(w.Teams.PutMember(ctx, by, s.in.Scope, s.team, s.outside))
	}},
	{"DropTeamMember", workspace.Manage, "team.member_removed", func(ctx context.Context, w *world, s scene, by workspace.Caller) error {
		return err2(w.Teams.DropMember(ctx, by, s.in.Scope, s.team, s.guest))
	}},
	{"PutTeamProject", workspace.Manage, "team.project_granted", func(ctx context.Context, w *world, s scene, by workspace.Caller) error {
		return err2(w.Teams.PutProject(ctx, by, s.in.Scope, s.team, "shop", workspace.Viewer))
	}},
	{"DropTeamProject", workspace.Manage, "team.project_revoked", func(ctx context.Context, w *world, s scene, by workspace.Caller) error {
		return err2(w.Teams.DropProject(ctx, by, s.in.Scope, s.team, "site"))
	}},
}

// elsewhere are the methods that no role in a workspace decides about, and the tests that hold them.
var elsewhere = map[string]string{
	"Create": "TestABusinessIsMadeUnderItsOwner", "List": "TestAListHoldsOnesOwn", "Deleted": "TestADeletedWorkspaceComesBackWithinItsHold",
	"All": "TestOnlyStaffSeeAllWorkspaces", "Suspend": "TestOnlyAdministratorsSuspend", "Reinstate": "TestOnlyAdministratorsSuspend",
	"Leave": "TestEverybodyMayLeave", "Accept": "TestAnInvitationIsForOneAddress", "Look": "TestAnInvitationIsForOneAddress", "Erase": "TestAnErasedWorkspaceLeavesATombstone",
	"Reserve": "TestAnImportedWorkspaceIsThereWhenItIsOpened", "Renew": "TestAnImportThatDiedIsDestroyed", "Open": "TestAnImportedWorkspaceIsThereWhenItIsOpened",
	"Discard": "TestAnImportThatDiedIsDestroyed",
	"Sweep":   "TestInvitationsThatExpiredLongAgoAreForgotten", "ProjectRole": "TestAProjectsRoleIsTheGreaterOne",
}

func TestEveryVerbHasARowInTheMatrix(t *testing.T) {
	methods := reflect.TypeFor[*workspace.Workspaces]()
	for i := range methods.NumMethod() {
		name := methods.Method(i).Name
		inMatrix := slices.ContainsFunc(verbs, func(v verb) bool { return v.name == name })
		if inMatrix == (elsewhere[name] != "") {
			t.Errorf("%s is in the matrix: %v, elsewhere: %q", name, inMatrix, elsewhere[name])
		}
	}
}

// seated makes somebody a member of a scene, who has nothing else.
func (w *world) seated(t *testing.T, s scene, role string) workspace.Caller {
	t.Helper()
	by := w.nextCaller()
	w.put(t, s.in, by, role)
	return by
}

// asker is who asks, and what is expected of it.
type asker struct {
	name string
	be   func(t *testing.T, w *world, s scene) workspace.Caller
	want func(v verb) (typ, role string)
}

func askers() []asker {
	never := func(typ, role string) func(verb) (string, string) {
		return func(verb) (string, string) { return typ, role }
	}
	all := []asker{
		{"stranger", func(t *testing.T, w *world, s scene) workspace.Caller { return w.nextCaller() }, never(fault.WorkspaceNotFound, "")},
		{"nobody", func(*testing.T, *world, scene) workspace.Caller {
			return workspace.Caller{Actor: audit.Actor{Kind: audit.Account}}
		}, never(fault.WorkspaceNotFound, "")},
		{"a staff role that there is not", func(_ *testing.T, _ *world, s scene) workspace.Caller { return staff(s.owner, "root") }, never(fault.WorkspaceNotFound, "")},
		{"a role that there is not", func(t *testing.T, w *world, s scene) workspace.Caller { return w.seated(t, s, "superuser") }, func(v verb) (string, string) {
			return fault.Forbidden, workspace.Least(v.need)
		}},
		{"staff support", func(t *testing.T, w *world, s scene) workspace.Caller {
			return staff(w.nextCaller(), workspace.StaffSupport)
		}, func(v verb) (string, string) {
			if v.need == workspace.Enter || v.need == workspace.Read || v.need == workspace.Review {
				return "", ""
			}
			return fault.Forbidden, workspace.Least(v.need)
		}},
		{"staff admin", func(t *testing.T, w *world, s scene) workspace.Caller {
			return staff(w.nextCaller(), workspace.StaffAdmin)
		}, never("", "")},
	}
	for _, kind := range []string{audit.Key, audit.Channel, audit.System, audit.Anonymous, audit.Operator, ""} {
		all = append(all, asker{"the owner's " + kind, func(_ *testing.T, _ *world, s scene) workspace.Caller {
			s.owner.Kind = kind
			return s.owner
		}, never(fault.Forbidden, workspace.Admin)})
	}
	for _, role := range workspace.Roles() {
		all = append(all, asker{role, func(t *testing.T, w *world, s scene) workspace.Caller { return w.seated(t, s, role) }, func(v verb) (string, string) {
			if workspace.Allows(role, v.need) {
				return "", ""
			}
			return fault.Forbidden, workspace.Least(v.need)
		}})
	}
	return all
}

// TestEveryRoleMayExactlyWhatItsRightsSay calls every verb as everybody. A refusal changes nothing; what is done stands in
// the workspace's chain once, and what staff do in the service's too.
func TestEveryRoleMayExactlyWhatItsRightsSay(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		cells, still := 0, w.scene(t)
		for _, a := range askers() {
			idle := a.be(t, w, still)
			for _, v := range verbs {
				// What must change nothing needs no scene of its own.
				s, by := still, idle
				typ, role := a.want(v)
				if typ == "" && v.action != "" {
					s = w.scene(t)
					by = a.be(t, w, s)
				}
				cells++
				w.try(t, a.name+" "+v.name, v, s, by, typ, role)
			}
		}
		t.Logf("%d cells", cells)
	})
}

// try calls a verb and looks at what comes of it.
func (w *world) try(t *testing.T, name string, v verb, s scene, by workspace.Caller, typ, role string) {
	t.Helper()
	const chain = "SELECT count(*) FROM audit_events WHERE chain = $1"
	before, told, staffed := w.dump(t, s.in.ID), w.count(t, chain, s.in.Scope), w.count(t, chain, "")
	err := v.call(t.Context(), w, s, by)
	if got := typeOf(err); got != typ || role != "" && fault.From(err).Meta["role"] != role {
		t.Errorf("%s: got %v, want %q %q", name, err, typ, role)
		return
	}
	now := w.count(t, chain, s.in.Scope)
	if typ != "" || v.action == "" {
		if after := w.dump(t, s.in.ID); after != before || now != told {
			t.Errorf("%s changed something:\n%s\n%s", name, before, after)
		}
		return
	}
	events := w.events(t, s.in.Scope)
	if now != told+1 || events[0].Action != v.action || events[0].Actor != by.Actor || events[0].Outcome != audit.Allow || events[0].Target.ID == "" {
		t.Errorf("%s: the chain says %+v", name, events)
	}
	if by.Staff != "" {
		staffed++
	}
	if got := w.count(t, chain, ""); got != staffed {
		t.Errorf("%s: %d events of the service, want %d", name, got, staffed)
	}
}

func typeOf(err error) string {
	if err == nil {
		return ""
	}
	return fault.From(err).Type
}

// dump is all rows of a workspace.
func (w *world) dump(t *testing.T, id string) string {
	t.Helper()
	var b strings.Builder
	must(t, w.db.Snapshot(t.Context(), func(tx *sqldb.Tx) error {
		b.Reset()
		for _, table := range []string{"workspaces WHERE id", "members WHERE workspace", "invitations WHERE workspace", "teams WHERE workspace", "team_members WHERE workspace", "team_projects WHERE workspace"} {
			rows, err := tx.Query("SELECT * FROM "+table+" = $1 ORDER BY 1, 2", id)
			if err != nil {
				return err
			}
			names, _ := rows.Columns()
			for rows.Next() {
				values := make([]any, len(names))
				to := make([]any, len(names))
				for i := range values {
					to[i] = &values[i]
				}
				if err := rows.Scan(to...); err != nil {
					return err
				}
				fmt.Fprintln(&b, table, values)
			}
			if err := rows.Err(); err != nil {
				return err
			}
			rows.Close()
		}
		return nil
	}))
	return b.String()
}

// TestNobodyHandlesARoleAboveTheirOwn tries every change of a role by everybody, and every removal.
func TestNobodyHandlesARoleAboveTheirOwn(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.business(t, w.somebody(t), "acme")
		by, target := w.somebody(t), w.somebody(t)
		for _, own := range workspace.Roles() {
			w.put(t, in, by, own)
			may := func(roles ...string) bool {
				return workspace.Allows(own, workspace.Manage) && !slices.ContainsFunc(roles, func(r string) bool { return !workspace.AtMost(r, own) })
			}
			for _, has := range workspace.Roles() {
				for _, gets := range workspace.Roles() {
					w.put(t, in, target, has)
					_, err := w.ChangeRole(t.Context(), by, in.Scope, target.ID, gets, 0)
					want, is := has, ""
					if may(has, gets) {
						want = gets
					} else {
						is = fault.Forbidden
					}
					if got := w.roleOf(t, in, target); typeOf(err) != is || got != want {
						t.Errorf("%s makes %s %s: %v, they are %s", own, has, gets, err, got)
					}
				}
				w.put(t, in, target, has)
				if err := w.Remove(t.Context(), by, in.Scope, target.ID, 0); (err == nil) != may(has) || err != nil && !fault.Is(err, fault.Forbidden) {
					t.Errorf("%s removes %s: %v", own, has, err)
				}
			}
		}
	})
}

// TestNobodyRaisesThemselves tries every change of one's own role.
func TestNobodyRaisesThemselves(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.business(t, w.somebody(t), "acme")
		by := w.somebody(t)
		for _, own := range workspace.Roles() {
			for _, wish := range workspace.Roles() {
				w.put(t, in, by, own)
				_, err := w.ChangeRole(t.Context(), by, in.Scope, by.ID, wish, 0)
				if now := w.roleOf(t, in, by); !workspace.AtMost(now, own) || err == nil && now != wish || err != nil && now != own {
					t.Errorf("%s wishes to be %s: %v, is %s", own, wish, err, now)
				}
			}
		}
	})
}

// TestNobodyInvitesAboveTheirOwnRole tries every invitation by everybody: to send, to send again, to revoke.
func TestNobodyInvitesAboveTheirOwnRole(t *testing.T) {
	eachWith(t, unlimited, func(t *testing.T, w *world) {
		owner := w.somebody(t)
		in := w.business(t, owner, "acme")
		by := w.somebody(t)
		for _, own := range workspace.Roles() {
			for _, role := range workspace.Roles() {
				w.put(t, in, by, own)
				may := workspace.Allows(own, workspace.Manage) && workspace.AtMost(role, own)
				check := func(doing string, err error) {
					t.Helper()
					if (err == nil) != may || err != nil && !fault.Is(err, fault.Forbidden) {
						t.Errorf("%s %s an invitation as %s: %v", own, doing, role, err)
					}
				}
				email := own + "-" + role + "@example.com"
				check("sends", err2(w.Invite(t.Context(), by, in.Scope, email, role)))
				theirs, err := w.Invite(t.Context(), owner, in.Scope, "other-"+email, role)
				must(t, err)
				check("resends", err2(w.Resend(t.Context(), by, in.Scope, theirs.ID)))
				check("revokes", w.Revoke(t.Context(), by, in.Scope, theirs.ID))
			}
		}
	})
}

// TestARefusalNamesTheRoleThatMay looks at what an admin is told who reaches too high.
func TestARefusalNamesTheRoleThatMay(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.business(t, w.somebody(t), "acme")
		admin, builder, target := w.member(t, in, workspace.Admin), w.member(t, in, workspace.Builder), w.member(t, in, workspace.Viewer)
		for role, by := range map[string]workspace.Caller{workspace.Owner: admin, workspace.Admin: builder} {
			_, err := w.ChangeRole(t.Context(), by, in.Scope, target.ID, workspace.Owner, 0)
			if f := refused(t, err, fault.Forbidden); f.Meta["role"] != role {
				t.Errorf("got %v, want %s", f.Meta, role)
			}
		}
	})
}

func TestOnlyAdministratorsSuspend(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := w.scene(t)
		someone := w.somebody(t)
		key := staff(someone, workspace.StaffAdmin)
		key.Kind = audit.Key
		for _, by := range []workspace.Caller{s.owner, someone, staff(someone, workspace.StaffSupport), staff(s.owner, "root"), key} {
			_, err := w.Suspend(t.Context(), by, s.in.ID, "spam")
			refused(t, err, fault.AdminRequired)
			_, err = w.Reinstate(t.Context(), by, s.in.ID)
			refused(t, err, fault.AdminRequired)
		}
		_, err := w.Suspend(t.Context(), staff(someone, workspace.StaffAdmin), s.in.ID, "spam")
		must(t, err)
	})
}
