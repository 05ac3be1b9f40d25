package sqldb_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
)

// BenchmarkWrite is one append: UPDATE … RETURNING of a stream's row and INSERT of 400 bytes.
func BenchmarkWrite(b *testing.B) {
	payload := make([]byte, 400)
	for _, writers := range []int{1, 16, 128} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			db := open(b, sqldbtest.SQLite(b))
			write(b, db, "CREATE TABLE streams (id INTEGER PRIMARY KEY, head INTEGER NOT NULL, epoch INTEGER NOT NULL)")
			write(b, db, "CREATE TABLE batches (stream INTEGER NOT NULL, last INTEGER NOT NULL, at INTEGER NOT NULL, data BLOB NOT NULL)")
			write(b, db, "CREATE UNIQUE INDEX batches_last ON batches (stream, last)")
			for i := range writers {
				write(b, db, "INSERT INTO streams VALUES ($1, 0, 1)", i)
			}
			perOp(b, writers, func(i int) error {
				return db.Write(b.Context(), func(tx *sqldb.Tx) error {
					var head int64
					err := tx.QueryRow("UPDATE streams SET head = head + 1 WHERE id = $1 AND epoch = $2 RETURNING head", i, 1).Scan(&head)
					if err != nil {
						return err
					}
					_, err = tx.Exec("INSERT INTO batches (stream, last, at, data) VALUES ($1, $2, $3, $4)", i, head, 1, payload)
					return err
				})
			})
		})
	}
}

// BenchmarkRead is one row by its key, without and with a snapshot.
func BenchmarkRead(b *testing.B) {
	db := open(b, sqldbtest.SQLite(b))
	write(b, db, "CREATE TABLE streams (id INTEGER PRIMARY KEY, head INTEGER NOT NULL)")
	write(b, db, "INSERT INTO streams VALUES (1, 7)")
	one := func(tx *sqldb.Tx) error {
		var head int64
		return tx.QueryRow("SELECT head FROM streams WHERE id = $1", 1).Scan(&head)
	}
	b.Run("plain", func(b *testing.B) {
		perOp(b, 1, func(int) error { return db.Read(b.Context(), one) })
	})
	b.Run("snapshot", func(b *testing.B) {
		perOp(b, 1, func(int) error { return db.Snapshot(b.Context(), one) })
	})
}

// perOp shares b.N calls among n goroutines and reports the CPU each call cost the process.
func perOp(b *testing.B, n int, do func(i int) error) {
	b.ReportAllocs()
	var left atomic.Int64
	left.Store(int64(b.N))
	var all sync.WaitGroup
	before := cpu()
	b.ResetTimer()
	for i := range n {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				if err := do(i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64((cpu()-before).Microseconds())/float64(b.N), "cpu-µs/op")
}

func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
