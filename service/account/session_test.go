package account_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/accounttest"
)

func TestASessionIsAReferenceThatTheDatabaseDoesNotHold(t *testing.T) {
	each(t, accounttest.Options{}, func(t *testing.T, w *accounttest.World) {
		made := join(t, w, "ada@example.com")
		if len(made.Token) != 48 || !strings.HasPrefix(made.Token, "svcs_") {
			t.Errorf("token %q", made.Token)
		}
		if strings.Contains(dump(t, w), made.Token) || strings.Contains(dump(t, w), made.Device) {
			t.Error("the database holds a value that opens something")
		}
	})
}

// dump is all text of the tables that hold credentials.
func dump(t *testing.T, w *accounttest.World) string {
	t.Helper()
	var b strings.Builder
	err := w.DB.Snapshot(t.Context(), func(tx *sqldb.Tx) error {
		b.Reset()
		for _, statement := range []string{
			"SELECT id || ' ' || token || ' ' || account FROM sessions", "SELECT token || ' ' || account FROM devices",
			"SELECT hash || ' ' || purpose || ' ' || data || ' ' || email FROM tokens", "SELECT prefix || ' ' || hash || ' ' || last4 FROM api_keys",
			"SELECT id || ' ' || password || ' ' || COALESCE(email, '') FROM accounts",
		} {
			rows, err := tx.Query(statement)
			if err != nil {
				return err
			}
			for rows.Next() {
				var line string
				if err := rows.Scan(&line); err != nil {
					return err
				}
				b.WriteString(line + "\n")
			}
			if err := rows.Close(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestAValueThatIsNoSessionOpensNothing(t *testing.T) {
	each(t, accounttest.Options{}, func(t *testing.T, w *accounttest.World) {
		made := join(t, w, "ada@example.com")
		for _, value := range []string{
			"", "svcs_", made.Token + "=", made.Token + " ", " " + made.Token, strings.ToUpper(made.Token), made.Token[:47], made.Token[5:],
			"svcs_" + strings.Repeat("A", 43), account.Fingerprint(made.Token), strings.Replace(made.Token, "svcs_", "svck_", 1), made.Session.ID,
		} {
			if signedIn(t, w, value) {
				t.Errorf("%q opens a session", value)
			}
		}
	})
}

func TestASessionEndsWhenItIsNotUsedAndAfterItsLongestLife(t *testing.T) {
	each(t, accounttest.Options{}, func(t *testing.T, w *accounttest.World) {
		const day = 24 * time.Hour
		idle := join(t, w, "idle@example.com")
		w.Clock.Pass(7*day - time.Second)
		if !signedIn(t, w, idle.Token) {
			t.Error("ended a second early")
		}
		w.Clock.Pass(7 * day)
		if signedIn(t, w, idle.Token) {
			t.Error("lives on though nobody uses it")
		}
		used := join(t, w, "used@example.com")
		for range 5 {
			w.Clock.Pass(6*day - time.Hour)
			if !signedIn(t, w, used.Token) {
				t.Fatal("ended though it was in use")
			}
		}
		w.Clock.Pass(5*time.Hour - time.Second)
		if !signedIn(t, w, used.Token) {
			t.Error("ended before its longest life")
		}
		w.Clock.Pass(time.Second)
		if signedIn(t, w, used.Token) {
			t.Error("lives longer than the longest life")
		}
		back := join(t, w, "back@example.com")
		w.Clock.Pass(-time.Hour)
		if !signedIn(t, w, back.Token) {
			t.Error("a clock that was set back ended a session")
		}
	})
}

func TestProvingAgainGivesANewValueAndTheOldOneDies(t *testing.T) {
	each(t, accounttest.Options{}, func(t *testing.T, w *accounttest.World) {
		made := join(t, w, "ada@example.com")
		w.Clock.Pass(11 * time.Minute)
		who, _, _ := w.Who(t.Context(), made.Token)
		is(t, w.NeedFresh(who), account.ReauthRequired)
		_, err := w.Reauth(accounttest.From(t), who, "not the password")
		is(t, err, account.InvalidCredentials)
		in, err := w.Reauth(accounttest.From(t), who, password)
		if err != nil || in.Session.ID != made.Session.ID {
			t.Fatalf("reauth: %+v, %v", in, err)
		}
		if signedIn(t, w, made.Token) || !signedIn(t, w, in.Token) {
			t.Error("the old value lives, or the new one does not")
		}
		who, _, _ = w.Who(t.Context(), in.Token)
		if err := w.NeedFresh(who); err != nil {
			t.Errorf("after proving: %v", err)
		}
	})
}

func TestTheFiftyFirstSessionEndsTheOldest(t *testing.T) {
	each(t, accounttest.Options{Edit: func(c *account.Config) { c.MaxSessions = 5 }}, func(t *testing.T, w *accounttest.World) {
		first := join(t, w, "ada@example.com")
		var last account.SignedIn
		for range 5 {
			w.Clock.Pass(time.Second)
			var err error
			if last, err = w.Login(accounttest.From(t), "ada@example.com", password, first.Device); err != nil {
				t.Fatal(err)
			}
		}
		all, err := w.Sessions(t.Context(), last.Who)
		if err != nil || len(all) != 5 || signedIn(t, w, first.Token) || !signedIn(t, w, last.Token) {
			t.Errorf("%d sessions, err %v", len(all), err)
		}
	})
}

func TestSessionsAreEndedOneByOneAndAllOthersAtOnce(t *testing.T) {
	each(t, accounttest.Options{}, func(t *testing.T, w *accounttest.World) {
		ada, eve := join(t, w, "ada@example.com"), join(t, w, "eve@example.com")
		second, _ := w.Login(accounttest.From(t), "ada@example.com", password, ada.Device)
		third, _ := w.Login(accounttest.From(t), "ada@example.com", password, ada.Device)
		is(t, w.EndSession(t.Context(), eve.Who, second.Session.ID), account.ItemNotFound)
		is(t, w.EndSession(t.Context(), ada.Who, "ses_unknown"), account.ItemNotFound)
		if err := w.EndSession(t.Context(), ada.Who, second.Session.ID); err != nil || signedIn(t, w, second.Token) {
			t.Errorf("end one: %v", err)
		}
		if n, err := w.EndOthers(t.Context(), ada.Who); n != 1 || err != nil {
			t.Errorf("end others: %d, %v", n, err)
		}
		if !signedIn(t, w, ada.Token) || signedIn(t, w, third.Token) || !signedIn(t, w, eve.Token) {
			t.Error("the wrong sessions ended")
		}
		if err := w.Logout(t.Context(), ada.Token); err != nil {
			t.Fatal(err)
		}
		if err := w.Logout(t.Context(), ada.Token); err != nil || signedIn(t, w, ada.Token) {
			t.Errorf("logout twice: %v", err)
		}
	})
}

func TestSigningInWhileAllSessionsEndLeavesNoHalfSession(t *testing.T) {
	each(t, accounttest.Options{}, func(t *testing.T, w *accounttest.World) {
		ada := join(t, w, "ada@example.com")
		var wg sync.WaitGroup
		tokens := make([]string, 6)
		for i := range tokens {
			ctx := accounttest.From(t)
			wg.Go(func() {
				in, err := w.Login(ctx, "ada@example.com", password, ada.Device)
				if err != nil {
					t.Errorf("login: %v", err)
				}
				tokens[i] = in.Token
			})
			wg.Go(func() { _, _ = w.EndOthers(ctx, ada.Who) })
		}
		wg.Wait()
		all, err := w.Sessions(t.Context(), ada.Who)
		if err != nil {
			t.Fatal(err)
		}
		live := 0
		for _, token := range tokens {
			if signedIn(t, w, token) {
				live++
			}
		}
		if len(all) != live+1 {
			t.Errorf("%d listed, %d open", len(all), live+1)
		}
	})
}

func TestASuspendedOrDeletedPersonIsSignedOutEverywhere(t *testing.T) {
	each(t, accounttest.Options{}, func(t *testing.T, w *accounttest.World) {
		ada, eve := join(t, w, "ada@example.com"), join(t, w, "eve@example.com")
		if err := w.Suspend(t.Context(), ada.Account.ID, "test", eve.Account.Actor()); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Delete(t.Context(), eve.Who, "eve"); err != nil {
			t.Fatal(err)
		}
		if signedIn(t, w, ada.Token) || signedIn(t, w, eve.Token) {
			t.Error("a session lives on")
		}
		if err := w.Restore(t.Context(), ada.Account.ID, eve.Account.Actor()); err != nil {
			t.Fatal(err)
		}
		if signedIn(t, w, ada.Token) {
			t.Error("a session came back with its person")
		}
		if _, err := w.Login(accounttest.From(t), "ada@example.com", password, ""); err != nil {
			t.Errorf("after restoring: %v", err)
		}
	})
}
