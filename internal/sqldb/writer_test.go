package sqldb_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
)

// stall keeps the writer inside a closure until release is called; what is queued meanwhile joins its group.
func stall(t *testing.T, db *sqldb.DB) (release func() error) {
	t.Helper()
	began, end, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	var once sync.Once
	go func() {
		ended <- db.Write(context.Background(), func(*sqldb.Tx) error {
			once.Do(func() { close(began) })
			<-end
			return nil
		})
	}()
	<-began
	return func() error {
		close(end)
		return <-ended
	}
}

// queue starts a Write, returns when it waits in the queue, and hands over its outcome later.
func queue(t *testing.T, ctx context.Context, db *sqldb.DB, fn func(*sqldb.Tx) error) <-chan error {
	t.Helper()
	outcome, before := make(chan error, 1), sqldb.Queued(db)
	go func() { outcome <- db.Write(ctx, fn) }()
	eventually(t, "the write is queued", func() bool { return sqldb.Queued(db) != before })
	return outcome
}

func TestAGroupCommitsOnceAndAnswersAll(t *testing.T) {
	db := numbers(t, sqldbtest.SQLite(t))
	var commits atomic.Int32
	sqldb.OnCommit(db, func(commit func() error) error {
		commits.Add(1)
		return commit()
	})
	release := stall(t, db)
	var outcomes []<-chan error
	for i := range 100 {
		outcomes = append(outcomes, queue(t, t.Context(), db, insert(i)))
	}
	if err := release(); err != nil {
		t.Error(err)
	}
	for _, outcome := range outcomes {
		if err := <-outcome; err != nil {
			t.Error(err)
		}
	}
	if n := number(t, db, "SELECT COUNT(*) FROM n"); n != 100 || commits.Load() != 1 {
		t.Errorf("%d rows in %d commits", n, commits.Load())
	}
}

func TestAGroupIsBoundedByCountAndBytes(t *testing.T) {
	for name, size := range map[string]int{"count": 1, "bytes": 700_000} {
		t.Run(name, func(t *testing.T) {
			db := open(t, sqldbtest.SQLite(t))
			var commits atomic.Int32
			sqldb.OnCommit(db, func(commit func() error) error {
				commits.Add(1)
				return commit()
			})
			release := stall(t, db)
			writes, want := 511, 2 // the stalled closure is one of the first 256
			if name == "bytes" {
				writes, want = 6, 3
			}
			var outcomes []<-chan error
			for range writes {
				outcomes = append(outcomes, queue(t, t.Context(), db, func(tx *sqldb.Tx) error {
					var n int
					return tx.QueryRow("SELECT length($1)", make([]byte, size)).Scan(&n)
				}))
			}
			if err := release(); err != nil {
				t.Error(err)
			}
			for _, outcome := range outcomes {
				if err := <-outcome; err != nil {
					t.Error(err)
				}
			}
			if int(commits.Load()) != want {
				t.Errorf("%d commits, want %d", commits.Load(), want)
			}
		})
	}
}

func TestACancelledCallerNeverHarmsItsNeighbours(t *testing.T) {
	db := numbers(t, sqldbtest.SQLite(t))
	release := stall(t, db)
	ctx, cancel := context.WithCancel(t.Context())
	before := queue(t, t.Context(), db, insert(1))
	gone := queue(t, ctx, db, insert(2))
	after := queue(t, t.Context(), db, insert(3))
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("the cancelled caller got %v", err)
	}
	if err := release(); err != nil {
		t.Error(err)
	}
	if err := errors.Join(<-before, <-after); err != nil {
		t.Error(err)
	}
	if n := number(t, db, "SELECT SUM(i) FROM n"); n != 4 {
		t.Errorf("the sum is %d", n)
	}
}

func TestAClosureThatBeganIsCommittedAlthoughItsCallerLeft(t *testing.T) {
	db := numbers(t, sqldbtest.SQLite(t))
	ctx, cancel := context.WithCancel(t.Context())
	err := db.Write(ctx, func(tx *sqldb.Tx) error {
		cancel()
		return insert(1)(tx)
	})
	if n := number(t, db, "SELECT COUNT(*) FROM n"); err != nil || n != 1 {
		t.Errorf("%d rows, %v", n, err)
	}
	if err := db.Write(ctx, insert(2)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestAnErrorFailsItsClosureAlone(t *testing.T) {
	refused := errors.New("refused")
	guilty := map[string]func(*sqldb.Tx) error{
		"error": func(tx *sqldb.Tx) error {
			_ = insert(1000)(tx)
			return refused
		},
		"panic": func(tx *sqldb.Tx) error {
			_ = insert(1000)(tx)
			panic("on the writer")
		},
		"constraint": insert(1),
		"swallowed": func(tx *sqldb.Tx) error {
			_, _ = tx.Exec("INSERT INTO nowhere VALUES (1)")
			return insert(1000)(tx)
		},
		"swallowed row": func(tx *sqldb.Tx) error {
			_ = tx.QueryRow("SELECT nothing").Scan(new(int))
			return insert(1000)(tx)
		},
	}
	for name, fn := range guilty {
		t.Run(name, func(t *testing.T) {
			db := numbers(t, sqldbtest.SQLite(t))
			release := stall(t, db)
			first := queue(t, t.Context(), db, insert(1))
			second := queue(t, t.Context(), db, fn)
			third := queue(t, t.Context(), db, insert(2))
			if err := release(); err != nil {
				t.Error(err)
			}
			if err := errors.Join(<-first, <-third); err != nil {
				t.Errorf("the neighbours got %v", err)
			}
			err := <-second
			if err == nil || name == "error" && err != refused || name == "panic" && !strings.Contains(err.Error(), "on the writer") {
				t.Errorf("the guilty got %v", err)
			}
			if n := number(t, db, "SELECT SUM(i) FROM n"); n != 3 {
				t.Errorf("the sum is %d", n)
			}
		})
	}
}

func TestAnErrorUndoesItsClosure(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, address string) {
		db := numbers(t, address)
		for name, end := range map[string]func() error{
			"error":  func() error { return errors.New("refused") },
			"panic":  func() error { panic("in a closure") },
			"goexit": func() error { runtime.Goexit(); return nil },
		} {
			err := attempt(db, func(tx *sqldb.Tx) error {
				if err := insert(1)(tx); err != nil {
					return err
				}
				return end()
			})
			if err == nil {
				t.Errorf("%s is no error", name)
			}
			if n := number(t, db, "SELECT COUNT(*) FROM n"); n != 0 {
				t.Errorf("%s leaves %d rows", name, n)
			}
		}
		write(t, db, "INSERT INTO n VALUES (1)")
	})
}

// attempt writes on a goroutine of its own, which the closure may end.
func attempt(db *sqldb.DB, fn func(*sqldb.Tx) error) error {
	outcome := make(chan error, 1)
	go func() {
		err := errors.New("the goroutine has ended")
		defer func() { outcome <- err }()
		err = db.Write(context.Background(), fn)
	}()
	return <-outcome
}

func TestAReaderOutlivesItsClosures(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, address string) {
		db := openWith(t, address, sqldb.Options{Readers: 1})
		for _, end := range []func(){func() { panic("in a closure") }, runtime.Goexit} {
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_ = db.Snapshot(context.Background(), func(*sqldb.Tx) error { end(); return nil })
			}()
			<-ended
			if n := number(t, db, "SELECT 7"); n != 7 {
				t.Errorf("got %d", n)
			}
		}
	})
}

func TestADeferredConstraintFailsItsClosureAlone(t *testing.T) {
	db := numbers(t, sqldbtest.SQLite(t))
	write(t, db, "CREATE TABLE child (i INTEGER REFERENCES n DEFERRABLE INITIALLY DEFERRED)")
	release := stall(t, db)
	good := queue(t, t.Context(), db, insert(1))
	bad := queue(t, t.Context(), db, func(tx *sqldb.Tx) error {
		_, err := tx.Exec("INSERT INTO child VALUES (99)")
		return err
	})
	if err := release(); err != nil {
		t.Error(err)
	}
	if err := <-good; err != nil {
		t.Error(err)
	}
	if err := <-bad; err == nil || db.Err() != nil {
		t.Errorf("got %v, %v", err, db.Err())
	}
}

func TestAFullQueueIsBusy(t *testing.T) {
	db := numbers(t, sqldbtest.SQLite(t))
	release := stall(t, db)
	var all sync.WaitGroup
	for i := range sqldb.MaxQueue {
		all.Go(func() {
			if err := db.Write(context.Background(), insert(i)); err != nil {
				t.Error(err)
			}
		})
	}
	eventually(t, "the queue is full", func() bool { return sqldb.Queued(db) == sqldb.MaxQueue })
	if err := db.Write(t.Context(), insert(-1)); !errors.Is(err, sqldb.ErrBusy) {
		t.Errorf("got %v", err)
	}
	if err := release(); err != nil {
		t.Error(err)
	}
	all.Wait()
	if n := number(t, db, "SELECT COUNT(*) FROM n"); n != sqldb.MaxQueue {
		t.Errorf("%d rows", n)
	}
}

func TestAFailedCommitIsFatal(t *testing.T) {
	db := numbers(t, sqldbtest.SQLite(t))
	ioError := errors.New("disk I/O error")
	var commits atomic.Int32
	sqldb.OnCommit(db, func(func() error) error {
		commits.Add(1)
		return ioError
	})
	release := stall(t, db)
	outcomes := []<-chan error{queue(t, t.Context(), db, insert(1)), queue(t, t.Context(), db, insert(2))}
	if err := release(); !errors.Is(err, ioError) {
		t.Errorf("got %v", err)
	}
	for _, outcome := range outcomes {
		if err := <-outcome; !errors.Is(err, sqldb.ErrFailed) || !errors.Is(err, ioError) {
			t.Errorf("got %v", err)
		}
	}
	<-db.Failed()
	for name, err := range map[string]error{
		"write": db.Write(t.Context(), insert(3)), "err": db.Err(), "ping": db.Ping(t.Context()), "migrate": db.Migrate(t.Context()),
	} {
		if !errors.Is(err, sqldb.ErrFailed) || !errors.Is(err, ioError) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if n := number(t, db, "SELECT COUNT(*) FROM n"); n != 0 || commits.Load() != 1 {
		t.Errorf("%d rows after %d commits", n, commits.Load())
	}
}

func TestOneStatementCanBeOpenTwice(t *testing.T) {
	db := numbers(t, sqldbtest.SQLite(t))
	for i := range 4 {
		write(t, db, "INSERT INTO n VALUES ($1);\n", i)
	}
	const query = "SELECT i FROM n WHERE i >= $1 ORDER BY i"
	var pairs []string
	err := db.Read(t.Context(), func(tx *sqldb.Tx) error {
		outer, err := tx.Query(query, 2)
		if err != nil {
			return err
		}
		defer outer.Close()
		for outer.Next() {
			var i, j int
			if err := outer.Scan(&i); err != nil {
				return err
			}
			if err := tx.QueryRow(query, 0).Scan(&j); err != nil {
				return err
			}
			pairs = append(pairs, fmt.Sprint(i, j))
		}
		return outer.Err()
	})
	if got := strings.Join(pairs, ", "); err != nil || got != "2 0, 3 0" {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestNothingRunsAfterAStatementFailed(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, address string) {
		db := numbers(t, address)
		_ = db.Write(t.Context(), func(tx *sqldb.Tx) error {
			_, first := tx.Exec("INSERT INTO nowhere VALUES (1)")
			_, second := tx.Exec("INSERT INTO n VALUES (1)")
			_, third := tx.Query("INSERT INTO n VALUES (1) RETURNING i")
			for _, err := range []error{second, third, tx.QueryRow("INSERT INTO n VALUES (1) RETURNING i").Scan(new(int))} {
				if first == nil || err != first {
					t.Errorf("got %v, first %v", err, first)
				}
			}
			return nil
		})
		if n := number(t, db, "SELECT COUNT(*) FROM n"); n != 0 {
			t.Errorf("%d rows", n)
		}
	})
}

func TestAFullDatabaseFailsItsClosureAlone(t *testing.T) {
	db := numbers(t, sqldbtest.SQLite(t))
	write(t, db, "CREATE TABLE large (data BLOB)")
	write(t, db, "PRAGMA max_page_count = 50")
	release := stall(t, db)
	before := queue(t, t.Context(), db, insert(1))
	large := queue(t, t.Context(), db, func(tx *sqldb.Tx) error {
		_, _ = tx.Exec("INSERT INTO large VALUES ($1)", make([]byte, 500_000))
		return insert(2)(tx)
	})
	after := queue(t, t.Context(), db, insert(3))
	if err := release(); err != nil {
		t.Error(err)
	}
	if err := errors.Join(<-before, <-after); err != nil {
		t.Errorf("the neighbours got %v", err)
	}
	if err := <-large; err == nil || !strings.Contains(err.Error(), "full") {
		t.Errorf("got %v", err)
	}
	if n := number(t, db, "SELECT SUM(i) FROM n"); n != 4 || db.Err() != nil {
		t.Errorf("the sum is %d, %v", n, db.Err())
	}
}

func TestAnOutcomeIsTheTruth(t *testing.T) {
	db := numbers(t, sqldbtest.SQLite(t))
	var all sync.WaitGroup
	var wrote sync.Map
	for w := range 16 {
		all.Go(func() {
			for i := range 40 {
				id := w*1000 + i
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(2000))*time.Microsecond)
				err := db.Write(ctx, func(tx *sqldb.Tx) error {
					if err := insert(id)(tx); err != nil || id%7 != 0 {
						return err
					}
					return errors.New("refused")
				})
				cancel()
				if err == nil {
					wrote.Store(id, true)
				}
			}
		})
	}
	all.Wait()
	err := db.Read(t.Context(), func(tx *sqldb.Tx) error {
		rows, err := tx.Query("SELECT i FROM n")
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var id int
			if err := rows.Scan(&id); err != nil {
				return err
			}
			if _, ok := wrote.LoadAndDelete(id); !ok {
				t.Errorf("%d was written although its caller got an error", id)
			}
		}
		return rows.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	wrote.Range(func(id, _ any) bool {
		t.Errorf("%v is lost", id)
		return true
	})
}

func TestRowsLeftOpenAreClosed(t *testing.T) {
	db := openWith(t, sqldbtest.SQLite(t), sqldb.Options{Readers: 1})
	write(t, db, "CREATE TABLE n (i INTEGER PRIMARY KEY)")
	write(t, db, "INSERT INTO n VALUES (1), (2)")
	err := db.Read(t.Context(), func(tx *sqldb.Tx) error {
		rows, err := tx.Query("SELECT i FROM n")
		rows.Next()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	write(t, db, "INSERT INTO n VALUES (3)")
	if n := number(t, db, "SELECT COUNT(*) FROM n"); n != 3 {
		t.Errorf("the reader still sees %d rows", n)
	}
}

func TestManyStatementsAreForgotten(t *testing.T) {
	db := open(t, sqldbtest.SQLite(t))
	for i := range 600 {
		if n := number(t, db, fmt.Sprintf("SELECT %d", i)); n != i {
			t.Fatalf("got %d, want %d", n, i)
		}
	}
}

func TestPlaceholdersGoByNumber(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, address string) {
		db := open(t, address)
		write(t, db, "CREATE TABLE pair (a TEXT, b TEXT)")
		write(t, db, "INSERT INTO pair VALUES ('x', 'y')")
		var n int64
		err := db.Write(t.Context(), func(tx *sqldb.Tx) (err error) {
			n, err = tx.Exec("UPDATE pair SET b = $2 WHERE a = $1 AND b <> $2", "x", "z")
			return err
		})
		if got := number(t, db, "SELECT COUNT(*) FROM pair WHERE b = $1", "z"); err != nil || n != 1 || got != 1 {
			t.Errorf("got %d, %d, %v", n, got, err)
		}
	})
}
