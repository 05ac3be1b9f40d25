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
	accounttest.Each(t, accounttest.Options{}, func(t *testing.T, w *accounttest.World) {
		earlier, _ := w.Staff.PrepareSetup(t.Context(), "")
		link, err := w.Staff.PrepareSetup(t.Context(), "")
		if err != nil || link == "" || link == earlier {
			t.Fatalf("link %q, %v", link, err)
		}
		r := account.Registration{Email: "root@example.com", Password: password, Username: "ada"}
		_, err = w.Staff.Setup(accounttest.From(t), earlier, r)
		accounttest.Is(t, err, account.InvalidToken)
		_, err = w.Staff.Setup(accounttest.From(t), link, account.Registration{Email: "x", Password: "y"})
		accounttest.Is(t, err, fault.InvalidRequest)
		made, err := w.Staff.Setup(accounttest.From(t), link, r)
		if err != nil || made.Account.Role != account.RoleAdmin || !made.Account.EmailVerified || !w.IsSignedIn(t, made.Token) {
			t.Fatalf("setup: %+v, %v", made, err)
		}
		_, err = w.Staff.Setup(accounttest.From(t), link, account.Registration{Email: "eve@example.com", Password: password})
		accounttest.Is(t, err, account.SetupClosed)
		if again, err := w.Staff.PrepareSetup(t.Context(), ""); again != "" || err != nil {
			t.Errorf("a link although there is an administrator: %q, %v", again, err)
		}
		if open, _ := w.Staff.SetupOpen(t.Context()); open {
			t.Error("set-up is open")
		}
	})
}

func TestAnExpiredSetupLinkIsOfNoUse(t *testing.T) {
	accounttest.Each(t, accounttest.Options{}, func(t *testing.T, w *accounttest.World) {
		link, err := w.Staff.PrepareSetup(t.Context(), "a token that an operator chose, long enough")
		if err != nil {
			t.Fatal(err)
		}
		w.Clock.Pass(24 * time.Hour)
		_, err = w.Staff.Setup(accounttest.From(t), link, account.Registration{Email: "eve@example.com", Password: password})
		accounttest.Is(t, err, account.InvalidToken)
	})
}

func TestOfTwoWhoComeWithTheSetupLinkOneBecomesAdministrator(t *testing.T) {
	accounttest.Each(t, accounttest.Options{}, func(t *testing.T, w *accounttest.World) {
		people := []account.Registered{w.Join(t, "a@example.com"), w.Join(t, "b@example.com"), w.Join(t, "c@example.com")}
		link, err := w.Staff.PrepareSetup(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		errs := make([]error, len(people))
		for i, p := range people {
			ctx := accounttest.From(t)
			wg.Go(func() { errs[i] = w.Staff.SetupExisting(ctx, link, p.Who) })
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
	accounttest.Each(t, accounttest.Options{}, func(t *testing.T, w *accounttest.World) {
		root, err := w.Staff.CreateAdmin(t.Context(), account.Registration{Email: "root@example.com", Password: password})
		if err != nil || root.Role != account.RoleAdmin {
			t.Fatalf("create: %+v, %v", root, err)
		}
		ada := w.Join(t, "ada@example.com")
		if p, err := w.Staff.Grant(t.Context(), ada.Account.ID, account.RoleSupport); err != nil || p.Role != account.RoleSupport {
			t.Errorf("grant: %+v, %v", p, err)
		}
		for _, c := range []struct{ username, email, want string }{
			{"ada", "", ada.Account.ID}, {"ADA", "", ada.Account.ID}, {"", "Root@example.com", root.ID},
			{"", "ada@example.com", fault.InvalidRequest}, // which nobody has proven
			{"nobody", "", fault.ItemNotFound}, {"", "nobody@example.com", fault.ItemNotFound}, {"", "nobody", fault.InvalidRequest},
		} {
			p, err := w.Staff.Named(t.Context(), c.username, c.email)
			if err != nil {
				accounttest.Is(t, err, c.want)
			} else if p.ID != c.want {
				t.Errorf("%+v: %s", c, p.ID)
			}
		}
		accounttest.Is(t, accounttest.ErrOf(w.Staff.Grant(t.Context(), "acc_unknown", account.RoleAdmin)), fault.ItemNotFound)
		accounttest.Is(t, accounttest.ErrOf(w.Staff.Grant(t.Context(), ada.Account.ID, "root")), fault.InvalidRequest)
	})
}
