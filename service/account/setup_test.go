package account_test

import (
	"sync"
	"testing"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/accounttest"
)

func TestTheFirstAdministratorComesByTheLinkAndNobodyAfterwards(t *testing.T) {
	each(t, accounttest.Options{}, func(t *testing.T, w *accounttest.World) {
		earlier, _ := w.PrepareSetup(t.Context(), "")
		link, err := w.PrepareSetup(t.Context(), "")
		if err != nil || link == "" || link == earlier {
			t.Fatalf("link %q, %v", link, err)
		}
		r := account.Registration{Email: "root@example.com", Password: password, Username: "ada"}
		_, err = w.Setup(accounttest.From(t), earlier, r)
		is(t, err, account.InvalidToken)
		_, err = w.Setup(accounttest.From(t), link, account.Registration{Email: "x", Password: "y"})
		is(t, err, fault.InvalidRequest)
		made, err := w.Setup(accounttest.From(t), link, r)
		if err != nil || made.Account.Role != account.RoleAdmin || !made.Account.EmailVerified || !signedIn(t, w, made.Token) {
			t.Fatalf("setup: %+v, %v", made, err)
		}
		_, err = w.Setup(accounttest.From(t), link, account.Registration{Email: "eve@example.com", Password: password})
		is(t, err, account.SetupClosed)
		if again, err := w.PrepareSetup(t.Context(), ""); again != "" || err != nil {
			t.Errorf("a link although there is an administrator: %q, %v", again, err)
		}
		if open, _ := w.SetupOpen(t.Context()); open {
			t.Error("set-up is open")
		}
	})
}

func TestAnExpiredSetupLinkIsOfNoUse(t *testing.T) {
	each(t, accounttest.Options{}, func(t *testing.T, w *accounttest.World) {
		link, err := w.PrepareSetup(t.Context(), "a token that an operator chose, long enough")
		if err != nil {
			t.Fatal(err)
		}
		w.Clock.Pass(24 * time.Hour)
		_, err = w.Setup(accounttest.From(t), link, account.Registration{Email: "eve@example.com", Password: password})
		is(t, err, account.InvalidToken)
	})
}

func TestOfTwoWhoComeWithTheSetupLinkOneBecomesAdministrator(t *testing.T) {
	each(t, accounttest.Options{}, func(t *testing.T, w *accounttest.World) {
		people := []account.Registered{join(t, w, "a@example.com"), join(t, w, "b@example.com"), join(t, w, "c@example.com")}
		link, err := w.PrepareSetup(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		errs := make([]error, len(people))
		for i, p := range people {
			ctx := accounttest.From(t)
			wg.Go(func() { errs[i] = w.SetupExisting(ctx, link, p.Who) })
		}
		wg.Wait()
		won := 0
		for i, err := range errs {
			p, _ := w.Account(t.Context(), people[i].Account.ID)
			if (err == nil) != (p.Role == account.RoleAdmin) {
				t.Errorf("%v, role %s", err, p.Role)
			}
			if err == nil {
				won++
			}
		}
		if won != 1 {
			t.Errorf("%d administrators", won)
		}
	})
}

func TestAnOperatorMakesAndGrantsAdministrators(t *testing.T) {
	each(t, accounttest.Options{}, func(t *testing.T, w *accounttest.World) {
		root, err := w.CreateAdmin(t.Context(), account.Registration{Email: "root@example.com", Password: password})
		if err != nil || root.Role != account.RoleAdmin {
			t.Fatalf("create: %+v, %v", root, err)
		}
		ada := join(t, w, "ada@example.com")
		if p, err := w.Grant(t.Context(), ada.Account.ID, account.RoleSupport); err != nil || p.Role != account.RoleSupport {
			t.Errorf("grant: %+v, %v", p, err)
		}
		for _, c := range []struct{ username, email, want string }{
			{"ada", "", ada.Account.ID}, {"ADA", "", ada.Account.ID}, {"", "Root@example.com", root.ID},
			{"", "ada@example.com", fault.InvalidRequest}, // which nobody has proven
			{"nobody", "", account.ItemNotFound}, {"", "nobody@example.com", account.ItemNotFound}, {"", "nobody", fault.InvalidRequest},
		} {
			p, err := w.Named(t.Context(), c.username, c.email)
			if err != nil {
				is(t, err, c.want)
			} else if p.ID != c.want {
				t.Errorf("%+v: %s", c, p.ID)
			}
		}
		is(t, errOf(w.Grant(t.Context(), "acc_unknown", account.RoleAdmin)), account.ItemNotFound)
		is(t, errOf(w.Grant(t.Context(), ada.Account.ID, "root")), fault.InvalidRequest)
	})
}
