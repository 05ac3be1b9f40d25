package sqldb_test

import (
	"context"
	"errors"
	"testing"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
)

// TestAGuardIsPartOfEveryWrite has a guard look at a row that another transaction deletes: a write before that takes place, one
// after it does not, and nothing of it is left.
func TestAGuardIsPartOfEveryWrite(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		db, err := sqldb.Open(t.Context(), address, sqldb.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		exec := func(ctx context.Context, statement string) error {
			return db.Write(ctx, func(tx *sqldb.Tx) error {
				_, err := tx.Exec(statement)
				return err
			})
		}
		for _, statement := range []string{"CREATE TABLE rights (name TEXT)", "CREATE TABLE acts (name TEXT)", "INSERT INTO rights VALUES ('may')"} {
			if err := exec(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		refused := errors.New("refused")
		ctx := sqldb.Guard(t.Context(), func(tx *sqldb.Tx) error {
			var n int
			if err := tx.QueryRow("SELECT count(*) FROM rights").Scan(&n); err != nil || n > 0 {
				return err
			}
			return refused
		})
		if err := exec(ctx, "INSERT INTO acts VALUES ('before')"); err != nil {
			t.Errorf("while the right is there: %v", err)
		}
		if err := exec(t.Context(), "DELETE FROM rights"); err != nil {
			t.Fatal(err)
		}
		if err := exec(ctx, "INSERT INTO acts VALUES ('after')"); !errors.Is(err, refused) {
			t.Errorf("after the right is gone: %v", err)
		}
		if err := exec(sqldb.Guard(ctx, nil), "INSERT INTO acts VALUES ('unguarded')"); err != nil {
			t.Errorf("without the guard: %v", err)
		}
		var acts int
		err = db.Read(ctx, func(tx *sqldb.Tx) error { return tx.QueryRow("SELECT count(*) FROM acts").Scan(&acts) })
		if err != nil || acts != 2 {
			t.Errorf("%d acts took place, %v; want 2", acts, err)
		}
	})
}
