package account_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/strictjson"
)

const password = accounttest.Password

func TestLoginNeverRevealsAnAddress(t *testing.T) {
	accounttest.Each(t, accounttest.Options{}, func(t *testing.T, w *accounttest.World) {
		w.Join(t, "known@example.com")
		off := w.Join(t, "suspended@example.com")
		if err := w.Staff.Suspend(t.Context(), off.Account.ID, "test", off.Account.Actor()); err != nil {
			t.Fatal(err)
		}
		gone := w.Join(t, "deleted@example.com")
		if _, err := w.Delete(t.Context(), gone.Who, gone.Account.Username); err != nil {
			t.Fatal(err)
		}
		w.Join(t, "provider@example.com")
		w.Execute(t, "UPDATE accounts SET password = '' WHERE email = $1", "provider@example.com")
		w.Join(t, "damaged@example.com")
		w.Execute(t, "UPDATE accounts SET password = $2 WHERE email = $1", "damaged@example.com", "$scrypt$ln=40,r=8,p=1$x$y")
		var costs []account.Scrypt
		w.Passwords.OnDerive(func(s account.Scrypt) { costs = append(costs, s) })
		var first string
		for _, email := range []string{"known", "unknown", "suspended", "deleted", "provider", "damaged"} {
			costs = nil
			_, err := w.Passwords.Login(accounttest.From(t), email+"@example.com", "not the right password", "")
			body, _ := json.Marshal(fault.From(err))
			if first == "" {
				first = string(body)
			}
			if string(body) != first || !fault.Is(err, account.InvalidCredentials) {
				t.Errorf("%s: %s, others %s", email, body, first)
			}
			if len(costs) != 1 || costs[0] != accounttest.Weak {
				t.Errorf("%s: derived %v", email, costs)
			}
		}
		costs = nil
		_, err := w.Passwords.Login(accounttest.From(t), "suspended@example.com", password, "")
		accounttest.Is(t, err, account.Suspended)
		if len(costs) != 1 {
			t.Errorf("suspended with the right password: derived %v", costs)
		}
		if _, err := w.Passwords.Login(accounttest.From(t), "KNOWN@Example.COM", password, ""); err != nil {
			t.Errorf("the right password: %v", err)
		}
	})
}

func TestTooManyAttemptsAreRefusedAlikeForAddressesThatNobodyHas(t *testing.T) {
	accounttest.Each(t, accounttest.Options{}, func(t *testing.T, w *accounttest.World) {
		made := w.Join(t, "ada@example.com")
		refusals := map[string]string{}
		for _, email := range []string{"ada@example.com", "nobody@example.com"} {
			for i := range 11 {
				before := w.Passwords.Derivations()
				_, err := w.Passwords.Login(accounttest.From(t), email, fmt.Sprint("wrong password ", i), "")
				if i < 10 {
					accounttest.Is(t, err, account.InvalidCredentials)
					continue
				}
				accounttest.Is(t, err, fault.RateLimited)
				if w.Passwords.Derivations() != before {
					t.Error("a refused attempt was derived")
				}
				body, _ := json.Marshal(fault.From(err))
				refusals[email] = string(body)
			}
		}
		if refusals["ada@example.com"] != refusals["nobody@example.com"] {
			t.Errorf("refusals differ: %v", refusals)
		}
		// The owner's own browser is in nobody's way.
		if _, err := w.Passwords.Login(accounttest.From(t), "ada@example.com", password, made.Device); err != nil {
			t.Errorf("with the device cookie: %v", err)
		}
		if _, err := w.Passwords.Login(accounttest.From(t), "ada@example.com", password, "another device"); !fault.Is(err, fault.RateLimited) {
			t.Errorf("with a made-up device cookie: %v", err)
		}
		w.Clock.Pass(2 * time.Second)
		if _, err := w.Passwords.Login(accounttest.From(t), "ada@example.com", password, ""); err != nil {
			t.Errorf("after the wait: %v", err)
		}
	})
}

func TestOneAddressCannotTryManyPeople(t *testing.T) {
	accounttest.Each(t, accounttest.Options{}, func(t *testing.T, w *accounttest.World) {
		var limited int
		for i := range 35 {
			err := w.Passwords.AdmitLogin(accounttest.Request(t, "2001:db8::"+fmt.Sprint(i)), "")
			if fault.Is(err, fault.RateLimited) {
				limited++
			}
		}
		if limited != 5 {
			t.Errorf("%d of 35 were limited, want 5: one /64 is one party", limited)
		}
	})
}

// tries signs in as the gateway does, and reports whether the attempt was let through to a derivation.
func tries(t *testing.T, w *accounttest.World, ip, email, secret, device string) (let bool, err error) {
	t.Helper()
	ctx, before := accounttest.Request(t, ip), w.Passwords.Derivations()
	if err = w.Passwords.AdmitLogin(ctx, device); err == nil {
		_, err = w.Passwords.Login(ctx, email, secret, device)
	}
	if err != nil && !fault.Is(err, fault.RateLimited) && !fault.Is(err, account.InvalidCredentials) {
		t.Fatal(err)
	}
	return w.Passwords.Derivations() > before, err
}

func TestABrowserIsSparedTheLimitOfItsAddressOnlyForItsOwnAccount(t *testing.T) {
	accounttest.Each(t, accounttest.Options{}, func(t *testing.T, w *accounttest.World) {
		eve, ada := w.Join(t, "eve@example.com"), w.Join(t, "ada@example.com")
		const here, elsewhere = "192.0.2.1", "192.0.2.2"
		let := 0
		for i := range 60 {
			if ok, _ := tries(t, w, here, fmt.Sprintf("p%d@example.com", i), "wrong password", eve.Device); ok {
				let++
			}
		}
		if let != 30 {
			t.Errorf("%d of 60 attempts on others were let through, want 30", let)
		}
		// The address is spent: a browser that its account knows gets in from there all the same, and no other does.
		if _, err := tries(t, w, here, "ada@example.com", password, ada.Device); err != nil {
			t.Errorf("the owner's own browser: %v", err)
		}
		_, err := tries(t, w, here, "ada@example.com", password, eve.Device)
		accounttest.Is(t, err, fault.RateLimited)
		_, err = tries(t, w, here, "ada@example.com", password, "")
		accounttest.Is(t, err, fault.RateLimited)
		// Her own account is no way around it either: what she may there, and what her address may, is all.
		let = 0
		for range 90 {
			if ok, _ := tries(t, w, elsewhere, "eve@example.com", password, eve.Device); ok {
				let++
			}
		}
		if let != 60 {
			t.Errorf("%d of 90 sign-ins to her own account were let through, want 60", let)
		}
	})
}

func TestParallelAttemptsCannotSlipThroughTheLimit(t *testing.T) {
	accounttest.Each(t, accounttest.Options{}, func(t *testing.T, w *accounttest.World) {
		w.Join(t, "ada@example.com")
		before := w.Passwords.Derivations()
		var wg sync.WaitGroup
		for range 40 {
			ctx := accounttest.From(t)
			wg.Go(func() { _, _ = w.Passwords.Login(ctx, "ada@example.com", "wrong password", "") })
		}
		wg.Wait()
		if n := w.Passwords.Derivations() - before; n > 10 {
			t.Errorf("%d attempts were derived", n)
		}
	})
}

func TestNodesShareSessionsThrottlesAndRevocations(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		a := accounttest.New(t, address, accounttest.Options{})
		b := accounttest.New(t, address, accounttest.Options{Beside: a})
		made := a.Join(t, "ada@example.com")
		if !b.IsSignedIn(t, made.Token) {
			t.Fatal("the other node does not know the session")
		}
		for i := range 10 {
			w := []*accounttest.World{a, b}[i%2]
			_, err := w.Passwords.Login(accounttest.From(t), "ada@example.com", "wrong password", "")
			accounttest.Is(t, err, account.InvalidCredentials)
		}
		for _, w := range []*accounttest.World{a, b} {
			_, err := w.Passwords.Login(accounttest.From(t), "ada@example.com", password, "")
			accounttest.Is(t, err, fault.RateLimited)
		}
		if err := b.Sessions.Logout(t.Context(), made.Token); err != nil {
			t.Fatal(err)
		}
		if a.IsSignedIn(t, made.Token) {
			t.Error("the session lives on one node and not on the other")
		}
	})
}

func TestAPasswordOfAnOlderCostIsDerivedAnew(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		old := accounttest.New(t, address, accounttest.Options{})
		old.Join(t, "ada@example.com")
		dearer := account.Scrypt{LogN: 11, R: 1, P: 1}
		w := accounttest.New(t, address, accounttest.Options{Beside: old, Edit: func(c *account.Config) { c.Scrypt = dearer }})
		if _, err := w.Passwords.Login(accounttest.From(t), "ada@example.com", password, ""); err != nil {
			t.Fatal(err)
		}
		var costs []account.Scrypt
		w.Passwords.OnDerive(func(s account.Scrypt) { costs = append(costs, s) })
		if _, err := w.Passwords.Login(accounttest.From(t), "ada@example.com", password, ""); err != nil {
			t.Fatal(err)
		}
		if len(costs) != 1 || costs[0] != dearer {
			t.Errorf("derived %v", costs)
		}
	})
}

func TestAnAttemptThatWaitsTooLongIsBusy(t *testing.T) {
	w := accounttest.New(t, sqldbtest.SQLite(t), accounttest.Options{Edit: func(c *account.Config) { c.Scrypt = account.DefaultScrypt }})
	var mu sync.Mutex
	outcomes := map[string]int{}
	var wg sync.WaitGroup
	for i := range 40 {
		ctx := accounttest.From(t)
		wg.Go(func() {
			_, err := w.Passwords.Login(ctx, fmt.Sprintf("p%d@example.com", i), "wrong password", "")
			mu.Lock()
			defer mu.Unlock()
			var f *fault.Error
			if errors.As(err, &f) {
				outcomes[f.Type]++
				if f.Type == fault.Busy && f.RetryAfter != 2*time.Second {
					t.Errorf("Retry-After is %v", f.RetryAfter)
				}
			}
		})
	}
	wg.Wait()
	if outcomes[fault.Busy] == 0 || outcomes[account.InvalidCredentials] == 0 || outcomes[fault.Busy]+outcomes[account.InvalidCredentials] != 40 {
		t.Errorf("outcomes: %v", outcomes)
	}
}

func TestSignUpMakesOrResumesAnAccount(t *testing.T) {
	accounttest.Each(t, accounttest.Options{}, func(t *testing.T, w *accounttest.World) {
		first := w.Join(t, "ada@example.com")
		if !first.Created || first.Account.Username != "ada" || first.Workspace.Scope != "users/ada/personal" || !w.IsSignedIn(t, first.Token) {
			t.Errorf("first: %+v", first)
		}
		again := w.Join(t, "Ada@Example.com")
		if again.Created || again.Account.ID != first.Account.ID || again.Workspace.ID != first.Workspace.ID {
			t.Errorf("again: %+v", again)
		}
		_, err := w.Registrations.Register(accounttest.From(t), account.Registration{Email: "ada@example.com", Password: "another long password"})
		accounttest.Is(t, err, account.InvalidCredentials)
		_, err = w.Registrations.Register(accounttest.From(t), account.Registration{Email: "eve@example.com", Password: password, Username: "ada"})
		accounttest.Is(t, err, account.UsernameTaken)
		_, err = w.Registrations.Register(accounttest.From(t), account.Registration{Email: "eve@example.com", Password: password, Username: "adm1n"})
		accounttest.Is(t, err, account.UsernameTaken)
		if other := w.Join(t, "ada@example.org"); other.Account.Username != "ada-2" {
			t.Errorf("derived username %q", other.Account.Username)
		}
	})
}

func TestARegistrationSaysAllThatIsWrongWithIt(t *testing.T) {
	w := accounttest.New(t, sqldbtest.SQLite(t), accounttest.Options{})
	_, err := w.Registrations.Register(accounttest.From(t), account.Registration{Email: "x", Password: "short", Username: "A", DisplayName: strings.Repeat("x", 81)})
	body, _ := json.Marshal(strictjson.FieldsOf(fault.From(err)))
	want := `[{"field":"email","type":"invalid"},{"field":"password","type":"too_short"},{"field":"username","type":"invalid"},{"field":"displayName","type":"too_long"}]`
	if string(body) != want {
		t.Errorf("fields: %s", body)
	}
}

func TestRacingSignUpsMakeOneAccount(t *testing.T) {
	accounttest.Each(t, accounttest.Options{}, func(t *testing.T, w *accounttest.World) {
		var wg sync.WaitGroup
		ids := make([]string, 8)
		for i := range ids {
			ctx := accounttest.From(t)
			wg.Go(func() {
				made, err := w.Registrations.Register(ctx, account.Registration{Email: "ada@example.com", Password: password})
				if err != nil {
					t.Errorf("register: %v", err)
				}
				ids[i] = made.Account.ID
			})
		}
		wg.Wait()
		for _, id := range ids {
			if id != ids[0] {
				t.Errorf("accounts: %v", ids)
			}
		}
	})
}

func TestAUsernameIsNeverGivenTwice(t *testing.T) {
	accounttest.Each(t, accounttest.Options{}, func(t *testing.T, w *accounttest.World) {
		ada := w.Join(t, "ada@example.com")
		if _, err := w.Delete(t.Context(), ada.Who, "ada"); err != nil {
			t.Fatal(err)
		}
		w.Clock.Pass(15 * 24 * time.Hour)
		if n, err := w.Erase(t.Context()); n != 1 || err != nil {
			t.Fatalf("erase: %d, %v", n, err)
		}
		if n, err := w.Erase(t.Context()); n != 0 || err != nil {
			t.Fatalf("erase again: %d, %v", n, err)
		}
		_, err := w.Registrations.Register(accounttest.From(t), account.Registration{Email: "eve@example.com", Password: password, Username: "ada"})
		accounttest.Is(t, err, account.UsernameTaken)
		if back := w.Join(t, "ada@example.com"); !back.Created || back.Account.Username == "ada" || back.Account.ID == ada.Account.ID {
			t.Errorf("the address came back as %+v", back.Account)
		}
	})
}

// TestAResetLetsItsBrowserInWhateverOthersFail is a stranger who fails to sign in once in a while, for ever: whoever sets a new
// password by mail is not kept out by that, though every device that there was is forgotten.
func TestAResetLetsItsBrowserInWhateverOthersFail(t *testing.T) {
	accounttest.Each(t, byMail, func(t *testing.T, w *accounttest.World) {
		joinByMail(t, w, "ada@example.com")
		try := func(secret, device string) error {
			return accounttest.ErrOf(w.Passwords.Login(accounttest.From(t), "ada@example.com", secret, device))
		}
		for failed := 0; failed < 20; {
			if fault.Is(try("not the right password", ""), fault.RateLimited) {
				w.Clock.Pass(time.Minute)
			} else {
				failed++
			}
		}
		accounttest.Is(t, try(password, ""), fault.RateLimited)
		accounttest.Check(t, w.Passwords.Forgot(accounttest.From(t), "ada@example.com"))
		device, err := w.Passwords.Reset(accounttest.From(t), mailed(t, w, "ada@example.com"), other)
		accounttest.Check(t, err)
		accounttest.Is(t, try(other, ""), fault.RateLimited)
		accounttest.Check(t, try(other, device))
	})
}

// TestTheRightPasswordIsNotShownWithoutEnd is somebody signed in who wants all turns at the hasher.
func TestTheRightPasswordIsNotShownWithoutEnd(t *testing.T) {
	accounttest.Each(t, accounttest.Options{}, func(t *testing.T, w *accounttest.World) {
		in := w.Join(t, "ada@example.com").SignedIn
		for range 30 {
			var err error
			in, err = w.Passwords.Reauth(accounttest.From(t), in.Who, password)
			accounttest.Check(t, err)
		}
		before := w.Passwords.Derivations()
		accounttest.Is(t, accounttest.ErrOf(w.Passwords.Reauth(accounttest.From(t), in.Who, password)), fault.RateLimited)
		accounttest.Is(t, accounttest.ErrOf(w.Passwords.Change(accounttest.From(t), in.Who, password, other)), fault.RateLimited)
		if w.Passwords.Derivations() != before {
			t.Error("it was derived all the same")
		}
		w.Clock.Pass(5 * time.Minute)
		accounttest.Check(t, accounttest.ErrOf(w.Passwords.Reauth(accounttest.From(t), in.Who, password)))
	})
}

// TestAnAccountKnowsSoManyBrowsersAndNoMore signs in without cookies again and again.
func TestAnAccountKnowsSoManyBrowsersAndNoMore(t *testing.T) {
	accounttest.Each(t, accounttest.Options{}, func(t *testing.T, w *accounttest.World) {
		ada := w.Join(t, "ada@example.com")
		last := ""
		for range 120 {
			w.Clock.Pass(time.Second)
			in, err := w.Passwords.Login(accounttest.From(t), "ada@example.com", password, "")
			accounttest.Check(t, err)
			last = in.Device
		}
		if n := w.Count(t, "SELECT count(*) FROM devices WHERE account = $1", ada.Account.ID); n != 100 {
			t.Errorf("%d devices are known", n)
		}
		if again, err := w.Passwords.Login(accounttest.From(t), "ada@example.com", password, last); err != nil || again.Device != "" {
			t.Errorf("the last one is not known: %v", err)
		}
	})
}
