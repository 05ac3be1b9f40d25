package account_test

import (
	"testing"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/audit"
)

// standing is what keeps somebody out of their account.
type standing struct{ deleted, suspended bool }

func (h *heist) standing(t *testing.T) standing {
	t.Helper()
	p, err := h.Staff.Person(t.Context(), h.in.Account.ID)
	if err != nil {
		t.Fatal(err)
	}
	return standing{!p.EraseAt.IsZero(), p.Suspended}
}

// TestNoVerbEndsWhatAnotherBegan goes through everything that brings an account back, or could: only staff end a suspension.
func TestNoVerbEndsWhatAnotherBegan(t *testing.T) {
	staff := audit.Actor{Kind: audit.Operator}
	type links struct{ undelete, undo, reset string }
	for name, c := range map[string]struct {
		do    func(t *testing.T, h *heist, l links) error
		left  standing
		wrong string // the type of the refusal
	}{
		"undelete": {func(t *testing.T, h *heist, l links) error { return h.Undelete(t.Context(), l.undelete) }, standing{suspended: true}, ""},
		"undo":     {func(t *testing.T, h *heist, l links) error { return h.Emails.Undo(t.Context(), l.undo) }, standing{true, true}, ""},
		"restore": {func(t *testing.T, h *heist, _ links) error {
			return h.Staff.Restore(t.Context(), h.in.Account.ID, staff)
		}, standing{}, ""},
		"suspend": {func(t *testing.T, h *heist, _ links) error {
			return h.Staff.Suspend(t.Context(), h.in.Account.ID, "again", staff)
		}, standing{true, true}, ""},
		"grant": {func(t *testing.T, h *heist, _ links) error {
			return accounttest.ErrOf(h.Staff.Grant(t.Context(), h.in.Account.ID, account.RoleSupport))
		}, standing{true, true}, fault.ItemNotFound},
		"reset": {func(t *testing.T, h *heist, l links) error {
			return accounttest.ErrOf(h.Passwords.Reset(accounttest.From(t), l.reset, other))
		}, standing{true, true}, account.InvalidToken},
		"verify": {func(t *testing.T, h *heist, l links) error { return h.Emails.Verify(t.Context(), l.undelete, nil) }, standing{true, true}, account.InvalidToken},
		"login": {func(t *testing.T, h *heist, _ links) error {
			return accounttest.ErrOf(h.Passwords.Login(accounttest.From(t), h.at("b"), password, ""))
		}, standing{true, true}, account.InvalidCredentials},
		"sign up": {func(t *testing.T, h *heist, _ links) error {
			return accounttest.ErrOf(h.Registrations.Register(accounttest.From(t), account.Registration{Email: h.at("b"), Password: password}))
		}, standing{true, true}, ""},
		"erase early": {func(t *testing.T, h *heist, _ links) error { return accounttest.ErrOf(h.Erase(t.Context())) }, standing{true, true}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			accounttest.Each(t, byMail, func(t *testing.T, w *accounttest.World) {
				h := newHeist(t, w, "h", false)
				h.moves(t, "a", "b")
				if err := h.Passwords.Forgot(accounttest.From(t), h.at("b")); err != nil {
					t.Fatal(err)
				}
				l := links{undo: h.undo["a"], reset: mailed(t, w, h.at("b"))}
				if _, err := h.Delete(t.Context(), h.in.Who, h.in.Account.Username); err != nil {
					t.Fatal(err)
				}
				l.undelete = mailed(t, w, h.at("b"))
				if err := h.Staff.Suspend(t.Context(), h.in.Account.ID, "abuse", staff); err != nil {
					t.Fatal(err)
				}
				if err := c.do(t, h, l); c.wrong != "" {
					accounttest.Is(t, err, c.wrong)
				} else if err != nil {
					t.Error(err)
				}
				if got := h.standing(t); got != c.left {
					t.Errorf("left %+v, want %+v", got, c.left)
				}
			})
		})
	}
}

// TestAnEarlierWayBackIsOfNoUseLater deletes an account twice: the link of the first time is not that of the second.
func TestAnEarlierWayBackIsOfNoUseLater(t *testing.T) {
	accounttest.Each(t, byMail, func(t *testing.T, w *accounttest.World) {
		h := newHeist(t, w, "h", false)
		var links []string
		for range 2 {
			if _, err := h.Delete(t.Context(), h.in.Who, h.in.Account.Username); err != nil {
				t.Fatal(err)
			}
			links = append(links, mailed(t, w, h.at("a")))
			if err := h.Staff.Restore(t.Context(), h.in.Account.ID, audit.Actor{Kind: audit.Operator}); err != nil {
				t.Fatal(err)
			}
			h.login(t, "a")
		}
		if _, err := h.Delete(t.Context(), h.in.Who, h.in.Account.Username); err != nil {
			t.Fatal(err)
		}
		for _, link := range links {
			accounttest.Is(t, h.Undelete(t.Context(), link), account.InvalidToken)
		}
	})
}
