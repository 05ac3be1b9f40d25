package device_test

import (
	"testing"
	"time"

	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/device"
	"svc.dev/svc/service/workspace"
)

// TestWhatWasApprovedIsGivenOnlyIfItStillCould takes something from whoever approved, between that and the fetching.
func TestWhatWasApprovedIsGivenOnlyIfItStillCould(t *testing.T) {
	person := func(set string) func(*testing.T, *scene) {
		return func(t *testing.T, s *scene) {
			s.Execute(t, "UPDATE accounts SET "+set+" WHERE id = $1", s.bob.Account.ID)
		}
	}
	place := func(set string) func(*testing.T, *scene) {
		return func(t *testing.T, s *scene) { s.Execute(t, "UPDATE workspaces SET "+set+" WHERE id = $1", s.acme.ID) }
	}
	caller := func(p account.Registered) workspace.Caller { return workspace.Caller{Actor: p.Account.Actor()} }
	for name, c := range map[string]struct {
		between func(t *testing.T, s *scene)
		want    device.Verdict
	}{
		"nothing is lost":            {func(*testing.T, *scene) {}, ""},
		"they become more":           {func(t *testing.T, s *scene) { s.seat(t, workspace.Owner) }, ""},
		"they become less":           {func(t *testing.T, s *scene) { s.seat(t, workspace.Viewer) }, device.Denied},
		"they only pay":              {func(t *testing.T, s *scene) { s.seat(t, workspace.Billing) }, device.Denied},
		"they become what nobody is": {func(t *testing.T, s *scene) { s.seat(t, "superuser") }, device.Denied},
		"they leave": {func(t *testing.T, s *scene) {
			accounttest.Check(t, s.spaces.Remove(t.Context(), caller(s.bob), s.acme.Scope, s.bob.Account.ID, 0))
		}, device.Denied},
		"they are removed and come back": {func(t *testing.T, s *scene) {
			accounttest.Check(t, s.spaces.Remove(t.Context(), s.owner(), s.acme.Scope, s.bob.Account.ID, 0))
			s.Execute(t, "INSERT INTO members (workspace, account, role, created_at) VALUES ($1, $2, 'owner', $3)", s.acme.ID, s.bob.Account.ID, s.Clock.Now().UnixMilli()+1)
		}, device.Denied},
		"they are suspended": {person("suspended_at = 1"), device.Denied},
		"they delete their account": {func(t *testing.T, s *scene) {
			accounttest.Check(t, accounttest.ErrOf(s.Accounts.Delete(t.Context(), s.bob.Who, "bob")))
		}, device.Denied},
		"they sign out": {func(t *testing.T, s *scene) { accounttest.Check(t, s.Sessions.Logout(t.Context(), s.bob.Token)) }, ""},
		"they change their password": {func(t *testing.T, s *scene) {
			accounttest.Check(t, accounttest.ErrOf(s.Passwords.Change(t.Context(), s.bob.Who, accounttest.Password, "another calm password")))
		}, ""},
		"the workspace is suspended": {place("suspended_at = 1"), device.Denied},
		"the workspace is deleted":   {place("deleted_at = 1"), device.Denied},
		"another has its name": {func(t *testing.T, s *scene) {
			place("id = 'wsp_another'")(t, s)
			s.Execute(t, "UPDATE members SET workspace = 'wsp_another' WHERE workspace = $1", s.acme.ID)
		}, device.Denied},
		"keys of the maker end": {func(t *testing.T, s *scene) {
			s.end(t, func(e device.Ends, tx tx) error { return e.OfMaker(tx, s.Clock.Now(), s.bob.Account.ID) })
		}, device.Denied},
		"keys of another end": {func(t *testing.T, s *scene) {
			s.end(t, func(e device.Ends, tx tx) error { return e.OfMaker(tx, s.Clock.Now(), s.ada.Account.ID) })
		}, ""},
		"the workspace is taken back": {func(t *testing.T, s *scene) {
			s.end(t, func(e device.Ends, tx tx) error {
				return accounttest.ErrOf(e.Since(tx, s.Clock.Now(), s.acme.ID, s.Clock.Now()))
			})
		}, device.Denied},
		"it is taken back to a later time": {func(t *testing.T, s *scene) {
			s.end(t, func(e device.Ends, tx tx) error {
				return accounttest.ErrOf(e.Since(tx, s.Clock.Now(), s.acme.ID, s.Clock.Now().Add(time.Millisecond)))
			})
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, s *scene) {
				a := s.ask(t)
				s.approve(t, device.Approval{UserCode: a.UserCode, Scopes: []string{"runs:read", "agents:write"}, Life: day})
				c.between(t, s)
				g, v := s.fetch(t, a)
				if v != c.want {
					t.Fatalf("told %q, want %q", v, c.want)
				}
				if v == "" {
					if !s.opens(t, g.Value) {
						t.Error("a key was given that opens nothing")
					}
					return
				}
				if n := s.Count(t, "SELECT count(*) FROM api_keys"); n != 0 {
					t.Errorf("there are %d keys", n)
				}
				// What was lost for a moment is lost: the person may have meant something by it.
				s.seat(t, workspace.Owner)
				s.Execute(t, "UPDATE accounts SET suspended_at = NULL, deleted_at = NULL")
				s.Execute(t, "UPDATE workspaces SET suspended_at = NULL, deleted_at = NULL")
				s.tells(t, a, device.Denied)
			})
		})
	}
}

// TestWhoTakesAnAccountBackTakesWhatWasApproved resets a password between an approval and its fetching.
func TestWhoTakesAnAccountBackTakesWhatWasApproved(t *testing.T) {
	accounttest.Each(t, accounttest.Options{Mail: true, Edit: func(c *account.Config) { c.Strict = false }}, func(t *testing.T, w *accounttest.World) {
		s := set(t, w, workspace.Builder)
		a, before := s.ask(t), s.ask(t)
		s.approve(t, runs(before))
		g, _ := s.fetch(t, before)
		s.approve(t, runs(a))
		accounttest.Check(t, s.Passwords.Forgot(accounttest.From(t), "bob@example.com"))
		token := ""
		for token == "" {
			token = s.Inbox.Next(t, "bob@example.com").Token()
		}
		accounttest.Check(t, accounttest.ErrOf(s.Passwords.Reset(accounttest.From(t), token, "another calm password")))
		s.tells(t, a, device.Denied)
		if s.opens(t, g.Value) {
			t.Error("a key that was fetched before works on")
		}
	})
}

// TestAnApprovalSurvivesItsProcess ends the process between an approval and its fetching.
func TestAnApprovalSurvivesItsProcess(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		s := set(t, accounttest.New(t, address, accounttest.Options{}), workspace.Builder)
		a, asked := s.ask(t), s.ask(t)
		s.approve(t, runs(a))
		accounttest.Check(t, s.DB.Close())
		s.World = accounttest.New(t, address, accounttest.Options{After: s.World})
		g, v := s.fetch(t, a)
		if v != "" || !s.opens(t, g.Value) {
			t.Errorf("after a restart: %q", v)
		}
		s.tells(t, asked, device.Pending)
		s.approve(t, runs(asked))
		s.tells(t, asked, "")
	})
}

// TestAFetchThatFailsTakesNothing breaks what is written last: no key is left, and the code is as good as before.
func TestAFetchThatFailsTakesNothing(t *testing.T) {
	each(t, func(t *testing.T, s *scene) {
		a := s.ask(t)
		s.approve(t, runs(a))
		s.Execute(t, "ALTER TABLE audit_events RENAME TO audit_events_gone")
		if g, v, err := s.Devices.Fetch(t.Context(), a.Code); err == nil || v != "" || g.Value != "" {
			t.Errorf("in silence: %q, %v", v, err)
		}
		other := s.ask(t)
		for name, err := range map[string]error{
			"approved": s.Devices.Approve(accounttest.From(t), s.bob.Who, s.acme, runs(other)), "denied": s.Devices.Deny(accounttest.From(t), s.bob.Who, other.UserCode),
		} {
			if err == nil {
				t.Errorf("it was %s in silence", name)
			}
		}
		s.Execute(t, "ALTER TABLE audit_events_gone RENAME TO audit_events")
		if n := s.Count(t, "SELECT count(*) FROM api_keys"); n != 0 {
			t.Errorf("there are %d keys", n)
		}
		s.tells(t, other, device.Pending)
		g, v, err := s.Devices.Fetch(t.Context(), a.Code) // at once: nothing was noted either
		if err != nil || v != "" || !s.opens(t, g.Value) {
			t.Errorf("afterwards: %q, %v", v, err)
		}
	})
}
