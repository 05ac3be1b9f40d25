package account_test

import (
	"testing"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/apikey"
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
	n.squatter, n.accomplice = w.Join(t, victim), w.Join(t, "mallory@example.com")
	w.Execute(t, "UPDATE accounts SET email_verified = 1 WHERE id = $1", n.accomplice.Account.ID)
	for _, business := range []string{"shop", "gone"} {
		m, err := n.spaces.Create(t.Context(), as(n.squatter.Account), business, business)
		accounttest.Check(t, err)
		n.fill(t, m.Scope)
	}
	n.shop, n.gone = n.at("shop"), n.at("gone")
	accounttest.Check(t, accounttest.ErrOf(n.spaces.Delete(t.Context(), as(n.squatter.Account), n.gone, "gone")))
	n.fill(t, n.at("personal"))
	m, _, err := w.Membership(t.Context(), n.accomplice.Account.ID, n.at("personal"))
	accounttest.Check(t, err)
	_, n.key, err = w.Keys.Create(t.Context(), n.accomplice.Who, m, apikey.Draft{Name: "k", Scopes: []string{"agents:read"}})
	accounttest.Check(t, err)
	w.Execute(t, "INSERT INTO installation_bindings (workspace, provider, installation, scope, account, created_at) VALUES ($1, 'github', 7, $2, $3, 1)",
		m.ID, m.Scope, n.accomplice.Account.ID)
	return n
}

// spacesOf is the workspaces of a world.
func spacesOf(t *testing.T, w *accounttest.World) *workspace.Workspaces {
	t.Helper()
	spaces, err := workspace.New(workspace.Config{
		DB: w.DB, Audit: w.Log, Mail: w.Box, Platform: accounttest.Platform, Now: w.Clock.Now,
		HasProject: func(*sqldb.Tx, string, string) (bool, error) { return true, nil },
	})
	accounttest.Check(t, err)
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
	accounttest.Check(t, accounttest.ErrOf(n.spaces.Accept(t.Context(), guest, token)))
	team, err := n.spaces.Teams.Create(t.Context(), theirs, scope, "Everybody")
	accounttest.Check(t, err)
	accounttest.Check(t, accounttest.ErrOf(n.spaces.Teams.PutMember(t.Context(), theirs, scope, team.ID, n.accomplice.Account.ID)))
	accounttest.Check(t, accounttest.ErrOf(n.spaces.Teams.PutProject(t.Context(), theirs, scope, team.ID, "site", workspace.Admin)))
	n.invite(t, theirs, scope, "third@example.com", workspace.Owner)
	n.invite(t, own, scope, "fourth@example.com", workspace.Viewer)
}

func (n *nest) invite(t *testing.T, by workspace.Caller, scope, email, role string) {
	t.Helper()
	accounttest.Check(t, accounttest.ErrOf(n.spaces.Invite(t.Context(), by, scope, email, role)))
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
		got := n.World.Count(t, "SELECT count(*) FROM "+table+" WHERE workspace IN (SELECT id FROM workspaces WHERE owner = $1)", n.squatter.Account.ID)
		if (got > most) != want {
			t.Errorf("%s: %d rows", table, got)
		}
	}
	if got := n.World.Count(t, "SELECT count(*) FROM api_keys WHERE creator = $1 AND revoked_at IS NULL", who); (got == 1) != want {
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
			accounttest.Check(t, n.Emails.SendVerification(t.Context(), n.squatter.Who))
			return n.Emails.Verify(t.Context(), mailed(t, n.World, victim), from)
		}, true},
		"reset": {func(t *testing.T, n *nest, _ *account.Who) error {
			accounttest.Check(t, n.Passwords.Forgot(accounttest.From(t), victim))
			return accounttest.ErrOf(n.Passwords.Reset(accounttest.From(t), mailed(t, n.World, victim), other))
		}, false},
		"another address": {func(t *testing.T, n *nest, from *account.Who) error {
			accounttest.Check(t, n.Emails.Change(t.Context(), n.squatter.Who, "holder@example.com"))
			return n.Emails.Verify(t.Context(), mailed(t, n.World, "holder@example.com"), from)
		}, true},
	} {
		for _, inside := range []bool{false, true} {
			if inside && !c.from {
				continue
			}
			t.Run(name+map[bool]string{false: " from nowhere", true: " from a session"}[inside], func(t *testing.T) {
				accounttest.Each(t, o, func(t *testing.T, w *accounttest.World) {
					n := newNest(t, w)
					var from *account.Who
					if inside {
						from = &n.squatter.Who
					}
					accounttest.Check(t, c.prove(t, n, from))
					n.isLeft(t, inside)
					if w.IsSignedIn(t, n.squatter.Token) != inside {
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
	accounttest.Each(t, o, func(t *testing.T, w *accounttest.World) {
		n := newNest(t, w)
		accounttest.Check(t, n.Emails.SendVerification(t.Context(), n.squatter.Who))
		accounttest.Check(t, n.Emails.Verify(t.Context(), mailed(t, w, victim), &n.accomplice.Who))
		n.isLeft(t, false)
	})
}
