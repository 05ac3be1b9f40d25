package access_test

import (
	"os"
	"testing"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/apikey"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/service/workspace"
)

func TestMain(m *testing.M) { os.Exit(sqldbtest.Reuse(m)) }

var (
	readsFiles  = access.May(workspace.Read).InProject().Key("projects:read")
	writesFiles = access.May(workspace.Work).InProject().Key("projects:write")
)

// TestWhoeverAskedIsJudgedByWhatTheyMayNow changes what somebody has after they asked for work, step by step.
func TestWhoeverAskedIsJudgedByWhatTheyMayNow(t *testing.T) {
	accounttest.Each(t, accounttest.Options{}, func(t *testing.T, w *accounttest.World) {
		ada, bo := w.Join(t, "ada@example.com").Account, w.Join(t, "bo@example.com").Account
		at := access.Place{Scope: "users/" + ada.Username + "/personal", Project: "site"}
		home, _, err := w.Membership(t.Context(), ada.ID, at.Scope)
		accounttest.Check(t, err)
		by := scope.By{Actor: bo.Username, Authority: scope.Customer, Account: bo.ID}
		staff := scope.By{Actor: bo.Username, Authority: scope.StaffAuth, Account: bo.ID}
		may := func(what string, by scope.By, n access.Need, refusal string) {
			t.Helper()
			acting, err := access.Act(t.Context(), w.DB, by, n, at)
			switch {
			case refusal != "":
				accounttest.Is(t, err, refusal)
			case err != nil:
				t.Errorf("%s: %v", what, err)
			case acting.Workspace != home.ID || acting.Actor.Username != by.Actor:
				t.Errorf("%s: %+v", what, acting)
			}
		}
		may("a stranger", by, readsFiles, fault.WorkspaceNotFound)
		w.Execute(t, "INSERT INTO members (workspace, account, role, created_at, updated_at) VALUES ($1, $2, 'builder', 1, 1)", home.ID, bo.ID)
		may("a builder reads", by, readsFiles, "")
		may("a builder writes", by, writesFiles, "")
		w.Execute(t, "UPDATE members SET role = 'viewer' WHERE account = $1 AND workspace = $2", bo.ID, home.ID)
		may("a viewer reads", by, readsFiles, "")
		may("a viewer writes", by, writesFiles, fault.Forbidden)
		w.Execute(t, "UPDATE workspaces SET suspended_at = 1 WHERE id = $1", home.ID)
		may("in a suspended workspace", by, readsFiles, fault.WorkspaceSuspended)
		w.Execute(t, "UPDATE workspaces SET suspended_at = NULL WHERE id = $1", home.ID)
		w.Execute(t, "UPDATE accounts SET suspended_at = 1 WHERE id = $1", bo.ID)
		may("a suspended account", by, readsFiles, fault.Forbidden)
		w.Execute(t, "UPDATE accounts SET suspended_at = NULL WHERE id = $1", bo.ID)
		w.Execute(t, "DELETE FROM members WHERE account = $1 AND workspace = $2", bo.ID, home.ID)
		may("one who left", by, readsFiles, fault.WorkspaceNotFound)

		may("staff who are none", staff, readsFiles, fault.Forbidden)
		w.Execute(t, "UPDATE accounts SET service_role = 'support' WHERE id = $1", bo.ID)
		may("support reads", staff, readsFiles, "")
		may("support writes", staff, writesFiles, fault.Forbidden)
		may("support as a customer", by, readsFiles, fault.WorkspaceNotFound)
		w.Execute(t, "UPDATE accounts SET service_role = 'admin' WHERE id = $1", bo.ID)
		may("an administrator writes", staff, writesFiles, "")

		for _, nobody := range []scope.By{{}, {Actor: "ada"}, {Actor: "channel:github"}, {Actor: "channel:github", Authority: scope.StaffAuth}, {Actor: "github:bo", Authority: scope.Customer}, {Actor: "bo", Authority: scope.Customer}, {Actor: "ada", Account: ada.ID}, {Actor: "ada", Authority: "root", Account: ada.ID}, {Actor: "ada", Authority: scope.Customer, Account: "acc_nobody"}} {
			may("nobody", nobody, readsFiles, fault.Forbidden)
		}
	})
}

// TestAChannelActsAsABuilderOfItsWorkspace changes how the workspace stands after a delivery came to it.
func TestAChannelActsAsABuilderOfItsWorkspace(t *testing.T) {
	accounttest.Each(t, accounttest.Options{}, func(t *testing.T, w *accounttest.World) {
		joined := w.Join(t, "ada@example.com")
		home := w.Personal(t, joined.Who)
		by := scope.Claims{Actor: scope.Channel("github"), Authority: scope.Customer}.By()
		at := access.Place{Scope: home.Scope, Project: "site"}
		may := func(what string, n access.Need, at access.Place, refusal string) {
			t.Helper()
			acting, err := access.Act(t.Context(), w.DB, by, n, at)
			switch {
			case refusal != "":
				accounttest.Is(t, err, refusal)
			case err != nil:
				t.Errorf("%s: %v", what, err)
			case acting.Workspace != home.ID || acting.Actor != audit.Actor{Kind: audit.Channel, ID: "github"}:
				t.Errorf("%s: %+v", what, acting)
			}
		}
		may("it reads", readsFiles, at, "")
		may("it writes", writesFiles, at, "")
		may("it manages", access.May(workspace.Manage), at, fault.Forbidden)
		may("it looks at what is managed", access.May(workspace.Review), at, fault.Forbidden)
		may("the service", access.Staff, at, fault.Forbidden)
		may("another workspace that is not there", readsFiles, access.Place{Scope: "users/nobody/personal"}, fault.WorkspaceNotFound)
		may("that of the staff", readsFiles, access.Place{Scope: scope.Admin}, fault.WorkspaceNotFound)

		acting, err := access.Act(t.Context(), w.DB, by, writesFiles, at)
		accounttest.Check(t, err)
		if from := audit.From(acting.Guard(t.Context())); from.Actor != acting.Actor || from.Authority != scope.Customer {
			t.Errorf("it is told of as %+v", from)
		}
		write := func() error {
			return w.DB.Write(acting.Guard(t.Context()), func(*sqldb.Tx) error { return nil })
		}
		accounttest.Check(t, write())
		for column, refusal := range map[string]string{"suspended_at": fault.WorkspaceSuspended, "archived_at": fault.Forbidden, "deleted_at": fault.WorkspaceNotFound} {
			w.Execute(t, "UPDATE workspaces SET "+column+" = 1 WHERE id = $1", home.ID)
			may("in a workspace with "+column, readsFiles, at, refusal)
			accounttest.Is(t, write(), refusal)
			w.Execute(t, "UPDATE workspaces SET "+column+" = NULL WHERE id = $1", home.ID)
		}
		w.Execute(t, "UPDATE accounts SET suspended_at = 1 WHERE id = $1", joined.Account.ID)
		may("where the owner is suspended", readsFiles, at, fault.Forbidden)
		accounttest.Is(t, write(), fault.Forbidden)
	})
}

// TestAKeyThatWasUsedIsJudgedByWhatItMayNow revokes a key after work was asked for by it.
func TestAKeyThatWasUsedIsJudgedByWhatItMayNow(t *testing.T) {
	accounttest.Each(t, accounttest.Options{}, func(t *testing.T, w *accounttest.World) {
		joined := w.Join(t, "ada@example.com")
		home := w.Personal(t, joined.Who)
		key, _, err := w.Keys.Create(t.Context(), joined.Who, home, apikey.Draft{Name: "ci", Scopes: []string{"projects:read"}})
		accounttest.Check(t, err)
		by := scope.By{Actor: joined.Account.Username, Authority: scope.Customer, Account: joined.Account.ID, Key: key.ID}
		act := func(by scope.By, n access.Need) (access.Acting, error) {
			return access.Act(t.Context(), w.DB, by, n, access.Place{Scope: home.Scope})
		}
		acting, err := act(by, readsFiles)
		accounttest.Check(t, err)
		if acting.Actor.Kind != "key" || acting.Actor.ID != key.ID {
			t.Errorf("acts as %+v", acting.Actor)
		}
		accounttest.Is(t, accounttest.ErrOf(act(by, writesFiles)), access.InsufficientScope)
		accounttest.Is(t, accounttest.ErrOf(act(by, access.May(workspace.Read))), fault.Forbidden)
		another := by
		another.Account = "acc_somebody"
		accounttest.Is(t, accounttest.ErrOf(act(another, readsFiles)), fault.Forbidden)
		accounttest.Is(t, accounttest.ErrOf(access.Act(t.Context(), w.DB, by, readsFiles, access.Place{Scope: "users/somebody/else"})), fault.WorkspaceNotFound)

		write := func() error {
			return w.DB.Write(acting.Guard(t.Context()), func(*sqldb.Tx) error { return nil })
		}
		accounttest.Check(t, write())
		w.Execute(t, "UPDATE api_keys SET revoked_at = 1 WHERE id = $1", key.ID)
		accounttest.Is(t, accounttest.ErrOf(act(by, readsFiles)), apikey.Invalid)
		accounttest.Is(t, write(), apikey.Invalid)
	})
}
