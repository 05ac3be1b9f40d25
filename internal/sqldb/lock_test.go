package sqldb_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
)

func TestRowsAreCollectedInTheirOrder(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, address string) {
		db := open(t, address)
		write(t, db, "CREATE TABLE words (word TEXT NOT NULL)")
		write(t, db, "INSERT INTO words VALUES ('b'), ('a'), ('c')")
		odd := errors.New("odd")
		err := db.Read(t.Context(), func(tx *sqldb.Tx) error {
			all, err := sqldb.Collect(tx, sqldb.Column[string], "SELECT word FROM words WHERE word > $1 ORDER BY word", "a")
			if err != nil || !slices.Equal(all, []string{"b", "c"}) {
				t.Errorf("got %v, %v", all, err)
			}
			if all, err = sqldb.Collect(tx, sqldb.Column[string], "SELECT word FROM words WHERE word > 'x'"); all != nil || err != nil {
				t.Errorf("of none: %v, %v", all, err)
			}
			all, err = sqldb.Collect(tx, func(sqldb.Row) (string, error) { return "", odd }, "SELECT word FROM words")
			if all != nil || !errors.Is(err, odd) {
				t.Errorf("of what cannot be read: %v, %v", all, err)
			}
			return nil
		})
		if err != nil {
			t.Errorf("read: %v", err)
		}
	})
}

// TestWhoLocksIsAlone has many read a number, and write down the next, under each of the locks.
func TestWhoLocksIsAlone(t *testing.T) {
	for name, lock := range map[string]func(*sqldb.Tx) error{
		"rows":  func(tx *sqldb.Tx) error { return tx.Lock("SELECT n FROM counts WHERE id = $1", 1) },
		"table": func(tx *sqldb.Tx) error { return tx.LockTable("counts", "EXCLUSIVE") },
		"name":  func(tx *sqldb.Tx) error { return tx.Alone("counting") },
		"select": func(tx *sqldb.Tx) error {
			_, err := sqldb.Collect(tx, sqldb.Column[int64], "SELECT n FROM counts c WHERE id = 1"+tx.ForUpdateOf("c"))
			return err
		},
		"update": func(tx *sqldb.Tx) error {
			_, err := sqldb.Collect(tx, sqldb.Column[int64], "SELECT n FROM counts WHERE id = 1"+tx.ForUpdate())
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			sqldbtest.Each(t, func(t *testing.T, address string) {
				const writers = 8
				db := open(t, address)
				write(t, db, "CREATE TABLE counts (id INTEGER, n INTEGER)")
				write(t, db, "INSERT INTO counts VALUES (1, 0)")
				var counting sync.WaitGroup
				for range writers {
					counting.Go(func() {
						if err := db.Write(t.Context(), func(tx *sqldb.Tx) error { return count(tx, lock) }); err != nil {
							t.Errorf("count: %v", err)
						}
					})
				}
				counting.Wait()
				if n := number(t, db, "SELECT n FROM counts"); n != writers {
					t.Errorf("%d writers counted to %d", writers, n)
				}
			})
		})
	}
}

// count reads, and then writes what it has read and one.
func count(tx *sqldb.Tx, lock func(*sqldb.Tx) error) error {
	if err := lock(tx); err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	var n int64
	if err := tx.QueryRow("SELECT n FROM counts").Scan(&n); err != nil {
		return err
	}
	_, err := tx.Exec("UPDATE counts SET n = $1", n+1)
	return err
}

func TestARoomKnowsItsVersions(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, address string) {
		db := open(t, address)
		usage := room("usage", "CREATE TABLE u (i INTEGER)", "INSERT INTO u VALUES (1)")
		versions := func() (got string) {
			err := db.Read(t.Context(), func(tx *sqldb.Tx) error {
				database, binary, err := usage.Versions(tx)
				got = fmt.Sprint(database, " of ", binary)
				return err
			})
			if err != nil {
				t.Fatalf("versions: %v", err)
			}
			return got
		}
		if got := versions(); got != "0 of 2" {
			t.Errorf("before: %s", got)
		}
		if err := db.Migrate(t.Context(), usage); err != nil {
			t.Fatalf("migrate: %v", err)
		}
		if got := versions(); got != "2 of 2" {
			t.Errorf("after: %s", got)
		}
		if n, err := db.Bytes(t.Context()); err != nil || n <= 0 {
			t.Errorf("%d bytes, %v", n, err)
		}
	})
}
