package account_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/secret"
)

func TestASessionIsAReferenceThatTheDatabaseDoesNotHold(t *testing.T) {
	accounttest.Each(t, accounttest.Options{}, func(t *testing.T, w *accounttest.World) {
		made := w.Join(t, "ada@example.com")
		if len(made.Token) != 48 || !strings.HasPrefix(made.Token, "svcs_") {
			t.Errorf("token %q", made.Token)
		}
		if strings.Contains(w.Dump(t), made.Token) || strings.Contains(w.Dump(t), made.Device) {
			t.Error("the database holds a value that opens something")
		}
	})
}

func TestAValueThatIsNoSessionOpensNothing(t *testing.T) {
	accounttest.Each(t, accounttest.Options{}, func(t *testing.T, w *accounttest.World) {
		made := w.Join(t, "ada@example.com")
		for _, value := range []string{
			"", "svcs_", made.Token + "=", made.Token + " ", " " + made.Token, strings.ToUpper(made.Token), made.Token[:47], made.Token[5:],
			"svcs_" + strings.Repeat("A", 43), secret.Fingerprint(made.Token), strings.Replace(made.Token, "svcs_", "svck_", 1), made.Session.ID,
		} {
			if w.IsSignedIn(t, value) {
				t.Errorf("%q opens a session", value)
			}
		}
	})
}

func TestASessionEndsWhenItIsNotUsedAndAfterItsLongestLife(t *testing.T) {
	accounttest.Each(t, accounttest.Options{}, func(t *testing.T, w *accounttest.World) {
		const day = 24 * time.Hour
		idle := w.Join(t, "idle@example.com")
		w.Clock.Pass(7*day - time.Second)
		if !w.IsSignedIn(t, idle.Token) {
			t.Error("ended a second early")
		}
		w.Clock.Pass(7 * day)
		if w.IsSignedIn(t, idle.Token) {
			t.Error("lives on though nobody uses it")
		}
		used := w.Join(t, "used@example.com")
		for range 5 {
			w.Clock.Pass(6*day - time.Hour)
			if !w.IsSignedIn(t, used.Token) {
				t.Fatal("ended though it was in use")
			}
		}
		w.Clock.Pass(5*time.Hour - time.Second)
		if !w.IsSignedIn(t, used.Token) {
			t.Error("ended before its longest life")
		}
		w.Clock.Pass(time.Second)
		if w.IsSignedIn(t, used.Token) {
			t.Error("lives longer than the longest life")
		}
		back := w.Join(t, "back@example.com")
		w.Clock.Pass(-time.Hour)
		if !w.IsSignedIn(t, back.Token) {
			t.Error("a clock that was set back ended a session")
		}
	})
}

func TestProvingAgainGivesANewValueAndTheOldOneDies(t *testing.T) {
	accounttest.Each(t, accounttest.Options{}, func(t *testing.T, w *accounttest.World) {
		made := w.Join(t, "ada@example.com")
		w.Clock.Pass(11 * time.Minute)
		who, _, _ := w.Sessions.Who(t.Context(), made.Token)
		accounttest.Is(t, w.Sessions.NeedFresh(who), account.ReauthRequired)
		_, err := w.Passwords.Reauth(accounttest.From(t), who, "not the password")
		accounttest.Is(t, err, account.InvalidCredentials)
		in, err := w.Passwords.Reauth(accounttest.From(t), who, password)
		if err != nil || in.Session.ID != made.Session.ID {
			t.Fatalf("reauth: %+v, %v", in, err)
		}
		if w.IsSignedIn(t, made.Token) || !w.IsSignedIn(t, in.Token) {
			t.Error("the old value lives, or the new one does not")
		}
		who, _, _ = w.Sessions.Who(t.Context(), in.Token)
		if err := w.Sessions.NeedFresh(who); err != nil {
			t.Errorf("after proving: %v", err)
		}
	})
}

func TestTheFiftyFirstSessionEndsTheOldest(t *testing.T) {
	accounttest.Each(t, accounttest.Options{Edit: func(c *account.Config) { c.MaxSessions = 5 }}, func(t *testing.T, w *accounttest.World) {
		first := w.Join(t, "ada@example.com")
		var last account.SignedIn
		for range 5 {
			w.Clock.Pass(time.Second)
			var err error
			if last, err = w.Passwords.Login(accounttest.From(t), "ada@example.com", password, first.Device); err != nil {
				t.Fatal(err)
			}
		}
		all, err := w.Sessions.List(t.Context(), last.Who)
		if err != nil || len(all) != 5 || w.IsSignedIn(t, first.Token) || !w.IsSignedIn(t, last.Token) {
			t.Errorf("%d sessions, err %v", len(all), err)
		}
	})
}

func TestSessionsAreEndedOneByOneAndAllOthersAtOnce(t *testing.T) {
	accounttest.Each(t, accounttest.Options{}, func(t *testing.T, w *accounttest.World) {
		ada, eve := w.Join(t, "ada@example.com"), w.Join(t, "eve@example.com")
		second, _ := w.Passwords.Login(accounttest.From(t), "ada@example.com", password, ada.Device)
		third, _ := w.Passwords.Login(accounttest.From(t), "ada@example.com", password, ada.Device)
		accounttest.Is(t, w.Sessions.End(t.Context(), eve.Who, second.Session.ID), fault.ItemNotFound)
		accounttest.Is(t, w.Sessions.End(t.Context(), ada.Who, "ses_unknown"), fault.ItemNotFound)
		if err := w.Sessions.End(t.Context(), ada.Who, second.Session.ID); err != nil || w.IsSignedIn(t, second.Token) {
			t.Errorf("end one: %v", err)
		}
		if n, err := w.Sessions.EndOthers(t.Context(), ada.Who); n != 1 || err != nil {
			t.Errorf("end others: %d, %v", n, err)
		}
		if !w.IsSignedIn(t, ada.Token) || w.IsSignedIn(t, third.Token) || !w.IsSignedIn(t, eve.Token) {
			t.Error("the wrong sessions ended")
		}
		if err := w.Sessions.Logout(t.Context(), ada.Token); err != nil {
			t.Fatal(err)
		}
		if err := w.Sessions.Logout(t.Context(), ada.Token); err != nil || w.IsSignedIn(t, ada.Token) {
			t.Errorf("logout twice: %v", err)
		}
	})
}

func TestSigningInWhileAllSessionsEndLeavesNoHalfSession(t *testing.T) {
	accounttest.Each(t, accounttest.Options{}, func(t *testing.T, w *accounttest.World) {
		ada := w.Join(t, "ada@example.com")
		var wg sync.WaitGroup
		tokens := make([]string, 6)
		for i := range tokens {
			ctx := accounttest.From(t)
			wg.Go(func() {
				in, err := w.Passwords.Login(ctx, "ada@example.com", password, ada.Device)
				if err != nil {
					t.Errorf("login: %v", err)
				}
				tokens[i] = in.Token
			})
			wg.Go(func() { _, _ = w.Sessions.EndOthers(ctx, ada.Who) })
		}
		wg.Wait()
		all, err := w.Sessions.List(t.Context(), ada.Who)
		if err != nil {
			t.Fatal(err)
		}
		live := 0
		for _, token := range tokens {
			if w.IsSignedIn(t, token) {
				live++
			}
		}
		if len(all) != live+1 {
			t.Errorf("%d listed, %d open", len(all), live+1)
		}
	})
}

func TestASuspendedOrDeletedPersonIsSignedOutEverywhere(t *testing.T) {
	accounttest.Each(t, accounttest.Options{}, func(t *testing.T, w *accounttest.World) {
		ada, eve := w.Join(t, "ada@example.com"), w.Join(t, "eve@example.com")
		if err := w.Staff.Suspend(t.Context(), ada.Account.ID, "test", eve.Account.Actor()); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Delete(t.Context(), eve.Who, "eve"); err != nil {
			t.Fatal(err)
		}
		if w.IsSignedIn(t, ada.Token) || w.IsSignedIn(t, eve.Token) {
			t.Error("a session lives on")
		}
		if err := w.Staff.Restore(t.Context(), ada.Account.ID, eve.Account.Actor()); err != nil {
			t.Fatal(err)
		}
		if w.IsSignedIn(t, ada.Token) {
			t.Error("a session came back with its person")
		}
		if _, err := w.Passwords.Login(accounttest.From(t), "ada@example.com", password, ""); err != nil {
			t.Errorf("after restoring: %v", err)
		}
	})
}
