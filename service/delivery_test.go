package service_test

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/servicetest"
)

// TestWhatWasLeftToPassOnIsTakenUpAtTheNextStart leaves a delivery for a workspace that is gone: who takes it up drops it.
func TestWhatWasLeftToPassOnIsTakenUpAtTheNextStart(t *testing.T) {
	c := servicetest.Config(t)
	run := func(until func() bool) {
		t.Helper()
		s := servicetest.Start(t, c)
		servicetest.Eventually(t, "what was left is taken up", until)
		s.Stop()
		if err := <-s.Done; err != nil {
			t.Fatalf("serve: %v", err)
		}
	}
	in := func(fn func(tx *sqldb.Tx) error) {
		t.Helper()
		db, err := sqldb.Open(t.Context(), "sqlite:"+filepath.Join(c.DataDir, "svc.db"), sqldb.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if err := db.Write(t.Context(), fn); err != nil {
			t.Fatal(err)
		}
	}
	run(func() bool { return true })
	in(func(tx *sqldb.Tx) error {
		_, err := tx.Exec(`INSERT INTO dispatches (provider, delivery, workspace, kind, scope, event, installation, bytes, next_at, created_at)
			VALUES ('github', 'd1', 'wsp_1', 'channel', 'users/ada/personal', 'push', 1, 2, 0, $1)`, time.Now().UnixMilli())
		return err
	})
	beside, err := sql.Open("sqlite", filepath.Join(c.DataDir, "svc.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer beside.Close()
	run(func() bool {
		var n int
		err := beside.QueryRowContext(t.Context(), "SELECT count(*) FROM dispatches").Scan(&n)
		return err == nil && n == 0
	})
	in(func(tx *sqldb.Tx) error {
		var n int
		err := tx.QueryRow("SELECT count(*) FROM dispatches").Scan(&n)
		if n != 0 {
			t.Errorf("%d are left", n)
		}
		return err
	})
}
