package accounttest

import (
	"context"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/apikey"
	"svc.dev/svc/service/workspace"
)

// Password is everybody's who joins.
const Password = "a calm and long password"

// Each runs a test on both databases.
func Each(t *testing.T, o Options, fn func(t *testing.T, w *World)) {
	t.Helper()
	sqldbtest.EachSchema(t, func(t *testing.T, address string) { fn(t, New(t, address, o)) })
}

// Is fails unless the error is a fault of that type.
func Is(t *testing.T, err error, typ string) {
	t.Helper()
	if !fault.Is(err, typ) {
		t.Errorf("err = %v, want %s", err, typ)
	}
}

// ErrOf is the error of a verb whose outcome does not matter.
func ErrOf[T any](_ T, err error) error { return err }

// Check ends the test at an error.
func Check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Join signs somebody up.
func (w *World) Join(t *testing.T, email string) account.Registered {
	t.Helper()
	made, err := w.Registrations.Register(From(t), account.Registration{Email: email, Password: Password})
	must(t, "register "+email, err)
	return made
}

// IsSignedIn reports whether a session's value opens anything.
func (w *World) IsSignedIn(t *testing.T, token string) bool {
	t.Helper()
	_, found, err := w.Sessions.Who(t.Context(), token)
	Check(t, err)
	return found
}

// Membership is a person's place in the workspace of a scope; found is false for strangers.
func (w *World) Membership(ctx context.Context, account, scope string) (m workspace.Membership, found bool, err error) {
	err = w.DB.Read(ctx, func(tx *sqldb.Tx) (err error) {
		m, found, err = workspace.Find(tx, account, scope)
		return err
	})
	if err != nil {
		return workspace.Membership{}, false, err
	}
	return m, found, nil
}

// Personal is the workspace that somebody has from sign-up on.
func (w *World) Personal(t *testing.T, who account.Who) workspace.Membership {
	t.Helper()
	m, found, err := w.Membership(t.Context(), who.Account.ID, "users/"+who.Account.Username+"/personal")
	if err != nil || !found {
		t.Fatalf("personal workspace: %t, %v", found, err)
	}
	return m
}

// MakeKey gives somebody a key of their own workspace.
func (w *World) MakeKey(t *testing.T, who account.Who) (apikey.Key, string) {
	t.Helper()
	k, value, err := w.Keys.Create(t.Context(), who, w.Personal(t, who), apikey.Draft{Name: "ci", Scopes: []string{"runs:read", "agents:read", "runs:read"}})
	must(t, "create key", err)
	return k, value
}

// Bearer is who brings a key, as the gateway asks.
func (w *World) Bearer(ctx context.Context, value string) (b apikey.Bearer, err error) {
	b, err = sqldb.Read(ctx, w.DB, func(tx *sqldb.Tx) (apikey.Bearer, error) { return w.Keys.BearerOf(tx, value) })
	if err != nil {
		return b, err
	}
	return b, w.Keys.Used(ctx, b.Key)
}

// Execute changes the database behind the rooms' back.
func (w *World) Execute(t *testing.T, statement string, args ...any) {
	t.Helper()
	Check(t, w.DB.Do(t.Context(), "change", statement, args...))
}

// Count is one number of the database.
func (w *World) Count(t *testing.T, statement string, args ...any) (n int64) {
	t.Helper()
	Check(t, w.DB.Read(t.Context(), func(tx *sqldb.Tx) error { return tx.QueryRow(statement, args...).Scan(&n) }))
	return n
}

// Dump is all text of the tables that hold credentials.
func (w *World) Dump(t *testing.T) string {
	t.Helper()
	var all []string
	Check(t, w.DB.Snapshot(t.Context(), func(tx *sqldb.Tx) error {
		all = nil
		for _, statement := range []string{
			"SELECT id || ' ' || token || ' ' || account FROM sessions", "SELECT token || ' ' || account FROM devices",
			"SELECT hash || ' ' || purpose || ' ' || data || ' ' || email FROM tokens", "SELECT prefix || ' ' || hash || ' ' || last4 FROM api_keys",
			"SELECT code || ' ' || user_code || ' ' || client FROM device_pairings",
			"SELECT id || ' ' || password || ' ' || COALESCE(email, '') FROM accounts",
		} {
			lines, err := sqldb.Collect(tx, sqldb.Column[string], statement)
			if err != nil {
				return err
			}
			all = append(all, lines...)
		}
		return nil
	}))
	return strings.Join(all, "\n")
}

// Eventually waits until something holds.
func Eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited too long: %s", what)
		}
	}
}
