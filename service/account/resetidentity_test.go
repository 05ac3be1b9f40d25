package account_test

import (
	"testing"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/accounttest"
)

// TestAResetEndsTheIdentitiesThatItNames is somebody whose account an intruder linked to a GitHub account of their own.
func TestAResetEndsTheIdentitiesThatItNames(t *testing.T) {
	eachHub(t, accounttest.Options{Mail: true}, func(t *testing.T, h *hub) {
		ada := joinByMail(t, h.World, "ada@example.com")
		other := joinByMail(t, h.World, "other@example.com")
		for login, in := range map[string]account.SignedIn{"ada-l": ada, "monalisa": other} {
			h.AddPerson(t, login, login+"@example.org")
			if _, err := (&accounttest.Browser{Hub: h.Hub, As: login, Token: in.Token}).Visit(t, account.IntentLink); err != nil {
				t.Fatal(err)
			}
		}
		intruder := h.Browser("hubot")
		intruder.Login(t, "ada@example.com")
		if _, err := intruder.Visit(t, account.IntentLink); err != nil {
			t.Fatal(err)
		}
		accounttest.Check(t, h.Passwords.Forgot(accounttest.From(t), "ada@example.com"))
		link := mailed(t, h.World, "ada@example.com")
		ids := map[string]string{}
		for range 2 { // looking does not use it up
			shown, err := h.Passwords.ResetIdentities(t.Context(), link)
			if err != nil || len(shown) != 2 {
				t.Fatalf("shown: %+v, %v", shown, err)
			}
			for _, i := range shown {
				ids[i.Login] = i.ID
			}
		}
		theirs, err := h.Identities.List(t.Context(), other.Who)
		accounttest.Check(t, err)
		for _, wrong := range []string{theirs[0].ID, "", "idn_x", "\xff\x00"} {
			accounttest.Is(t, accounttest.ErrOf(h.Passwords.Reset(accounttest.From(t), link, password+"!", ids["hubot"], wrong)), fault.InvalidRequest)
		}
		accounttest.Check(t, accounttest.ErrOf(h.Passwords.Reset(accounttest.From(t), link, password+"!", ids["hubot"], ids["hubot"])))
		left, err := h.Identities.List(t.Context(), ada.Who)
		if err != nil || len(left) != 1 || left[0].Login != "ada-l" {
			t.Errorf("left: %+v, %v", left, err)
		}
		if theirs, err = h.Identities.List(t.Context(), other.Who); err != nil || len(theirs) != 1 {
			t.Errorf("of the other: %+v, %v", theirs, err)
		}
		intruder.Token = ""
		if back := intruder.SignIn(t); back.Account.ID == ada.Account.ID {
			t.Error("the identity of the intruder opens the account")
		}
		accounttest.Is(t, accounttest.ErrOf(h.Passwords.ResetIdentities(t.Context(), link)), account.InvalidToken)
		if n := h.Count(t, "SELECT count(*) FROM secrets WHERE name = $1", "identity/"+ids["hubot"]); n != 0 {
			t.Error("the tokens of the intruder are kept")
		}
	})
}
