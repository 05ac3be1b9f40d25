package workspace_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/listing"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/strictjson"
	"svc.dev/svc/service/workspace"
)

func TestPeopleAreCalledAsAccountsKnowThem(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada, bob := w.person(t, "ada"), w.person(t, "bob")
		in := w.business(t, ada, "acme")
		w.pass(time.Second)
		w.put(t, in, bob, workspace.Builder)
		team, err := w.Teams.Create(t.Context(), ada, in.Scope, "Core")
		must(t, err)
		_, err = w.Teams.PutMember(t.Context(), ada, in.Scope, team.ID, bob.ID)
		must(t, err)
		w.exec(t, `INSERT INTO sessions (id, token, account, created_at, last_seen_at, auth_time, auth_method, ip, user_agent, surface)
			VALUES ('ses_1', 't', $1, 1, 1, 1, 'password', '', '', '')`, bob.ID)
		page, err := w.People(t.Context(), bob, in.Scope, listing.Query{})
		must(t, err)
		if len(page.Items) != 2 || page.Items[1].Account != ada.ID || page.Items[1].Role != workspace.Owner {
			t.Fatalf("got %+v", page)
		}
		got := page.Items[0]
		if got.Username != "bob" || got.DisplayName != "Bob" || got.LastSeenAt.IsZero() || got.Version != 1 || !got.UpdatedAt.Equal(w.Now()) ||
			!slices.Equal(got.Teams, []workspace.TeamName{{ID: team.ID, Name: "Core"}}) {
			t.Errorf("got %+v", got)
		}
		one, err := w.GetMember(t.Context(), ada, in.Scope, bob.ID)
		must(t, err)
		if fmt.Sprint(one) != fmt.Sprint(got) {
			t.Errorf("got %+v", one)
		}
		// An account that is gone leaves its id.
		w.exec(t, "DELETE FROM accounts WHERE id = $1", bob.ID)
		one, err = w.GetMember(t.Context(), ada, in.Scope, bob.ID)
		must(t, err)
		if one.Username != "" || one.Account != bob.ID {
			t.Errorf("got %+v", one)
		}
	})
}

func TestEverybodySeesTheirOwnEntry(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.business(t, w.somebody(t), "acme")
		by := w.member(t, in, workspace.Billing)
		m, err := w.GetMember(t.Context(), by, in.Scope, by.ID)
		must(t, err)
		if m.Role != workspace.Billing {
			t.Errorf("got %+v", m)
		}
	})
}

func TestAChangeOfRoleAppliesAtOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada := w.person(t, "ada")
		in := w.business(t, ada, "acme")
		bob := w.member(t, in, workspace.Admin)
		_, err := w.Rename(t.Context(), bob, in.Scope, "By Bob", 0)
		must(t, err)
		m, err := w.ChangeRole(t.Context(), ada, in.Scope, bob.ID, workspace.Viewer, 1)
		must(t, err)
		if m.Role != workspace.Viewer || m.Version != 2 {
			t.Errorf("got %+v", m)
		}
		_, err = w.Rename(t.Context(), bob, in.Scope, "By Bob again", 0)
		refused(t, err, fault.Forbidden)
		_, err = w.ChangeRole(t.Context(), ada, in.Scope, bob.ID, workspace.Admin, 1)
		if f := refused(t, err, fault.VersionConflict); f.Meta["version"] != int64(2) {
			t.Errorf("got %v", f.Meta)
		}
		refused(t, w.Remove(t.Context(), ada, in.Scope, bob.ID, 1), fault.VersionConflict)
		must(t, w.Remove(t.Context(), ada, in.Scope, bob.ID, 2))
		_, err = w.Get(t.Context(), bob, in.Scope)
		refused(t, err, fault.WorkspaceNotFound)
		e := w.events(t, in.Scope)[0]
		if e.Action != "member.removed" || e.Subject == nil || e.Subject.ID != bob.ID || e.Subject.Username != bob.Username || e.Target.ID != bob.ID {
			t.Errorf("the chain says %+v", e)
		}
	})
}

func TestTheSameRoleAgainChangesNothing(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada := w.person(t, "ada")
		in := w.business(t, ada, "acme")
		before := w.dump(t, in.ID)
		m, err := w.ChangeRole(t.Context(), ada, in.Scope, ada.ID, workspace.Owner, 0)
		must(t, err)
		if m.Version != 1 || w.dump(t, in.ID) != before || len(w.events(t, in.Scope)) != 1 {
			t.Errorf("got %+v", m)
		}
	})
}

func TestARoleThatThereIsNotIsRefused(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada := w.person(t, "ada")
		in := w.business(t, ada, "acme")
		bob := w.member(t, in, workspace.Viewer)
		for _, role := range []string{"", "Owner", "root", "support", "owner ", "superuser", "owner\x00"} {
			_, err := w.ChangeRole(t.Context(), ada, in.Scope, bob.ID, role, 0)
			if got := strictjson.FieldsOf(refused(t, err, fault.InvalidRequest)); len(got) != 1 || got[0].Field != "role" {
				t.Errorf("%q: %v", role, got)
			}
			_, err = w.Invite(t.Context(), ada, in.Scope, "eve@example.com", role)
			refused(t, err, fault.InvalidRequest)
		}
		// A member who has such a role all the same can be given another by an owner alone.
		w.put(t, in, bob, "superuser")
		_, err := w.ChangeRole(t.Context(), ada, in.Scope, bob.ID, workspace.Viewer, 0)
		refused(t, err, fault.Forbidden)
	})
}

func TestEverybodyMayLeave(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada := w.person(t, "ada")
		in := w.business(t, ada, "acme")
		for _, role := range workspace.Roles() {
			by := w.member(t, in, role)
			must(t, w.Leave(t.Context(), by, in.Scope))
			refused(t, w.Leave(t.Context(), by, in.Scope), fault.WorkspaceNotFound)
			if e := w.events(t, in.Scope)[0]; e.Action != "member.left" || e.Actor != by.Actor {
				t.Errorf("the chain says %+v", e)
			}
		}
		refused(t, w.Leave(t.Context(), w.somebody(t), in.Scope), fault.WorkspaceNotFound)
		key := w.member(t, in, workspace.Viewer)
		key.Kind = audit.Key
		refused(t, w.Leave(t.Context(), key, in.Scope), fault.Forbidden)
	})
}

func TestWhoLeavesIsInNoTeam(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := w.scene(t)
		guest := workspace.Caller{Actor: person(s.guest, "guest")}
		if got := w.projectRole(t, s, guest, "site"); got != workspace.Builder {
			t.Errorf("the guest is %q", got)
		}
		must(t, w.Leave(t.Context(), guest, s.in.Scope))
		if got := w.projectRole(t, s, guest, "site"); got != "" {
			t.Errorf("who left is %q", got)
		}
		// Coming back does not bring back the team.
		w.put(t, s.in, guest, workspace.Viewer)
		if got := w.projectRole(t, s, guest, "site"); got != workspace.Viewer {
			t.Errorf("who came back is %q", got)
		}
	})
}

func (w *world) projectRole(t *testing.T, s scene, by workspace.Caller, project string) (role string) {
	t.Helper()
	role, err := sqldb.Read(t.Context(), w.db, func(tx *sqldb.Tx) (string, error) { return workspace.ProjectRole(tx, by.ID, s.in.ID, project) })
	must(t, err)
	return role
}

func TestTheAccountThatTheScopeNamesStaysOwner(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada := w.person(t, "ada")
		in := w.business(t, ada, "acme")
		second := w.member(t, in, workspace.Owner)
		for _, by := range []workspace.Caller{ada, second, staff(w.somebody(t), workspace.StaffAdmin)} {
			for _, role := range []string{workspace.Admin, workspace.Builder, workspace.Viewer, workspace.Billing} {
				_, err := w.ChangeRole(t.Context(), by, in.Scope, ada.ID, role, 0)
				if f := refused(t, err, fault.LastOwner); !slices.Equal(f.Meta["workspaces"].([]string), []string{in.Scope}) {
					t.Errorf("got %v", f.Meta)
				}
			}
			refused(t, w.Remove(t.Context(), by, in.Scope, ada.ID, 0), fault.LastOwner)
		}
		refused(t, w.Leave(t.Context(), ada, in.Scope), fault.LastOwner)
		// The others are not kept.
		_, err := w.ChangeRole(t.Context(), ada, in.Scope, second.ID, workspace.Viewer, 0)
		must(t, err)
		if w.roleOf(t, in, ada) != workspace.Owner {
			t.Error("the owner is none")
		}
	})
}

// TestTheLastOwnerCannotLeave begins with a workspace that has lost the owner whose name it bears: then any other counts.
func TestTheLastOwnerCannotLeave(t *testing.T) {
	const n = 16
	each(t, func(t *testing.T, w *world) {
		ada := w.person(t, "ada")
		for round, act := range map[string]func(in workspace.Membership, by workspace.Caller) error{
			"leave": func(in workspace.Membership, by workspace.Caller) error { return w.Leave(t.Context(), by, in.Scope) },
			"remove": func(in workspace.Membership, by workspace.Caller) error {
				return w.Remove(t.Context(), by, in.Scope, by.ID, 0)
			},
			"demote": func(in workspace.Membership, by workspace.Caller) error {
				return err2(w.ChangeRole(t.Context(), by, in.Scope, by.ID, workspace.Viewer, 0))
			},
		} {
			in := w.business(t, ada, round)
			w.exec(t, "DELETE FROM members WHERE workspace = $1", in.ID)
			var owners []workspace.Caller
			for range n {
				owners = append(owners, w.member(t, in, workspace.Owner))
			}
			got := together(n, func(i int) error { return act(in, owners[i]) })
			if got[""] != n-1 || got[fault.LastOwner] != 1 {
				t.Errorf("%s: %v", round, got)
			}
			if left := w.count(t, "SELECT count(*) FROM members WHERE workspace = $1 AND role = 'owner'", in.ID); left != 1 {
				t.Errorf("%s: %d owners are left", round, left)
			}
		}
	})
}

// TestOwnersWhoDemoteEachOtherAtOnceLeaveOne lets everybody demote the next in a ring.
func TestOwnersWhoDemoteEachOtherAtOnceLeaveOne(t *testing.T) {
	const n = 16
	each(t, func(t *testing.T, w *world) {
		ada := w.person(t, "ada")
		in := w.business(t, ada, "acme")
		w.exec(t, "DELETE FROM members WHERE workspace = $1", in.ID)
		var owners []workspace.Caller
		for range n {
			owners = append(owners, w.member(t, in, workspace.Owner))
		}
		got := together(n, func(i int) error {
			return err2(w.ChangeRole(t.Context(), owners[i], in.Scope, owners[(i+1)%n].ID, workspace.Viewer, 0))
		})
		left := w.count(t, "SELECT count(*) FROM members WHERE workspace = $1 AND role = 'owner'", in.ID)
		// An owner who was demoted before their turn could demote nobody.
		if left < 1 || left != n-got[""] || got[""]+got[fault.Forbidden]+got[fault.LastOwner] != n {
			t.Errorf("%d owners are left, %v", left, got)
		}
		if told := len(w.events(t, in.Scope)) - 1; told != got[""] {
			t.Errorf("%d demotions are told of %d", told, got[""])
		}
	})
}

// TestNobodyComesToAWorkspaceWhoseOwnerGoes lets an account be deleted, as service/account does it, while its guest accepts.
func TestNobodyComesToAWorkspaceWhoseOwnerGoes(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for round := range 12 {
			owner, guest := w.somebody(t), w.somebody(t)
			in := w.business(t, owner, "acme")
			sent, err := w.Invite(t.Context(), owner, in.Scope, fmt.Sprintf("g%d@example.com", round), workspace.Viewer)
			must(t, err)
			deleted := false
			got := together(2, func(i int) error {
				if i == 0 {
					return err2(w.Accept(t.Context(), guestOf(guest, sent.Email, false), tokenOf(sent)))
				}
				return w.db.Write(t.Context(), func(tx *sqldb.Tx) error {
					shared, err := workspace.SharedOf(tx, owner.ID)
					if deleted = len(shared) == 0; err != nil || !deleted {
						return err
					}
					_, err = tx.Exec("UPDATE accounts SET suspended_at = 1 WHERE id = $1", owner.ID)
					return err
				})
			})
			if joined := w.roleOf(t, in, guest) != ""; joined == deleted {
				t.Errorf("deleted %v, joined %v: %v", deleted, joined, got)
			}
		}
	})
}

func guestOf(by workspace.Caller, email string, verified bool) workspace.Guest {
	return workspace.Guest{Actor: by.Actor, Email: email, Verified: verified}
}

// tokenOf is the token of an invitation that was handed over.
func tokenOf(sent workspace.Sent) string {
	_, token, _ := strings.Cut(sent.AcceptURL, "#t=")
	return token
}

func TestPeopleAreFoundWhateverTheirLetters(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada, bob := w.person(t, "ada"), w.person(t, "bob")
		in := w.business(t, ada, "acme")
		w.put(t, in, bob, workspace.Builder)
		w.exec(t, "UPDATE accounts SET display_name = 'Élodie ÖZIL' WHERE id = $1", bob.ID)
		for _, q := range []string{"élodie", "ÉLODIE", "özil", "BOB", "odi"} {
			page, err := w.People(t.Context(), ada, in.Scope, listing.Query{Q: q})
			must(t, err)
			if len(page.Items) != 1 || page.Items[0].Account != bob.ID {
				t.Errorf("%q finds %+v", q, page.Items)
			}
		}
	})
}
