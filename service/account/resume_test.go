package account_test

import (
	"encoding/json"
	"testing"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/audit"
)

// answer is what somebody who signs up learns.
func answer(made account.Registered, err error) string {
	switch {
	case err != nil:
		body, _ := json.Marshal(fault.From(err))
		return string(body)
	case made.Pending:
		return "pending"
	case made.Created:
		return "created"
	}
	return "resumed"
}

// TestStrictSignUpResumesForWhoKnowsThePassword and tells nobody else anything, at the price of one derivation in every case.
func TestStrictSignUpResumesForWhoKnowsThePassword(t *testing.T) {
	accounttest.Each(t, byMail, func(t *testing.T, w *accounttest.World) {
		for _, name := range []string{"known", "suspended", "deleted", "provider", "damaged"} {
			in := joinByMail(t, w, name+"@example.com")
			switch name {
			case "suspended":
				accounttest.Check(t, w.Staff.Suspend(t.Context(), in.Account.ID, "test", audit.Actor{Kind: audit.Operator}))
			case "deleted":
				accounttest.Check(t, accounttest.ErrOf(w.Delete(t.Context(), in.Who, in.Account.Username)))
			case "provider":
				w.Execute(t, "UPDATE accounts SET password = '' WHERE id = $1", in.Account.ID)
			case "damaged":
				w.Execute(t, "UPDATE accounts SET password = '$scrypt$ln=40,r=8,p=1$x$y' WHERE id = $1", in.Account.ID)
			}
		}
		// Half of the workspace is missing, as after a crash of an earlier release.
		w.Execute(t, "DELETE FROM members WHERE account = (SELECT id FROM accounts WHERE email = 'known@example.com')")
		var costs []account.Scrypt
		w.Passwords.OnDerive(func(s account.Scrypt) { costs = append(costs, s) })
		for _, c := range []struct{ email, password, want string }{
			{"known@example.com", password, "resumed"},
			{"Known@Example.com", password, "resumed"},
			{"known@example.com", other, "pending"},
			{"nobody@example.com", password, "pending"},
			{"suspended@example.com", other, "pending"},
			{"deleted@example.com", password, "pending"},
			{"provider@example.com", password, "pending"},
			{"damaged@example.com", password, "pending"},
			{"suspended@example.com", password, answer(account.Registered{}, accounttest.ErrOf(w.Passwords.Login(accounttest.From(t), "suspended@example.com", password, "")))},
		} {
			costs = nil
			made, err := w.Registrations.Register(accounttest.From(t), account.Registration{Email: c.email, Password: c.password, Username: "known"})
			if c.want == "pending" && fault.Is(err, account.UsernameTaken) {
				costs = nil // the wanted name is taken, for everybody alike; without one the answer is the one to compare
				made, err = w.Registrations.Register(accounttest.From(t), account.Registration{Email: c.email, Password: c.password})
			}
			if got := answer(made, err); got != c.want {
				t.Errorf("%s with %q: %s, want %s", c.email, c.password, got, c.want)
			}
			if len(costs) != 1 || costs[0] != accounttest.Weak {
				t.Errorf("%s with %q: derived %v", c.email, c.password, costs)
			}
			if c.want == "resumed" && (!w.IsSignedIn(t, made.Token) || made.Workspace.Scope != "users/known/personal" || made.Account.Username != "known") {
				t.Errorf("resumed as %+v", made)
			}
		}
		if n := w.Count(t, "SELECT count(*) FROM members m JOIN accounts a ON a.id = m.account WHERE a.email = 'known@example.com'"); n != 1 {
			t.Errorf("%d memberships", n)
		}
	})
}

func TestStrictSignUpIsCountedLikeASignIn(t *testing.T) {
	accounttest.Each(t, byMail, func(t *testing.T, w *accounttest.World) {
		joinByMail(t, w, "ada@example.com")
		refusals := map[string]string{}
		for _, email := range []string{"ada@example.com", "nobody@example.com"} {
			for i := range 11 {
				made, err := w.Registrations.Register(accounttest.From(t), account.Registration{Email: email, Password: other})
				if got := answer(made, err); i < 10 && got != "pending" {
					t.Fatalf("%s, %d: %s", email, i, got)
				} else if i == 10 {
					accounttest.Is(t, err, fault.RateLimited)
					refusals[email] = got
				}
			}
			accounttest.Is(t, accounttest.ErrOf(w.Passwords.Login(accounttest.From(t), email, password, "")), fault.RateLimited)
		}
		if refusals["ada@example.com"] != refusals["nobody@example.com"] {
			t.Errorf("refusals differ: %v", refusals)
		}
	})
}
