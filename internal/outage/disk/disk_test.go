package disk_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"svc.dev/svc/internal/outage/disk"
)

// file is a database in WAL mode with a table of many pages.
func file(t *testing.T) *sql.DB {
	t.Helper()
	if err := disk.Install(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "test.db")+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		disk.Set(disk.Fault{})
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	must(t, db, "CREATE TABLE kept (n INTEGER PRIMARY KEY, text)")
	must(t, db, "INSERT INTO kept (text) SELECT randomblob(2000) FROM (WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 100) SELECT x FROM c)")
	return db
}

func must(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.Exec(statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func code(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code()
	}
	return 0
}

func rows(t *testing.T, db *sql.DB) (n int) {
	t.Helper()
	if err := db.QueryRow("SELECT count(*) FROM kept").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestWritingFailsAndHeals(t *testing.T) {
	tests := map[string]struct {
		fault disk.Fault
		code  int
	}{
		"a disk that cannot be written": {disk.Fault{Writes: true}, sqlite3.SQLITE_IOERR_WRITE},
		"a full disk":                   {disk.Fault{Full: true}, sqlite3.SQLITE_FULL},
		"a disk that cannot be synced":  {disk.Fault{Syncs: true}, sqlite3.SQLITE_IOERR_FSYNC},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			db := file(t)
			was, fails := rows(t, db), disk.Failed()
			disk.Set(test.fault)
			_, err := db.Exec("INSERT INTO kept (text) VALUES ('more')")
			if code(err) != test.code || disk.Failed() == fails {
				t.Errorf("writing gives %v, code %d, %d calls failed; want code %d", err, code(err), disk.Failed()-fails, test.code)
			}
			disk.Set(disk.Fault{})
			must(t, db, "INSERT INTO kept (text) VALUES ('again')")
			if now := rows(t, db); now != was+1 {
				t.Errorf("%d rows, were %d", now, was)
			}
		})
	}
}

func TestReadingFailsAndHeals(t *testing.T) {
	db := file(t)
	db.SetMaxIdleConns(0) // a connection's cache would answer
	disk.Set(disk.Fault{Reads: true})
	var n int
	if err := db.QueryRow("SELECT sum(length(text)) FROM kept").Scan(&n); code(err)&0xff != sqlite3.SQLITE_IOERR {
		t.Errorf("reading gives %v, code %d", err, code(err))
	}
	disk.Set(disk.Fault{})
	if err := db.QueryRow("SELECT sum(length(text)) FROM kept").Scan(&n); err != nil || n != 200_000 {
		t.Errorf("once healed: %d, %v", n, err)
	}
}
