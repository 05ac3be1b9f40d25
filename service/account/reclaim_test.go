package account_test

import (
	"testing"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/workspace"
)

// nest is an account with an address that nobody proved, and all that its maker can leave behind with the help of somebody
// else whose address is proven.
type nest struct {
	*accounttest.World
	spaces     *workspace.Workspaces
	squatter   account.Registered
	accomplice account.Registered
	key        string   // of the accomplice, in the personal workspace
	invited    []string // tokens of invitations that the accomplice and the squatter sent
	shop       string   // scope of another business
	gone       string   // and of one that is deleted
}

const victim = "victim@example.com"

// as is somebody as workspaces know them.
func as(who account.Account) workspace.Caller { return workspace.Caller{Actor: who.Actor()} }

func newNest(t *testing.T, w *accounttest.World) *nest {
	t.Helper()
	n := &nest{World: w, spaces: spacesOf(t, w)}
	n.squatter, n.accomplice = join(t, w, victim), join(t, w, "mallory@example.com")
	execute(t, w, "UPDATE accounts SET email_verified = 1 WHERE id = $1", n.accomplice.Account.ID)
	for _, business := range []string{"shop", "gone"} {
		m, err := n.spaces.Create(t.Context(), as(n.squatter.Account), business, business)
		check(t, err)
		n.fill(t, m.Scope)
	}
	n.shop, n.gone = n.at("shop"), n.at("gone")
	check(t, errOf(n.spaces.Delete(t.Context(), as(n.squatter.Account), n.gone, "gone")))
	n.fill(t, n.at("personal"))
	m, _, err := w.Membership(t.Context(), n.accomplice.Account.ID, n.at("personal"))
	check(t, err)
	_, n.key, err = w.CreateKey(t.Context(), n.accomplice.Who, m, account.NewKey{Name: "k", Scopes: []string{"agents:read"}})
	check(t, err)
	execute(t, w, "INSERT INTO installation_bindings (workspace, provider, installation, scope, account, created_at) VALUES ($1, 'github', 7, $2, $3, 1)",
		m.ID, m.Scope, n.accomplice.Account.ID)
	return n
}

// spacesOf is the workspaces of a world.
func spacesOf(t *testing.T, w *accounttest.World) *workspace.Workspaces {
	t.Helper()
	spaces, err := workspace.New(workspace.Config{
		DB: w.DB, Audit: w.Log, Mail: w.Box, Platform: accounttest.Platform, Normal: account.NormalEmail, Lookup: w.Colleagues, Now: w.Clock.Now,
		HasProject: func(*sqldb.Tx, string, string) (bool, error) { return true, nil },
	})
	check(t, err)
	return spaces
}

func (n *nest) at(business string) string {
	return "users/" + n.squatter.Account.Username + "/" + business
}

// fill lets the accomplice into a workspace as an owner, makes a team of them, and lets both invite somebody else.
func (n *nest) fill(t *testing.T, scope string) {
	t.Helper()
	own, theirs := as(n.squatter.Account), as(n.accomplice.Account)
	n.invite(t, own, scope, "mallory@example.com", workspace.Owner)
	token := n.invited[len(n.invited)-1]
	guest := workspace.Guest{Actor: theirs.Actor, Email: "mallory@example.com", Verified: true}
	check(t, errOf(n.spaces.Accept(t.Context(), guest, token)))
	team, err := n.spaces.CreateTeam(t.Context(), theirs, scope, "Everybody")
	check(t, err)
	check(t, errOf(n.spaces.PutTeamMember(t.Context(), theirs, scope, team.ID, n.accomplice.Account.ID)))
	check(t, errOf(n.spaces.PutTeamProject(t.Context(), theirs, scope, team.ID, "site", workspace.Admin)))
	n.invite(t, theirs, scope, "third@example.com", workspace.Owner)
	n.invite(t, own, scope, "fourth@example.com", workspace.Viewer)
}

func (n *nest) invite(t *testing.T, by workspace.Caller, scope, email, role string) {
	t.Helper()
	check(t, errOf(n.spaces.Invite(t.Context(), by, scope, email, role)))
	n.invited = append(n.invited, mailed(t, n.World, email))
}

// isLeft fails unless the accomplice is in the squatter's workspaces, or is not.
func (n *nest) isLeft(t *testing.T, want bool) {
	t.Helper()
	who := n.accomplice.Account.ID
	for _, scope := range []string{n.at("personal"), n.shop} {
		if _, found, err := n.Membership(t.Context(), who, scope); err != nil || found != want {
			t.Errorf("%s: the accomplice is a member: %t, %v", scope, found, err)
		}
	}
	if _, err := n.spaces.Restore(t.Context(), as(n.accomplice.Account), n.gone); (err == nil) != want {
		t.Errorf("the accomplice restores what was deleted: %v", err)
	}
	if _, err := n.Bearer(t.Context(), n.key); (err == nil) != want {
		t.Errorf("the accomplice's key: %v", err)
	}
	for table, most := range map[string]int64{"members": 3, "team_members": 0, "invitations": 0, "installation_bindings": 0} {
		got := count(t, n.World, "SELECT count(*) FROM "+table+" WHERE workspace IN (SELECT id FROM workspaces WHERE owner = $1)", n.squatter.Account.ID)
		if (got > most) != want {
			t.Errorf("%s: %d rows", table, got)
		}
	}
	if got := count(t, n.World, "SELECT count(*) FROM api_keys WHERE creator = $1 AND revoked_at IS NULL", who); (got == 1) != want {
		t.Errorf("%d keys of the accomplice are listed", got)
	}
	guest := workspace.Guest{Actor: as(n.accomplice.Account).Actor, Email: "fourth@example.com", Verified: true}
	if _, err := n.spaces.Accept(t.Context(), guest, n.invited[len(n.invited)-1]); (err == nil) != want {
		t.Errorf("the invitation: %v", err)
	}
}

// TestTheFirstProofLeavesTheWorkspacesToTheHolder tries everything by which an address is proven for the first time, by a holder
// who was never inside and from a session of the account.
func TestTheFirstProofLeavesTheWorkspacesToTheHolder(t *testing.T) {
	o := byMail
	o.Edit = func(c *account.Config) { c.Strict = false }
	for name, c := range map[string]struct {
		prove func(t *testing.T, n *nest, from *account.Who) error
		from  bool // can be asked from a session
	}{
		"verify": {func(t *testing.T, n *nest, from *account.Who) error {
			check(t, n.SendVerification(t.Context(), n.squatter.Who))
			return n.Verify(t.Context(), mailed(t, n.World, victim), from)
		}, true},
		"reset": {func(t *testing.T, n *nest, _ *account.Who) error {
			check(t, n.Forgot(accounttest.From(t), victim))
			return errOf(n.Reset(accounttest.From(t), mailed(t, n.World, victim), other))
		}, false},
		"another address": {func(t *testing.T, n *nest, from *account.Who) error {
			check(t, n.ChangeEmail(t.Context(), n.squatter.Who, "holder@example.com"))
			return n.Verify(t.Context(), mailed(t, n.World, "holder@example.com"), from)
		}, true},
	} {
		for _, inside := range []bool{false, true} {
			if inside && !c.from {
				continue
			}
			t.Run(name+map[bool]string{false: " from nowhere", true: " from a session"}[inside], func(t *testing.T) {
				each(t, o, func(t *testing.T, w *accounttest.World) {
					n := newNest(t, w)
					var from *account.Who
					if inside {
						from = &n.squatter.Who
					}
					check(t, c.prove(t, n, from))
					n.isLeft(t, inside)
					if signedIn(t, w, n.squatter.Token) != inside {
						t.Errorf("the session that there was is alive: %t", !inside)
					}
				})
			})
		}
	}
}

// TestASessionOfAnotherAccountProvesNothing opens the link in a browser that is signed in to another account.
func TestASessionOfAnotherAccountProvesNothing(t *testing.T) {
	o := byMail
	o.Edit = func(c *account.Config) { c.Strict = false }
	each(t, o, func(t *testing.T, w *accounttest.World) {
		n := newNest(t, w)
		check(t, n.SendVerification(t.Context(), n.squatter.Who))
		check(t, n.Verify(t.Context(), mailed(t, w, victim), &n.accomplice.Who))
		n.isLeft(t, false)
	})
}

// check ends the test at an error.
func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// count is one number of the database.
func count(t *testing.T, w *accounttest.World, statement string, args ...any) (n int64) {
	t.Helper()
	check(t, w.DB.Read(t.Context(), func(tx *sqldb.Tx) error { return tx.QueryRow(statement, args...).Scan(&n) }))
	return n
}
