package service_test

import (
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
		for end := time.Now().Add(10 * time.Second); !until(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				break
			}
		}
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
	began := time.Now()
	run(func() bool { return time.Since(began) > 500*time.Millisecond })
	in(func(tx *sqldb.Tx) error {
		var n int
		err := tx.QueryRow("SELECT count(*) FROM dispatches").Scan(&n)
		if n != 0 {
			t.Errorf("%d are left", n)
		}
		return err
	})
}
