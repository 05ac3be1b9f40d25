package account_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/accounttest"
)

// employ makes somebody of the staff.
func employ(t *testing.T, w *accounttest.World, email, role string) account.Who {
	t.Helper()
	made := w.Join(t, email)
	if _, err := w.Staff.Grant(t.Context(), made.Account.ID, role); err != nil {
		t.Fatal(err)
	}
	who, found, err := w.Sessions.Who(t.Context(), made.Token)
	if err != nil || !found {
		t.Fatalf("who: %t, %v", found, err)
	}
	return who
}

// texts is all text of the tables of the staff.
func texts(t *testing.T, w *accounttest.World) string {
	t.Helper()
	var b strings.Builder
	err := w.DB.Snapshot(t.Context(), func(tx *sqldb.Tx) error {
		b.Reset()
		for _, statement := range []string{"SELECT session || token || account FROM elevations", "SELECT id || session || reason || ticket || COALESCE(view, '') FROM impersonations"} {
			rows, err := tx.Query(statement)
			if err != nil {
				return err
			}
			defer rows.Close()
			for rows.Next() {
				var line string
				if err := rows.Scan(&line); err != nil {
					return err
				}
				b.WriteString(line + "\n")
			}
			if err := rows.Err(); err != nil {
				return err
			}
			rows.Close()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestWhatStaffHoldIsNotInTheDatabase(t *testing.T) {
	accounttest.Each(t, accounttest.Options{}, func(t *testing.T, w *accounttest.World) {
		sam, ada := employ(t, w, "sam@example.com", account.RoleSupport), w.Join(t, "ada@example.com")
		up, err := w.Staff.Elevate(accounttest.From(t), sam, password)
		if err != nil {
			t.Fatal(err)
		}
		i, err := w.Views.Impersonate(t.Context(), up.Who, ada.Account.ID, "she asked for help")
		if err != nil {
			t.Fatal(err)
		}
		view, life, err := w.Views.Open(t.Context(), up.Who, i.Ticket)
		if err != nil || life != time.Hour {
			t.Fatalf("open: %s, %v", life, err)
		}
		stored := texts(t, w) + w.Dump(t)
		for _, value := range []string{up.Elevation, up.Elevation[5:], up.Token, i.Ticket, view, view[5:]} {
			if strings.Contains(stored, value) {
				t.Error("the database holds a value that opens something")
			}
		}
	})
}

func TestOfManyElevationsOfASessionTheLastCounts(t *testing.T) {
	accounttest.Each(t, accounttest.Options{}, func(t *testing.T, w *accounttest.World) {
		sam := employ(t, w, "sam@example.com", account.RoleAdmin)
		ups := make([]account.Elevated, 6)
		var wg sync.WaitGroup
		for n := range ups {
			wg.Go(func() { ups[n], _ = w.Staff.Elevate(t.Context(), sam, "") })
		}
		wg.Wait()
		alive, open := 0, 0
		for _, up := range ups {
			if w.Staff.NeedElevation(t.Context(), sam, up.Elevation) == nil {
				alive++
			}
			if w.IsSignedIn(t, up.Token) {
				open++
			}
		}
		if alive != 1 || open != 1 {
			t.Errorf("%d elevations and %d values of one session count", alive, open)
		}
	})
}

func TestAnOpenStreamDoesNotKeepAnElevationAlive(t *testing.T) {
	accounttest.Each(t, accounttest.Options{}, func(t *testing.T, w *accounttest.World) {
		sam := employ(t, w, "sam@example.com", account.RoleAdmin)
		up, err := w.Staff.Elevate(t.Context(), sam, password)
		if err != nil {
			t.Fatal(err)
		}
		for range 29 {
			w.Clock.Pass(time.Minute)
			if err := w.Staff.StillElevated(t.Context(), sam, up.Elevation); err != nil {
				t.Fatal(err)
			}
		}
		w.Clock.Pass(time.Minute)
		accounttest.Is(t, w.Staff.StillElevated(t.Context(), sam, up.Elevation), account.ReauthRequired)
	})
}

func TestAnElevationDiesWithItsSession(t *testing.T) {
	accounttest.Each(t, accounttest.Options{}, func(t *testing.T, w *accounttest.World) {
		for name, end := range map[string]func(up account.Elevated) error{
			"logout": func(up account.Elevated) error { return w.Sessions.Logout(t.Context(), up.Token) },
			"ended":  func(up account.Elevated) error { return w.Sessions.End(t.Context(), up.Who, up.Session.ID) },
			"suspended": func(up account.Elevated) error {
				return w.Staff.Suspend(t.Context(), up.Account.ID, "x", up.Account.Actor())
			},
			"a new password": func(up account.Elevated) error { return changeElsewhere(t, w, up) },
		} {
			sam := employ(t, w, strings.ReplaceAll(name, " ", "-")+"@example.com", account.RoleAdmin)
			up, err := w.Staff.Elevate(t.Context(), sam, password)
			if err != nil {
				t.Fatal(err)
			}
			if err := end(up); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if w.IsSignedIn(t, up.Token) {
				t.Errorf("%s: the session lives", name)
			}
		}
	})
}

// changeElsewhere changes the password from another browser.
func changeElsewhere(t *testing.T, w *accounttest.World, up account.Elevated) error {
	t.Helper()
	in, err := w.Passwords.Login(accounttest.From(t), up.Account.Email, password, "")
	if err != nil {
		return err
	}
	_, err = w.Passwords.Change(t.Context(), in.Who, password, "another calm password")
	return err
}

func TestAnAccountWhoseHoldIsOverDoesNotComeBack(t *testing.T) {
	accounttest.Each(t, accounttest.Options{}, func(t *testing.T, w *accounttest.World) {
		root, ada := employ(t, w, "root1@example.com", account.RoleAdmin), w.Join(t, "ada@example.com")
		if _, err := w.Delete(t.Context(), ada.Who, "ada"); err != nil {
			t.Fatal(err)
		}
		if p, err := w.Staff.RestorePerson(t.Context(), root, ada.Account.ID); err != nil || !p.EraseAt.IsZero() {
			t.Errorf("within the hold: %+v, %v", p, err)
		}
		in, err := w.Passwords.Login(accounttest.From(t), "ada@example.com", password, "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Delete(t.Context(), in.Who, "ada"); err != nil {
			t.Fatal(err)
		}
		w.Clock.Pass(w.Hold)
		again, err := w.Passwords.Login(accounttest.From(t), "root1@example.com", password, "")
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.Staff.RestorePerson(t.Context(), again.Who, ada.Account.ID)
		accounttest.Is(t, err, fault.ItemNotFound)
		accounttest.Is(t, w.Staff.Restore(t.Context(), ada.Account.ID, root.Account.Actor()), fault.ItemNotFound)
		if n, err := w.Erase(t.Context()); n != 1 || err != nil {
			t.Fatalf("erase: %d, %v", n, err)
		}
		_, err = w.Staff.Person(t.Context(), ada.Account.ID)
		accounttest.Is(t, err, fault.ItemNotFound)
	})
}

func TestWhatTheStaffLeaveIsSwept(t *testing.T) {
	accounttest.Each(t, accounttest.Options{}, func(t *testing.T, w *accounttest.World) {
		sam, ada := employ(t, w, "sam@example.com", account.RoleAdmin), w.Join(t, "ada@example.com")
		if _, err := w.Staff.Elevate(t.Context(), sam, password); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Views.Impersonate(t.Context(), sam, ada.Account.ID, "she asked for help"); err != nil {
			t.Fatal(err)
		}
		w.Clock.Pass(w.Keep + 2*time.Hour)
		if _, err := w.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if left := texts(t, w); left != "" {
			t.Errorf("left: %s", left)
		}
	})
}
