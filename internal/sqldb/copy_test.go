package sqldb_test

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"svc.dev/svc/internal/sqldb"
)

// TestACopyIsOneMoment copies while others write: each transaction is in the copy whole or not at all, and those that were answered
// before are.
func TestACopyIsOneMoment(t *testing.T) {
	folder := t.TempDir()
	db, err := sqldb.Open(t.Context(), "sqlite:"+filepath.Join(folder, "it's 100% a.db"), sqldb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Do(t.Context(), "make tables", "CREATE TABLE a (n INTEGER, pad TEXT)"); err != nil {
		t.Fatal(err)
	}
	if err := db.Do(t.Context(), "make tables", "CREATE TABLE b (n INTEGER, pad TEXT)"); err != nil {
		t.Fatal(err)
	}
	var answered atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			for ctx.Err() == nil {
				err := db.Write(context.Background(), func(tx *sqldb.Tx) error {
					if err := tx.Do("a", "INSERT INTO a VALUES (1, $1)", strings.Repeat("x", 2000)); err != nil {
						return err
					}
					return tx.Do("b", "INSERT INTO b VALUES (1, $1)", strings.Repeat("y", 3000))
				})
				if err != nil {
					t.Error(err)
					return
				}
				answered.Add(1)
			}
		})
	}
	for i := range 5 {
		to := filepath.Join(folder, "copy #"+string(rune('0'+i)))
		before, told := answered.Load(), int64(0)
		if err := db.CopyTo(t.Context(), to, func(done, total int64) { told = total - done }); err != nil {
			t.Fatal(err)
		}
		if told != 0 {
			t.Errorf("%d bytes were left at the end", told)
		}
		a, b := countCopy(t, to)
		if a != b || a < before {
			t.Errorf("%d and %d rows, %d transactions were answered before", a, b, before)
		}
	}
	stop()
	writers.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := db.CopyTo(ctx, filepath.Join(folder, "none"), func(int64, int64) {}); err == nil {
		t.Error("a copy that nobody wants is made")
	}
	if matches, _ := filepath.Glob(filepath.Join(folder, "copy*-*")); len(matches) > 0 {
		t.Errorf("beside the copies lie %v", matches)
	}
}

func countCopy(t *testing.T, path string) (a, b int64) {
	t.Helper()
	c, err := sqldb.OpenCopy(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	err = c.Read(t.Context(), func(tx *sqldb.Tx) error {
		return tx.QueryRow("SELECT (SELECT count(*) FROM a), (SELECT count(*) FROM b)").Scan(&a, &b)
	})
	if err != nil {
		t.Fatal(err)
	}
	return a, b
}
