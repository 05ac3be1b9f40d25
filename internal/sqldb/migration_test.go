package sqldb_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
)

// room makes a room whose n-th migration is the n-th statement.
func room(name string, statements ...string) sqldb.Room {
	files := fstest.MapFS{}
	for i, s := range statements {
		files[fmt.Sprintf("%05d_step.sql", i+1)] = &fstest.MapFile{Data: []byte("-- +goose Up\n" + s + ";\n")}
	}
	return sqldb.Room{Name: name, FS: files}
}

func TestMigrationsRunOnceAndInOrder(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, address string) {
		db := open(t, address)
		accounts := room("account", "CREATE TABLE people (id INTEGER PRIMARY KEY)", "INSERT INTO people VALUES (1)")
		spaces := room("workspace", "CREATE TABLE spaces (owner INTEGER REFERENCES people (id))", "INSERT INTO spaces VALUES (1)")
		for range 2 {
			if err := db.Migrate(t.Context(), accounts, spaces); err != nil {
				t.Fatal(err)
			}
		}
		longer := room("account", "", "", "ALTER TABLE people ADD COLUMN name TEXT NOT NULL DEFAULT 'x'")
		if err := db.Migrate(t.Context(), longer, spaces); err != nil {
			t.Fatal(err)
		}
		write(t, db, "INSERT INTO people VALUES (2, 'y')")
		for query, want := range map[string]int{
			"SELECT COUNT(*) FROM people":                  1 + 1,
			"SELECT COUNT(*) FROM spaces":                  1,
			"SELECT MAX(version_id) FROM account_schema":   3,
			"SELECT MAX(version_id) FROM workspace_schema": 2,
		} {
			if got := number(t, db, query); got != want {
				t.Errorf("%s: got %d, want %d", query, got, want)
			}
		}
	})
}

func TestTablesThatAreBroughtForwardAreTold(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, address string) {
		var said bytes.Buffer
		db, err := sqldb.Open(t.Context(), address, sqldb.Options{Log: slog.New(slog.NewTextHandler(&said, nil))})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		spaces := room("workspace", "CREATE TABLE spaces (i INTEGER)")
		for i, want := range []string{"", "", `msg="brought the database forward" room=account from=1 to=3 duration_ms=`, ""} {
			accounts := room("account", "CREATE TABLE people (i INTEGER)")
			if i >= 2 {
				accounts = room("account", "", "INSERT INTO people VALUES (1)", "INSERT INTO people VALUES (2)")
			}
			said.Reset()
			if err := db.Migrate(t.Context(), accounts, spaces); err != nil {
				t.Fatal(err)
			}
			if got := said.String(); want == "" && got != "" || !strings.Contains(got, want) || want != "" && !strings.Contains(got, `msg="bringing the database forward" room=account`) || strings.Count(got, "\n") > 2 {
				t.Errorf("%d: %q", i, got)
			}
		}
	})
}

func TestARoomSpeaksEachDialect(t *testing.T) {
	files := fstest.MapFS{}
	for _, d := range []sqldb.Dialect{sqldb.SQLite, sqldb.Postgres} {
		files[string(d)+"/00001_own.sql"] = &fstest.MapFile{Data: []byte("-- +goose Up\nCREATE TABLE own_" + string(d) + " (i INTEGER);\n")}
	}
	sqldbtest.Each(t, func(t *testing.T, address string) {
		db := open(t, address)
		if err := db.Migrate(t.Context(), sqldb.Room{Name: "own", FS: files}); err != nil {
			t.Fatal(err)
		}
		write(t, db, "INSERT INTO own_"+string(db.Dialect())+" VALUES (1)")
	})
}

func TestADatabaseNewerThanTheBinaryIsRefused(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, address string) {
		db := open(t, address)
		if err := db.Migrate(t.Context(), room("usage", "CREATE TABLE u (i INTEGER)", "INSERT INTO u VALUES (1)", "INSERT INTO u VALUES (2)")); err != nil {
			t.Fatal(err)
		}
		other := room("other", "CREATE TABLE o (i INTEGER)")
		err := db.Migrate(t.Context(), other, room("usage", "CREATE TABLE u (i INTEGER)"))
		var newer *sqldb.NewerError
		if !errors.As(err, &newer) || *newer != (sqldb.NewerError{Room: "usage", Database: 3, Binary: 1}) {
			t.Fatalf("got %v", err)
		}
		want := "migrate database: this database was written by a newer svc: room usage is at version 3, this binary knows 1; run the newer binary, or go back with a backup from before it"
		if err.Error() != want {
			t.Errorf("got %q", err)
		}
		// The room before it was not touched.
		write(t, db, "CREATE TABLE o (i INTEGER)")
	})
}

func TestWhatIsPendingIsTold(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, address string) {
		db := open(t, address)
		steps := []string{"CREATE TABLE u (i INTEGER)", "-- svc: expand\nUPDATE u SET i = 1", "-- svc: contract\nALTER TABLE u RENAME TO v"}
		pending := func() (from int64, list []sqldb.Migration) {
			t.Helper()
			err := db.Read(t.Context(), func(tx *sqldb.Tx) (err error) {
				from, list, err = room("usage", steps...).Pending(tx)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return from, list
		}
		if from, list := pending(); from != 0 || len(list) != 3 {
			t.Errorf("of an empty database: %d %+v", from, list)
		}
		if err := db.Migrate(t.Context(), room("usage", steps[0])); err != nil {
			t.Fatal(err)
		}
		want := []sqldb.Migration{{Version: 2, Name: "step"}, {Version: 3, Name: "step", Contracts: true}}
		if from, list := pending(); from != 1 || !slices.Equal(list, want) {
			t.Errorf("%d %+v, want %+v", from, list, want)
		}
		err := db.Read(t.Context(), func(tx *sqldb.Tx) error {
			_, _, err := room("usage").Pending(tx)
			return err
		})
		if newer := (*sqldb.NewerError)(nil); !errors.As(err, &newer) {
			t.Errorf("of a database that is newer: %v", err)
		}
	})
}

func TestADoubtfulMigrationMustBeMarked(t *testing.T) {
	for _, statement := range []string{"DROP TABLE u", "ALTER TABLE u DROP COLUMN i", "ALTER TABLE u RENAME TO v", "DELETE FROM u", "UPDATE u SET i = 1", "ALTER TABLE u ALTER COLUMN i TYPE TEXT"} {
		if _, err := room("usage", statement).Migrations(sqldb.SQLite); err == nil || !strings.Contains(err.Error(), "mark it") {
			t.Errorf("%s: %v", statement, err)
		}
		if all, err := room("usage", "-- svc: contract\n"+statement).Migrations(sqldb.SQLite); err != nil || !all[0].Contracts {
			t.Errorf("%s, marked: %+v %v", statement, all, err)
		}
	}
}

func TestAHandleThatReadsDoesNotWrite(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, address string) {
		if err := numbers(t, address).Close(); err != nil {
			t.Fatal(err)
		}
		db := openWith(t, address, sqldb.Options{ReadOnly: true})
		if err := db.Do(t.Context(), "write", "INSERT INTO n VALUES (9)"); !errors.Is(err, sqldb.ErrReadOnly) {
			t.Errorf("write: %v", err)
		}
		if err := db.Migrate(t.Context(), room("more", "CREATE TABLE m (i INTEGER)")); !errors.Is(err, sqldb.ErrReadOnly) {
			t.Errorf("migrate: %v", err)
		}
		number(t, db, "SELECT COUNT(*) FROM n")
	})
}

func TestAMigrationThatFailsIsUndoneAndNamed(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, address string) {
		db := open(t, address)
		bad := room("usage", "CREATE TABLE u (i INTEGER)", "INSERT INTO u VALUES (1); INSERT INTO nowhere VALUES (1)")
		err := db.Migrate(t.Context(), bad)
		if err == nil || !strings.HasPrefix(err.Error(), "migrate database: room usage: ") {
			t.Fatalf("got %v", err)
		}
		if n := number(t, db, "SELECT COUNT(*) FROM u"); n != 0 {
			t.Errorf("%d rows", n)
		}
		if err := db.Migrate(t.Context(), room("no such; name", "SELECT 1")); err == nil {
			t.Error("the name was taken")
		}
	})
}

func TestNodesThatStartTogetherMigrateOnce(t *testing.T) {
	address := sqldbtest.Postgres(t)
	steps := []string{"CREATE TABLE n (i INTEGER PRIMARY KEY)"}
	for i := range 5 {
		steps = append(steps, fmt.Sprintf("INSERT INTO n VALUES (%d)", i))
	}
	var all sync.WaitGroup
	for range 4 {
		// One connection is enough to migrate.
		db := openWith(t, address, sqldb.Options{Conns: 1, Readers: 1})
		all.Go(func() {
			if err := db.Migrate(t.Context(), room("first", steps...), room("second", "CREATE TABLE m (i INTEGER)")); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := number(t, open(t, address), "SELECT COUNT(*) FROM n"); n != 5 {
		t.Errorf("%d rows", n)
	}
}

func TestARunningNodeOutlivesAMigration(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, address string) {
		db := numbers(t, address)
		read := func() error {
			return db.Read(t.Context(), func(tx *sqldb.Tx) error {
				rows, err := tx.Query("SELECT * FROM n")
				if err != nil {
					return err
				}
				defer rows.Close()
				for rows.Next() {
				}
				return rows.Err()
			})
		}
		update := func() error {
			return db.Write(t.Context(), func(tx *sqldb.Tx) error {
				rows, err := tx.Query("UPDATE n SET i = i + 1 RETURNING *")
				if err != nil {
					return err
				}
				defer rows.Close()
				for rows.Next() {
				}
				return rows.Err()
			})
		}
		for range 3 {
			if err := errors.Join(read(), update()); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.Migrate(t.Context(), room("n", "ALTER TABLE n ADD COLUMN more TEXT")); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(read(), update()); err != nil {
			t.Error(err)
		}
	})
}
