package account_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/apikey"
)

const other = "another calm password"

// joinByMail signs somebody up where sign-up waits for a mail, and in.
func joinByMail(t *testing.T, w *accounttest.World, email string) account.SignedIn {
	t.Helper()
	made, err := w.Registrations.Register(accounttest.From(t), account.Registration{Email: email, Password: password})
	if err != nil || !made.Pending || made.Token != "" {
		t.Fatalf("register: %+v, %v", made, err)
	}
	if err := w.Emails.Verify(t.Context(), mailed(t, w, email), nil); err != nil {
		t.Fatalf("verify: %v", err)
	}
	in, err := w.Passwords.Login(accounttest.From(t), email, password, "")
	if err != nil {
		t.Fatalf("login: %v", err)
	}
	return in
}

// mailed is the token of the next mail to somebody that holds one.
func mailed(t *testing.T, w *accounttest.World, to string) string {
	t.Helper()
	for {
		if token := w.Inbox.Next(t, to).Token(); token != "" {
			return token
		}
	}
}

var byMail = accounttest.Options{Mail: true}

func TestStrictSignUpMakesNothingBeforeTheAddressIsProven(t *testing.T) {
	accounttest.Each(t, byMail, func(t *testing.T, w *accounttest.World) {
		for range 2 {
			if made, err := w.Registrations.Register(accounttest.From(t), account.Registration{Email: "ada@example.com", Password: password, Username: "ada"}); err != nil || !made.Pending {
				t.Fatalf("register: %+v, %v", made, err)
			}
		}
		_, err := w.Passwords.Login(accounttest.From(t), "ada@example.com", password, "")
		accounttest.Is(t, err, account.InvalidCredentials)
		first, second := mailed(t, w, "ada@example.com"), mailed(t, w, "ada@example.com")
		if err := w.Emails.Verify(t.Context(), second, nil); err != nil {
			t.Fatal(err)
		}
		accounttest.Is(t, w.Emails.Verify(t.Context(), second, nil), account.InvalidToken)
		accounttest.Is(t, w.Emails.Verify(t.Context(), first, nil), account.InvalidToken)
		in, err := w.Passwords.Login(accounttest.From(t), "ada@example.com", password, "")
		if err != nil || !in.Account.EmailVerified || in.Account.Username != "ada" {
			t.Fatalf("login: %+v, %v", in.Account, err)
		}
		before := w.Passwords.Derivations()
		if made, err := w.Registrations.Register(accounttest.From(t), account.Registration{Email: "ada@example.com", Password: other}); err != nil || !made.Pending {
			t.Fatalf("register again: %+v, %v", made, err)
		}
		if w.Passwords.Derivations()-before != 1 {
			t.Errorf("%d derivations", w.Passwords.Derivations()-before)
		}
		if m := w.Inbox.Next(t, "ada@example.com"); m.Token() != "" {
			t.Errorf("the holder of an account got a token: %s", m.Subject)
		}
	})
}

func TestAMailedSignUpExpires(t *testing.T) {
	accounttest.Each(t, byMail, func(t *testing.T, w *accounttest.World) {
		if _, err := w.Registrations.Register(accounttest.From(t), account.Registration{Email: "ada@example.com", Password: password}); err != nil {
			t.Fatal(err)
		}
		token := mailed(t, w, "ada@example.com")
		w.Clock.Pass(24*time.Hour + time.Second)
		accounttest.Is(t, w.Emails.Verify(t.Context(), token, nil), account.InvalidToken)
	})
}

func TestAResetEndsEverythingThatActedForTheAccount(t *testing.T) {
	accounttest.Each(t, byMail, func(t *testing.T, w *accounttest.World) {
		in := joinByMail(t, w, "ada@example.com")
		_, key, err := w.Keys.Create(t.Context(), in.Who, w.Personal(t, in.Who), apikey.Draft{Name: "ci", Scopes: []string{"agents:read"}})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Emails.Change(t.Context(), in.Who, "eve@example.com"); err != nil {
			t.Fatal(err)
		}
		change := mailed(t, w, "eve@example.com")
		for range 2 {
			if err := w.Passwords.Forgot(accounttest.From(t), "ada@example.com"); err != nil {
				t.Fatal(err)
			}
		}
		token, unused := mailed(t, w, "ada@example.com"), mailed(t, w, "ada@example.com")
		accounttest.Is(t, accounttest.ErrOf(w.Passwords.Reset(t.Context(), token, "short")), fault.InvalidRequest) // and the link is not used up
		if err := accounttest.ErrOf(w.Passwords.Reset(t.Context(), token, other)); err != nil {
			t.Fatal(err)
		}
		accounttest.Is(t, accounttest.ErrOf(w.Passwords.Reset(t.Context(), token, other)), account.InvalidToken)
		accounttest.Is(t, accounttest.ErrOf(w.Passwords.Reset(t.Context(), unused, other)), account.InvalidToken)
		accounttest.Is(t, w.Emails.Verify(t.Context(), change, nil), account.InvalidToken)
		if _, err := w.Bearer(t.Context(), key); !fault.Is(err, apikey.Invalid) {
			t.Errorf("the key lives: %v", err)
		}
		if w.IsSignedIn(t, in.Token) {
			t.Error("the session lives")
		}
		_, err = w.Passwords.Login(accounttest.From(t), "ada@example.com", password, "")
		accounttest.Is(t, err, account.InvalidCredentials)
		if _, err := w.Passwords.Login(accounttest.From(t), "ada@example.com", other, ""); err != nil {
			t.Errorf("with the new password: %v", err)
		}
	})
}

func TestOfTwoResetsWithOneLinkOneWins(t *testing.T) {
	accounttest.Each(t, byMail, func(t *testing.T, w *accounttest.World) {
		joinByMail(t, w, "ada@example.com")
		if err := w.Passwords.Forgot(accounttest.From(t), "ada@example.com"); err != nil {
			t.Fatal(err)
		}
		token := mailed(t, w, "ada@example.com")
		var wg sync.WaitGroup
		errs := make([]error, 4)
		for i := range errs {
			wg.Go(func() { errs[i] = accounttest.ErrOf(w.Passwords.Reset(t.Context(), token, other)) })
		}
		wg.Wait()
		won := 0
		for _, err := range errs {
			if err == nil {
				won++
			} else if !fault.Is(err, account.InvalidToken) && !fault.Is(err, fault.Busy) {
				t.Errorf("reset: %v", err)
			}
		}
		if won != 1 {
			t.Errorf("%d resets won", won)
		}
	})
}

func TestForgotAnswersAlikeForAddressesThatNobodyHas(t *testing.T) {
	accounttest.Each(t, byMail, func(t *testing.T, w *accounttest.World) {
		joinByMail(t, w, "ada@example.com")
		for _, email := range []string{"ada@example.com", "nobody@example.com"} {
			for i := range 4 {
				err := w.Passwords.Forgot(accounttest.From(t), email)
				if i < 3 && err != nil || i == 3 && !fault.Is(err, fault.RateLimited) {
					t.Errorf("%s, %d: %v", email, i, err)
				}
			}
		}
		for _, m := range w.Inbox.Messages() {
			if m.To[0] == "nobody@example.com" {
				t.Errorf("a mail to nobody: %s", m.Subject)
			}
		}
	})
}

func TestAResetLinkIsOfNoUseAfterTheAddressOrPasswordChanged(t *testing.T) {
	accounttest.Each(t, byMail, func(t *testing.T, w *accounttest.World) {
		in := joinByMail(t, w, "ada@example.com")
		if err := w.Passwords.Forgot(accounttest.From(t), "ada@example.com"); err != nil {
			t.Fatal(err)
		}
		token := mailed(t, w, "ada@example.com")
		changed, err := w.Passwords.Change(accounttest.From(t), in.Who, password, other)
		if err != nil || w.IsSignedIn(t, in.Token) || !w.IsSignedIn(t, changed.Token) {
			t.Fatalf("change: %v", err)
		}
		accounttest.Is(t, accounttest.ErrOf(w.Passwords.Reset(t.Context(), token, password)), account.InvalidToken)
		if err := w.Passwords.Forgot(accounttest.From(t), "ada@example.com"); err != nil {
			t.Fatal(err)
		}
		token = mailed(t, w, "ada@example.com")
		if err := w.Emails.Change(t.Context(), changed.Who, "ada@example.org"); err != nil {
			t.Fatal(err)
		}
		if err := w.Emails.Verify(t.Context(), mailed(t, w, "ada@example.org"), nil); err != nil {
			t.Fatal(err)
		}
		accounttest.Is(t, accounttest.ErrOf(w.Passwords.Reset(t.Context(), token, password)), account.InvalidToken)
	})
}

func TestAnAddressChangesOnlyWhenTheNewOneIsProvenAndCanComeBack(t *testing.T) {
	accounttest.Each(t, byMail, func(t *testing.T, w *accounttest.World) {
		in := joinByMail(t, w, "ada@example.com")
		joinByMail(t, w, "held@example.com")
		if err := w.Emails.Change(t.Context(), in.Who, "held@example.com"); err != nil {
			t.Errorf("an address that is held: %v", err)
		}
		if m := w.Inbox.Next(t, "held@example.com"); m.Token() != "" {
			t.Error("the holder got a token")
		}
		if err := w.Emails.Change(t.Context(), in.Who, "new@example.com"); err != nil {
			t.Fatal(err)
		}
		if p, _ := w.Account(t.Context(), in.Account.ID); p.Email != "ada@example.com" {
			t.Errorf("changed to %s before it was proven", p.Email)
		}
		if err := w.Emails.Verify(t.Context(), mailed(t, w, "new@example.com"), &in.Who); err != nil {
			t.Fatal(err)
		}
		undo := mailed(t, w, "ada@example.com")
		if p, _ := w.Account(t.Context(), in.Account.ID); p.Email != "new@example.com" || !w.IsSignedIn(t, in.Token) {
			t.Errorf("after proving: %s", p.Email)
		}
		if err := w.Emails.Undo(t.Context(), undo); err != nil {
			t.Fatal(err)
		}
		if p, _ := w.Account(t.Context(), in.Account.ID); p.Email != "ada@example.com" || w.IsSignedIn(t, in.Token) {
			t.Errorf("after undoing: %s", p.Email)
		}
		accounttest.Is(t, w.Emails.Undo(t.Context(), undo), account.InvalidToken)
	})
}

func TestTheFirstProofOfAnAddressPutsEverybodyElseOut(t *testing.T) {
	o := byMail
	o.Edit = func(c *account.Config) { c.Strict = false }
	accounttest.Each(t, o, func(t *testing.T, w *accounttest.World) {
		squatter := w.Join(t, "victim@example.com")
		_, key, err := w.Keys.Create(t.Context(), squatter.Who, w.Personal(t, squatter.Who), apikey.Draft{Name: "k", Scopes: []string{"agents:read"}})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Emails.Change(t.Context(), squatter.Who, "attacker@example.com"); err != nil {
			t.Fatal(err)
		}
		pending := mailed(t, w, "attacker@example.com")
		if err := w.Emails.SendVerification(t.Context(), squatter.Who); err != nil {
			t.Fatal(err)
		}
		if err := w.Emails.Verify(t.Context(), mailed(t, w, "victim@example.com"), nil); err != nil {
			t.Fatal(err)
		}
		if w.IsSignedIn(t, squatter.Token) {
			t.Error("the squatter's session lives")
		}
		if _, err := w.Bearer(t.Context(), key); !fault.Is(err, apikey.Invalid) {
			t.Errorf("the squatter's key lives: %v", err)
		}
		accounttest.Is(t, w.Emails.Verify(t.Context(), pending, nil), account.InvalidToken)
	})
}

func TestADeletedAccountAnswersLikeNoneAndCanComeBackWithinItsHold(t *testing.T) {
	accounttest.Each(t, byMail, func(t *testing.T, w *accounttest.World) {
		in := joinByMail(t, w, "ada@example.com")
		_, err := w.Delete(t.Context(), in.Who, "adaa")
		accounttest.Is(t, err, fault.InvalidRequest)
		w.Clock.Pass(11 * time.Minute)
		_, err = w.Delete(t.Context(), in.Who, "ada")
		accounttest.Is(t, err, account.ReauthRequired)
		if in, err = w.Passwords.Reauth(accounttest.From(t), in.Who, password); err != nil {
			t.Fatal(err)
		}
		at, err := w.Delete(t.Context(), in.Who, "ada")
		if err != nil || !at.Equal(w.Clock.Now().Add(14*24*time.Hour)) {
			t.Fatalf("delete: %v, %v", at, err)
		}
		_, err = w.Passwords.Login(accounttest.From(t), "ada@example.com", password, "")
		accounttest.Is(t, err, account.InvalidCredentials)
		if err := w.Undelete(t.Context(), mailed(t, w, "ada@example.com")); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Passwords.Login(accounttest.From(t), "ada@example.com", password, ""); err != nil {
			t.Errorf("after coming back: %v", err)
		}
		if n, err := w.Erase(t.Context()); n != 0 || err != nil {
			t.Errorf("erased %d, %v", n, err)
		}
	})
}

func TestMailsLinkToTheConfiguredAddressAlone(t *testing.T) {
	accounttest.Each(t, byMail, func(t *testing.T, w *accounttest.World) {
		joinByMail(t, w, "ada@example.com")
		if err := w.Passwords.Forgot(accounttest.From(t), "ada@example.com"); err != nil {
			t.Fatal(err)
		}
		for _, m := range w.Inbox.Wait(t, 2) {
			for _, link := range m.Links {
				if !strings.HasPrefix(link, accounttest.Platform+"/") && link != accounttest.Platform {
					t.Errorf("%s links to %s", m.Subject, link)
				}
			}
		}
	})
}

// TestOfTwoWhoProveOneAddressAtOnceOneGetsIt and the other is told what whoever comes later is told.
func TestOfTwoWhoProveOneAddressAtOnceOneGetsIt(t *testing.T) {
	accounttest.Each(t, byMail, func(t *testing.T, w *accounttest.World) {
		a, b := joinByMail(t, w, "a@example.com"), joinByMail(t, w, "b@example.com")
		for i := range 8 {
			email := fmt.Sprintf("same%d@example.com", i)
			var links []string
			for _, in := range []account.SignedIn{a, b} {
				accounttest.Check(t, w.Emails.Change(t.Context(), in.Who, email))
				links = append(links, mailed(t, w, email))
			}
			if _, err := w.Registrations.Register(accounttest.From(t), account.Registration{Email: email, Password: password}); err != nil {
				t.Fatal(err)
			}
			links = append(links, mailed(t, w, email))
			var wg sync.WaitGroup
			var won atomic.Int64
			for _, link := range links {
				wg.Go(func() {
					switch err := w.Emails.Verify(t.Context(), link, nil); {
					case err == nil:
						won.Add(1)
					case !fault.Is(err, account.InvalidToken):
						t.Errorf("verify: %v", err)
					}
				})
			}
			wg.Wait()
			if won.Load() != 1 {
				t.Errorf("%d have the address", won.Load())
			}
		}
	})
}

// TestAServiceWithoutMailSaysSoInOneWay asks for everything that cannot be had without one.
func TestAServiceWithoutMailSaysSoInOneWay(t *testing.T) {
	w := accounttest.New(t, sqldbtest.SQLite(t), accounttest.Options{})
	ada := w.Join(t, "ada@example.com")
	first := w.Emails.SendVerification(t.Context(), ada.Who)
	accounttest.Is(t, first, account.MailNotConfigured)
	for name, err := range map[string]error{
		"change": w.Emails.Change(t.Context(), ada.Who, "eve@example.com"), "reset": w.Staff.SendReset(t.Context(), ada.Who, ada.Account.ID),
	} {
		if said := fault.From(err); said.Type != account.MailNotConfigured || said.Message != fault.From(first).Message || said.Details != fault.From(first).Details {
			t.Errorf("%s: %v, and elsewhere %v", name, err, first)
		}
	}
}
