package sqldb_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
)

func TestARowThatIsMissingIsNoError(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		db := open(t, address)
		err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
			if err := tx.Do("make table", "CREATE TABLE n (i BIGINT)"); err != nil {
				return err
			}
			if _, found, err := sqldb.First(tx, sqldb.Column[int64], "SELECT i FROM n"); found || err != nil {
				t.Errorf("of no rows: found %v, %v", found, err)
			}
			for i := range 3 {
				if err := insert(i)(tx); err != nil {
					return err
				}
			}
			if i, found, err := sqldb.First(tx, sqldb.Column[int64], "SELECT i FROM n ORDER BY i DESC"); i != 2 || !found || err != nil {
				t.Errorf("of three rows: %d, found %v, %v", i, found, err)
			}
			return nil
		})
		if err != nil {
			t.Fatalf("write: %v", err)
		}
		if all, err := sqldb.ReadAll(t.Context(), db, sqldb.Column[int64], "SELECT i FROM n ORDER BY i"); err != nil || !slices.Equal(all, []int64{0, 1, 2}) {
			t.Errorf("read %v, %v", all, err)
		}
		err = db.Write(t.Context(), func(tx *sqldb.Tx) error { return tx.Do("count sheep", "DELETE FROM sheep") })
		if err == nil || !strings.Contains(err.Error(), "count sheep: ") {
			t.Errorf("got %v, want an error that says what was done", err)
		}
	})
}

func TestOnlyAFullQueueIsInsistedOn(t *testing.T) {
	failed := errors.New("failed")
	for _, c := range []struct {
		says  []error
		tries int
		ends  error
	}{
		{[]error{nil}, 1, nil}, {[]error{failed, nil}, 1, failed}, {[]error{sqldb.ErrBusy, sqldb.ErrBusy, nil}, 3, nil},
	} {
		tries := 0
		err := sqldb.Insist(func() error { tries++; return c.says[tries-1] })
		if tries != c.tries || !errors.Is(err, c.ends) {
			t.Errorf("%v: tried %d times, %v", c.says, tries, err)
		}
	}
}
