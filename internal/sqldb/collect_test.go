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
			if _, found, err := sqldb.First(tx, "find", sqldb.Column[int64], "SELECT i FROM n"); found || err != nil {
				t.Errorf("of no rows: found %v, %v", found, err)
			}
			for i := range 3 {
				if err := insert(i)(tx); err != nil {
					return err
				}
			}
			if i, found, err := sqldb.First(tx, "find", sqldb.Column[int64], "SELECT i FROM n ORDER BY i DESC"); i != 2 || !found || err != nil {
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

func TestAValueIsOnlyThatOfWhatWasDone(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		db := open(t, address)
		if err := db.Do(t.Context(), "make table", "CREATE TABLE n (i BIGINT)"); err != nil {
			t.Fatal(err)
		}
		broken := errors.New("broken")
		for _, given := range []error{nil, broken} {
			got, err := sqldb.Write(t.Context(), db, func(tx *sqldb.Tx) (int64, error) {
				if err := insert(7)(tx); err != nil {
					return 0, err
				}
				return 7, given
			})
			if want := map[error]int64{nil: 7}[given]; got != want || !errors.Is(err, given) {
				t.Errorf("with %v: %d, %v", given, got, err)
			}
		}
		n, err := sqldb.Read(t.Context(), db, func(tx *sqldb.Tx) (int, error) { return sqldb.Value[int](tx, "count", "SELECT count(*) FROM n") })
		if n != 1 || err != nil {
			t.Errorf("%d rows are there, %v", n, err)
		}
	})
}
