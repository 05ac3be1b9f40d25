//go:build unix

package sqlstore_test

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"svc.dev/svc"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/sqlstore"
)

// TestTinyAttachmentsCountAsTheyAreStored compares what is counted of twenty attachments of five bytes with what they take.
func TestTinyAttachmentsCountAsTheyAreStored(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		db, s := opened(t, address)
		const scope = "users/ada/shop"
		a := svc.Admission{Stream: svc.Stream{Scope: scope, Kind: svc.KindAgent, Name: "central", ID: "1"}, Submission: "s1", Kind: svc.Direct}
		for i := range 20 {
			blob, err := s.Put(t.Context(), scope, strings.NewReader(fmt.Sprintf("%05d", i)))
			if err != nil {
				t.Fatal(err)
			}
			a.Blobs = append(a.Blobs, svc.Attachment{ID: fmt.Sprintf("att_%d", i), Blob: blob, MimeType: "image/png"})
		}
		if _, err := s.Admit(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		u, err := sqlstore.Measure(t.Context(), db, scope)
		if err != nil {
			t.Fatal(err)
		}
		if taken := contents(t, db) + references(t, db); u.Attachments < taken {
			t.Errorf("%d bytes are counted, %d are taken", u.Attachments, taken)
		}
	})
}

// contents is what the bytes of attachments take: blocks of files beside SQLite, rows of PostgreSQL.
func contents(t *testing.T, db *sqldb.DB) (n int64) {
	t.Helper()
	if db.Dialect() == sqldb.Postgres {
		return scalar(t, db, "SELECT SUM(pg_column_size(c.*)) FROM blob_chunks c")
	}
	err := filepath.WalkDir(db.Folder().Path("blobs"), func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			n += info.Sys().(*syscall.Stat_t).Blocks * 512
		}
		return err
	})
	if err != nil || n == 0 {
		t.Fatalf("%d bytes of files: %v", n, err)
	}
	return n
}

// references is what the rows take that name attachments.
func references(t *testing.T, db *sqldb.DB) int64 {
	t.Helper()
	if db.Dialect() == sqldb.Postgres {
		return scalar(t, db, "SELECT SUM(pg_column_size(b.*)) FROM blobs b")
	}
	return scalar(t, db, "SELECT SUM(length(attachment) + length(scope) + length(sha256) + length(mime) + length(filename) + 24) FROM blobs")
}

func scalar(t *testing.T, db *sqldb.DB, query string) (n int64) {
	t.Helper()
	err := db.Read(t.Context(), func(tx *sqldb.Tx) error { return tx.QueryRow(query).Scan(&n) })
	if err != nil {
		t.Fatal(err)
	}
	return n
}
