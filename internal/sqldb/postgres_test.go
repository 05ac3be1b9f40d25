package sqldb_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
)

func TestEveryPostgresConnectionIsDurable(t *testing.T) {
	at, err := url.Parse(sqldbtest.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	q := at.Query()
	q.Set("synchronous_commit", "off")
	at.RawQuery = q.Encode()
	db := open(t, at.String())
	var durable, name string
	err = db.Write(t.Context(), func(tx *sqldb.Tx) error {
		return errors.Join(tx.QueryRow("SHOW synchronous_commit").Scan(&durable), tx.QueryRow("SHOW application_name").Scan(&name))
	})
	if err != nil || durable != "on" || name != "svc" {
		t.Errorf("got %s, %s, %v", durable, name, err)
	}
	if err := db.Pool().QueryRow(t.Context(), "SHOW synchronous_commit").Scan(&durable); err != nil || durable != "on" {
		t.Errorf("got %s, %v", durable, err)
	}
}

func TestADeadlockIsTriedAgain(t *testing.T) {
	db := numbers(t, sqldbtest.Postgres(t))
	write(t, db, "INSERT INTO n VALUES (1), (2)")
	var runs atomic.Int32
	var met sync.WaitGroup
	met.Add(2)
	cross := func(first, second int) error {
		var once sync.Once
		return db.Write(t.Context(), func(tx *sqldb.Tx) error {
			runs.Add(1)
			if _, err := tx.Exec("SELECT i FROM n WHERE i = $1 FOR UPDATE", first); err != nil {
				return err
			}
			once.Do(func() { met.Done(); met.Wait() })
			_, err := tx.Exec("SELECT i FROM n WHERE i = $1 FOR UPDATE", second)
			return err
		})
	}
	errs := make(chan error, 2)
	go func() { errs <- cross(1, 2) }()
	go func() { errs <- cross(2, 1) }()
	if err := errors.Join(<-errs, <-errs); err != nil || runs.Load() < 3 { // on a busy machine the server may end both
		t.Errorf("%d runs, %v", runs.Load(), err)
	}
}

func TestAnEndedContextEndsAPostgresWrite(t *testing.T) {
	db := numbers(t, sqldbtest.Postgres(t))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := db.Write(ctx, func(tx *sqldb.Tx) error {
		if err := insert(1)(tx); err != nil {
			return err
		}
		_, err := tx.Exec("SELECT pg_sleep(30)")
		return err
	})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if n := number(t, db, "SELECT COUNT(*) FROM n"); n != 0 {
		t.Errorf("%d rows", n)
	}
}

func TestASwallowedErrorIsNoCommit(t *testing.T) {
	db := numbers(t, sqldbtest.Postgres(t))
	err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
		_, _ = tx.Exec("INSERT INTO nowhere VALUES (1)")
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("got %v", err)
	}
}

func TestAnUnreachablePostgresIsAnErrorOfOpen(t *testing.T) {
	_, err := sqldb.Open(t.Context(), "postgres://svc:hunter2@127.0.0.1:1/svc", sqldb.Options{})
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
}

// TestConnectionsThatWaitHoldNothingLarge writes something large on many connections at once, and looks at what is left of it.
func TestConnectionsThatWaitHoldNothingLarge(t *testing.T) {
	db := open(t, sqldbtest.Postgres(t))
	const conns, size = 8, 4 << 20
	before := sqldbtest.Held()
	var met, all sync.WaitGroup
	met.Add(conns)
	for range conns {
		all.Go(func() {
			text := strings.Repeat("x", size)
			err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
				met.Done() // each has a connection of its own
				met.Wait()
				var n int
				return tx.QueryRow("SELECT length($1::text)", text).Scan(&n)
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if held := sqldbtest.Held() - before; held > size {
		t.Errorf("%d bytes are held of %d that were written", held, conns*size)
	}
}
