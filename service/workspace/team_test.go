package workspace_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/strictjson"
	"svc.dev/svc/service/workspace"
)

func TestATeamHasMembersAndProjects(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada, bob := w.person(t, "ada"), w.person(t, "bob")
		in := w.business(t, ada, "acme")
		w.put(t, in, bob, workspace.Viewer)
		w.addProject(in.ID, "site")
		team, err := w.Teams.Create(t.Context(), ada, in.Scope, "  Core  ")
		must(t, err)
		if team.Name != "Core" || team.Version != 1 || len(team.Members)+len(team.Projects) != 0 {
			t.Errorf("got %+v", team)
		}
		for _, version := range []int64{2, 2} { // the second time nothing changes
			team, err = w.Teams.PutMember(t.Context(), ada, in.Scope, team.ID, bob.ID)
			must(t, err)
			if team.Version != version || !slices.Equal(team.Members, []workspace.Colleague{{Account: bob.ID, Username: "bob", DisplayName: "Bob"}}) {
				t.Errorf("got %+v", team)
			}
		}
		for _, step := range []struct {
			role    string
			version int64
		}{{workspace.Builder, 3}, {workspace.Builder, 3}, {workspace.Admin, 4}} {
			team, err = w.Teams.PutProject(t.Context(), ada, in.Scope, team.ID, "site", step.role)
			must(t, err)
			if team.Version != step.version || !slices.Equal(team.Projects, []workspace.TeamProject{{Slug: "site", Role: step.role}}) {
				t.Errorf("got %+v", team)
			}
		}
		got, err := w.Teams.Get(t.Context(), bob, in.Scope, team.ID)
		must(t, err)
		if fmt.Sprint(got) != fmt.Sprint(team) {
			t.Errorf("got %+v", got)
		}
		team, err = w.Teams.Rename(t.Context(), ada, in.Scope, team.ID, "CORE", 4)
		must(t, err)
		_, err = w.Teams.Rename(t.Context(), ada, in.Scope, team.ID, "Core", 4)
		refused(t, err, fault.VersionConflict)
		must(t, err2(w.Teams.DropMember(t.Context(), ada, in.Scope, team.ID, bob.ID)))
		must(t, err2(w.Teams.DropProject(t.Context(), ada, in.Scope, team.ID, "site")))
		_, err = w.Teams.DropMember(t.Context(), ada, in.Scope, team.ID, bob.ID)
		refused(t, err, fault.ItemNotFound)
		_, err = w.Teams.DropProject(t.Context(), ada, in.Scope, team.ID, "site")
		refused(t, err, fault.ItemNotFound)
		refused(t, w.Teams.Delete(t.Context(), ada, in.Scope, team.ID, 6), fault.VersionConflict)
		must(t, w.Teams.Delete(t.Context(), ada, in.Scope, team.ID, 7))
		_, err = w.Teams.Get(t.Context(), ada, in.Scope, team.ID)
		refused(t, err, fault.ItemNotFound)
		want := []string{"workspace.created", "team.created", "team.member_added", "team.project_granted", "team.project_granted", "team.changed",
			"team.member_removed", "team.project_revoked", "team.deleted"}
		if got := w.actions(t, in.Scope); !slices.Equal(got, want) {
			t.Errorf("the chain says %v", got)
		}
	})
}

func TestATeamsNameIsItsOwn(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada := w.person(t, "ada")
		in, other := w.business(t, ada, "acme"), w.business(t, ada, "other")
		must(t, err2(w.Teams.Create(t.Context(), ada, in.Scope, "Köln")))
		second, err := w.Teams.Create(t.Context(), ada, in.Scope, "Bonn")
		must(t, err)
		_, err = w.Teams.Create(t.Context(), ada, in.Scope, "KÖLN")
		refused(t, err, fault.NameTaken)
		_, err = w.Teams.Rename(t.Context(), ada, in.Scope, second.ID, "köln", 0)
		refused(t, err, fault.NameTaken)
		must(t, err2(w.Teams.Create(t.Context(), ada, other.Scope, "Köln")))
		for name, problem := range map[string]string{"": "too_short", " ": "too_short", strings.Repeat("x", 81): "too_long", "a\nb": "invalid", "\xff": "invalid", "a\x00": "invalid"} {
			_, err := w.Teams.Create(t.Context(), ada, in.Scope, name)
			if got := strictjson.FieldsOf(refused(t, err, fault.InvalidRequest)); len(got) != 1 || got[0].Field != "name" || got[0].Type != problem {
				t.Errorf("%q: %v", name, got)
			}
			_, err = w.Teams.Rename(t.Context(), ada, in.Scope, second.ID, name, 0)
			refused(t, err, fault.InvalidRequest)
		}
		if got := together(16, func(int) error { return err2(w.Teams.Create(t.Context(), ada, in.Scope, "Race")) }); got[""] != 1 || got[fault.NameTaken] != 15 {
			t.Errorf("got %v", got)
		}
	})
}

// TestAProjectsRoleIsTheGreaterOne tries every own role with every role of one team and of two.
func TestAProjectsRoleIsTheGreaterOne(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := w.scene(t)
		guest := workspace.Caller{Actor: person(s.guest, "guest")}
		second, err := w.Teams.Create(t.Context(), s.owner, s.in.Scope, "Second")
		must(t, err)
		must(t, err2(w.Teams.PutMember(t.Context(), s.owner, s.in.Scope, second.ID, s.guest)))
		rank := map[string]int{"": 0, "billing": 1, "viewer": 2, "builder": 3, "admin": 4, "owner": 5}
		for _, one := range []string{"viewer", "builder", "admin"} {
			must(t, err2(w.Teams.PutProject(t.Context(), s.owner, s.in.Scope, s.team, "site", one)))
			for _, two := range []string{"viewer", "builder", "admin"} {
				must(t, err2(w.Teams.PutProject(t.Context(), s.owner, s.in.Scope, second.ID, "site", two)))
				for _, own := range workspace.Roles() {
					w.put(t, s.in, guest, own)
					want := own
					for _, r := range []string{one, two} {
						if rank[r] > rank[want] {
							want = r
						}
					}
					if got := w.projectRole(t, s, guest, "site"); got != want {
						t.Errorf("%s with %s and %s is %s", own, one, two, got)
					}
					if got := w.projectRole(t, s, guest, "shop"); got != own {
						t.Errorf("%s is %s in a project of no team", own, got)
					}
				}
			}
		}
		// A role in a project is none in the workspace.
		w.put(t, s.in, guest, workspace.Viewer)
		if got := w.roleOf(t, s.in, guest); got != workspace.Viewer {
			t.Errorf("in the workspace the guest is %q", got)
		}
	})
}

func TestAProjectsRoleIsForMembers(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s, other := w.scene(t), w.scene(t)
		guest := workspace.Caller{Actor: person(s.guest, "guest")}
		if got := w.projectRole(t, other, guest, "site"); got != "" {
			t.Errorf("a stranger is %q", got)
		}
		// Rows that name a team of another workspace give nothing.
		w.exec(t, "INSERT INTO team_members (team, account, workspace, created_at) VALUES ($1, $2, $3, 0)", s.team, other.outside, other.in.ID)
		if got := w.projectRole(t, other, workspace.Caller{Actor: person(other.outside, "outside")}, "site"); got != workspace.Viewer {
			t.Errorf("the guest is %q", got)
		}
		must(t, err2(w.Delete(t.Context(), s.owner, s.in.Scope, "acme")))
		if got := w.projectRole(t, s, guest, "site"); got != "" {
			t.Errorf("in a deleted workspace the guest is %q", got)
		}
	})
}

func TestATeamGivesNoRoleThatAProjectHasNot(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := w.scene(t)
		for _, role := range []string{"", "owner", "billing", "support", "root", "Admin"} {
			_, err := w.Teams.PutProject(t.Context(), s.owner, s.in.Scope, s.team, "site", role)
			if got := strictjson.FieldsOf(refused(t, err, fault.InvalidRequest)); len(got) != 1 || got[0].Field != "role" {
				t.Errorf("%q: %v", role, got)
			}
		}
		for _, slug := range []string{"", "unknown", "..", "a/b", "Site", "personal", "site\x00", strings.Repeat("a", 65)} {
			_, err := w.Teams.PutProject(t.Context(), s.owner, s.in.Scope, s.team, slug, workspace.Viewer)
			refused(t, err, fault.ItemNotFound)
			_, err = w.Teams.DropProject(t.Context(), s.owner, s.in.Scope, s.team, slug)
			refused(t, err, fault.ItemNotFound)
		}
	})
}

func TestAnotherProjectOfTheNameIsNotTheTeams(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := w.scene(t)
		guest := workspace.Caller{Actor: person(s.guest, "guest")}
		must(t, w.db.Write(t.Context(), func(tx *sqldb.Tx) error { return workspace.ForgetProject(tx, s.in.ID, "site") }))
		if got := w.projectRole(t, s, guest, "site"); got != workspace.Viewer {
			t.Errorf("the guest is %q", got)
		}
	})
}

func TestThereAreSoManyTeamsAndNoMore(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := w.scene(t)
		must(t, w.db.Write(t.Context(), func(tx *sqldb.Tx) error {
			for i := range 500 {
				for _, statement := range []string{
					"INSERT INTO team_projects (team, project, workspace, role, created_at) VALUES ($1, $3, $2, 'viewer', 0)",
					"INSERT INTO team_members (team, account, workspace, created_at) VALUES ($1, $3, $2, 0)",
				} {
					if _, err := tx.Exec(statement, s.team, s.in.ID, fmt.Sprintf("x-%d", i)); err != nil {
						return err
					}
				}
				if i >= 99 {
					continue
				}
				if _, err := tx.Exec("INSERT INTO teams (id, workspace, name, folded, created_at, updated_at) VALUES ($1, $2, $1, $1, 0, 0)", fmt.Sprintf("tem_%026d", i), s.in.ID); err != nil {
					return err
				}
			}
			return nil
		}))
		before := w.dump(t, s.in.ID)
		_, err := w.Teams.Create(t.Context(), s.owner, s.in.Scope, "More")
		refused(t, err, fault.InvalidRequest)
		_, err = w.Teams.PutMember(t.Context(), s.owner, s.in.Scope, s.team, s.outside)
		refused(t, err, fault.InvalidRequest)
		_, err = w.Teams.PutProject(t.Context(), s.owner, s.in.Scope, s.team, "shop", workspace.Viewer)
		refused(t, err, fault.InvalidRequest)
		// What is there can be changed all the same.
		must(t, err2(w.Teams.PutProject(t.Context(), s.owner, s.in.Scope, s.team, "site", workspace.Builder)))
		if w.dump(t, s.in.ID) != before {
			t.Error("something has changed")
		}
	})
}
