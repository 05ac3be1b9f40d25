package account_test

import (
	"slices"
	"testing"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/accounttest"
)

// TestPeopleAreFoundByHowTheyStand lets everybody stand in another way, and asks for each.
func TestPeopleAreFoundByHowTheyStand(t *testing.T) {
	accounttest.Each(t, accounttest.Options{}, func(t *testing.T, w *accounttest.World) {
		employ(t, w, "sam@example.com", account.RoleSupport)
		ids := map[string]string{}
		for _, name := range []string{"active", "unverified", "suspended", "deleted"} {
			ids[name] = w.Join(t, name+"@example.com").Account.ID
		}
		w.Execute(t, "UPDATE accounts SET email_verified = 1")
		w.Execute(t, "UPDATE accounts SET email_verified = 0 WHERE id = $1", ids["unverified"])
		w.Execute(t, "UPDATE accounts SET suspended_at = 1 WHERE id = $1", ids["suspended"])
		w.Execute(t, "UPDATE accounts SET deleted_at = 1, suspended_at = 1 WHERE id = $1", ids["deleted"])
		asked := func(q account.PeopleQuery) (found []string) {
			t.Helper()
			page, err := w.Staff.People(t.Context(), q)
			accounttest.Check(t, err)
			for _, p := range page.Items {
				found = append(found, p.Email)
			}
			slices.Sort(found)
			return found
		}
		for _, status := range []string{"unverified", "suspended", "deleted"} {
			if got := asked(account.PeopleQuery{Status: status}); !slices.Equal(got, []string{status + "@example.com"}) {
				t.Errorf("%s: %v", status, got)
			}
		}
		if got := asked(account.PeopleQuery{Status: "active"}); !slices.Equal(got, []string{"active@example.com", "sam@example.com"}) {
			t.Errorf("active: %v", got)
		}
		if got := asked(account.PeopleQuery{Role: account.RoleSupport}); !slices.Equal(got, []string{"sam@example.com"}) {
			t.Errorf("support: %v", got)
		}
		if got := asked(account.PeopleQuery{}); len(got) != 5 {
			t.Errorf("everybody: %v", got)
		}
		for _, q := range []account.PeopleQuery{{Status: "odd"}, {Role: "owner"}} {
			accounttest.Is(t, accounttest.ErrOf(w.Staff.People(t.Context(), q)), fault.InvalidRequest)
		}

		of, err := w.WorkspacesOf(t.Context(), []string{ids["active"], ids["suspended"]})
		accounttest.Check(t, err)
		if len(of) != 2 || len(of[ids["active"]]) != 1 || of[ids["active"]][0].Role != "owner" {
			t.Errorf("%+v", of)
		}
	})
}

// TestAnElevationSaysWhenItEnds uses one until its last hour.
func TestAnElevationSaysWhenItEnds(t *testing.T) {
	accounttest.Each(t, accounttest.Options{}, func(t *testing.T, w *accounttest.World) {
		sam, ada := employ(t, w, "sam@example.com", account.RoleAdmin), w.Join(t, "ada@example.com")
		up, err := w.Staff.Elevate(accounttest.From(t), sam, password)
		accounttest.Check(t, err)
		until, err := w.Staff.ElevatedUntil(t.Context(), up.Who, up.Elevation)
		if left := until.Sub(w.Clock.Now()); err != nil || left.Minutes() != 30 {
			t.Errorf("ends in %s, %v", left, err)
		}
		for who, value := range map[*account.Who]string{&up.Who: "svca_nonsense", &ada.Who: up.Elevation} {
			if until, err := w.Staff.ElevatedUntil(t.Context(), *who, value); err != nil || !until.IsZero() {
				t.Errorf("%s has one until %s, %v", who.Account.Username, until, err)
			}
		}
	})
}
