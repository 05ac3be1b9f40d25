package sqldb_test

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"svc.dev/svc/internal/sqldb"
)

// holdFolder makes this binary a second process that holds a folder until its input ends.
const holdFolder = "SQLDB_TEST_HOLD_FOLDER"

func TestMain(m *testing.M) {
	if path := os.Getenv(holdFolder); path != "" {
		hold(path)
		return
	}
	goleak.VerifyTestMain(m)
}

func hold(path string) {
	folder, err := sqldb.OpenFolder(path)
	fmt.Println(os.Getpid(), err)
	_, _ = io.Copy(io.Discard, os.Stdin)
	if folder != nil {
		_ = folder.Close()
	}
}

// open opens a database that is closed at the end of the test.
func open(t testing.TB, address string) *sqldb.DB {
	t.Helper()
	return openWith(t, address, sqldb.Options{})
}

func openWith(t testing.TB, address string, o sqldb.Options) *sqldb.DB {
	t.Helper()
	o.Log = slog.New(slog.DiscardHandler)
	db, err := sqldb.Open(t.Context(), address, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return db
}

// eventually waits for something that takes a moment. It asks often: some wait for a hundred things in a row.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); time.Sleep(100 * time.Microsecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not yet: %s", what)
		}
	}
}

// insert is a closure that adds one row to table n.
func insert(i int) func(*sqldb.Tx) error {
	return func(tx *sqldb.Tx) error {
		_, err := tx.Exec("INSERT INTO n VALUES ($1)", i)
		return err
	}
}

// numbers opens a database with an empty table n.
func numbers(t testing.TB, address string) *sqldb.DB {
	t.Helper()
	db := open(t, address)
	write(t, db, "CREATE TABLE n (i INTEGER PRIMARY KEY)")
	return db
}

// write runs one statement in a transaction of its own.
func write(t testing.TB, db *sqldb.DB, query string, args ...any) {
	t.Helper()
	err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
		_, err := tx.Exec(query, args...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// number reads one integer.
func number(t testing.TB, db *sqldb.DB, query string, args ...any) (n int) {
	t.Helper()
	err := db.Read(t.Context(), func(tx *sqldb.Tx) error { return tx.QueryRow(query, args...).Scan(&n) })
	if err != nil {
		t.Fatal(err)
	}
	return n
}
