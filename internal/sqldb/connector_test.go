package sqldb_test

import (
	"errors"
	"maps"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
)

// settings reads the pragmas that matter where a closure runs.
func settings(tx *sqldb.Tx) (map[string]string, error) {
	got := map[string]string{}
	for _, name := range []string{"journal_mode", "synchronous", "busy_timeout", "foreign_keys", "query_only", "temp_store", "cache_size", "wal_autocheckpoint"} {
		var value string
		if err := tx.QueryRow("PRAGMA " + name).Scan(&value); err != nil {
			return nil, err
		}
		got[name] = value
	}
	return got, nil
}

func full(queryOnly string) map[string]string {
	return map[string]string{
		"journal_mode": "wal", "synchronous": "2", "busy_timeout": "10000", "foreign_keys": "1",
		"query_only": queryOnly, "temp_store": "2", "cache_size": "-8000", "wal_autocheckpoint": "4000",
	}
}

func expect(t *testing.T, do func(fn func(*sqldb.Tx) error) error, want map[string]string) {
	t.Helper()
	var got map[string]string
	err := do(func(tx *sqldb.Tx) (err error) {
		got, err = settings(tx)
		return err
	})
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
}

func TestEveryConnectionHasItsSettings(t *testing.T) {
	db := open(t, sqldbtest.SQLite(t))
	do := func(fn func(*sqldb.Tx) error) error { return db.Write(t.Context(), fn) }
	expect(t, do, full("0"))
	eachReader(t, db, 4, func(tx *sqldb.Tx) error {
		got, err := settings(tx)
		if err == nil && !maps.Equal(got, full("1")) {
			t.Errorf("reader has %v", got)
		}
		return err
	})
}

func TestANewConnectionHasTheOldSettings(t *testing.T) {
	db := open(t, sqldbtest.SQLite(t))
	sqldb.DropWriter(db)
	expect(t, func(fn func(*sqldb.Tx) error) error { return db.Write(t.Context(), fn) }, full("0"))
	eachReader(t, db, 4, func(tx *sqldb.Tx) error {
		sqldb.DropReader(tx)
		return nil
	})
	for range 8 {
		expect(t, func(fn func(*sqldb.Tx) error) error { return db.Read(t.Context(), fn) }, full("1"))
	}
}

// eachReader runs fn on all n readers: each waits until all of them came.
func eachReader(t *testing.T, db *sqldb.DB, n int, fn func(*sqldb.Tx) error) {
	t.Helper()
	var came, all sync.WaitGroup
	came.Add(n)
	for range n {
		all.Go(func() {
			err := db.Read(t.Context(), func(tx *sqldb.Tx) error {
				came.Done()
				came.Wait()
				return fn(tx)
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

func TestNormalIsAnExplicitChoice(t *testing.T) {
	want := full("0")
	want["synchronous"] = "1"
	db := openWith(t, sqldbtest.SQLite(t), sqldb.Options{Synchronous: "NORMAL"})
	expect(t, func(fn func(*sqldb.Tx) error) error { return db.Write(t.Context(), fn) }, want)
	for _, other := range []string{"OFF", "EXTRA", "full", "2", "FULL);DROP TABLE x"} {
		_, err := sqldb.Open(t.Context(), sqldbtest.SQLite(t), sqldb.Options{Synchronous: other})
		if err == nil || !strings.Contains(err.Error(), "write FULL or NORMAL") {
			t.Errorf("%s: got %v", other, err)
		}
	}
}

func TestAConnectionWithOtherSettingsIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "svc.db")
	err := sqldb.Connect(t.Context(), path, "synchronous", "3")
	if err == nil || err.Error() != "pragma synchronous is 2, not 3" {
		t.Fatalf("got %v", err)
	}
	if err := sqldb.Connect(t.Context(), path, "synchronous", "2"); err != nil {
		t.Fatal(err)
	}
}

func TestAnOldSQLiteIsRefused(t *testing.T) {
	for version, ok := range map[string]bool{
		"3.53.4": true, "3.54.0": true, "3.54.1": true, "4.0.0": true,
		"3.53.3": false, "3.51.3": false, "2.99.99": false, "": false, "x.y.z": false,
	} {
		if err := sqldb.CheckVersion(version); (err == nil) != ok {
			t.Errorf("%q: got %v", version, err)
		}
	}
}

func TestAReaderCannotWrite(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, address string) {
		db := numbers(t, address)
		for name, do := range map[string]func(func(*sqldb.Tx) error) error{
			"read":     func(fn func(*sqldb.Tx) error) error { return db.Read(t.Context(), fn) },
			"snapshot": func(fn func(*sqldb.Tx) error) error { return db.Snapshot(t.Context(), fn) },
		} {
			if err := do(insert(1)); err == nil {
				t.Errorf("%s wrote", name)
			}
		}
		if n := number(t, db, "SELECT COUNT(*) FROM n"); n != 0 {
			t.Errorf("%d rows", n)
		}
	})
}

func TestASnapshotSeesOneState(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, address string) {
		db := numbers(t, address)
		err := db.Snapshot(t.Context(), func(tx *sqldb.Tx) error {
			var before, after int
			if err := tx.QueryRow("SELECT COUNT(*) FROM n").Scan(&before); err != nil {
				return err
			}
			write(t, db, "INSERT INTO n VALUES (1)")
			if err := tx.QueryRow("SELECT COUNT(*) FROM n").Scan(&after); err != nil {
				return err
			}
			if before != after {
				return errors.New("the state has changed")
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if n := number(t, db, "SELECT COUNT(*) FROM n"); n != 1 {
			t.Errorf("%d rows", n)
		}
	})
}
