package sqldb_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
)

// TestNothingIsPromisedInFilesThatAreGone takes a database's files away while it is open: what is written then would be gone
// with the process.
func TestNothingIsPromisedInFilesThatAreGone(t *testing.T) {
	for name, take := range map[string]func(path string) error{
		"the file is removed": os.Remove,
		"the file is replaced": func(path string) error {
			data, err := os.ReadFile(path)
			return errors.Join(err, os.WriteFile(path+".copy", data, 0o600), os.Rename(path+".copy", path))
		},
		"the WAL is removed":    func(path string) error { return os.Remove(path + "-wal") },
		"the folder is removed": func(path string) error { return os.RemoveAll(filepath.Dir(path)) },
		"the folder is renamed": func(path string) error { return os.Rename(filepath.Dir(path), filepath.Dir(path)+".old") },
	} {
		t.Run(name, func(t *testing.T) {
			address := sqldbtest.SQLite(t)
			db := numbers(t, address)
			write(t, db, "INSERT INTO n VALUES (1)")
			if err := take(strings.TrimPrefix(address, "sqlite:")); err != nil {
				t.Fatal(err)
			}
			if err := db.Write(t.Context(), insert(2)); !errors.Is(err, sqldb.ErrFailed) {
				t.Errorf("a write ended with %v, want %v", err, sqldb.ErrFailed)
			}
			select {
			case <-db.Failed():
			case <-time.After(20 * time.Second):
				t.Error("nobody is told that the database failed")
			}
		})
	}
}
