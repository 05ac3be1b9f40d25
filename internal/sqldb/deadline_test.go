package sqldb_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
)

// soon is how long a call may take whose handle allows a tenth of it: no less, since the tables are made under it too, and disks
// are slow at times.
const soon = 15 * time.Second

// within does something that must come to its end soon, and returns its error.
func within(t *testing.T, what string, do func() error) error {
	t.Helper()
	began := time.Now()
	err := do()
	if took := time.Since(began); took > soon {
		t.Errorf("%s took %s", what, took)
	}
	return err
}

func TestASQLiteWriteThatIsNotCommittedInTimeLetsItsCallerGo(t *testing.T) {
	db := openWith(t, sqldbtest.SQLite(t), sqldb.Options{Timeout: soon / 10})
	write(t, db, "CREATE TABLE n (i INTEGER PRIMARY KEY)")
	held, released := make(chan struct{}), make(chan struct{})
	var stalled atomic.Bool
	sqldb.OnCommit(db, func(commit func() error) error {
		if stalled.CompareAndSwap(false, true) {
			close(held)
			<-released
		}
		return commit()
	})
	first := make(chan error, 1)
	go func() { first <- db.Write(t.Context(), insert(1)) }()
	<-held
	behind := within(t, "a write behind a disk that stands still", func() error { return db.Write(t.Context(), insert(2)) })
	for who, err := range map[string]error{"first": <-first, "behind": behind} {
		if !errors.Is(err, sqldb.ErrOverdue) || !sqldb.Unavailable(err) {
			t.Errorf("%s got %v", who, err)
		}
	}
	close(released)
	write(t, db, "INSERT INTO n VALUES (3)")
	// The first had run and was committed after all; the one behind it had not begun, and never does.
	if n := number(t, db, "SELECT SUM(i) FROM n"); n != 4 {
		t.Errorf("the sum is %d", n)
	}
}

func TestASQLiteClosureWhoseCallerLeftGoesNoFurther(t *testing.T) {
	db := openWith(t, sqldbtest.SQLite(t), sqldb.Options{Timeout: soon / 10})
	write(t, db, "CREATE TABLE n (i INTEGER PRIMARY KEY)")
	left := make(chan struct{})
	ended := make(chan error, 1)
	err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
		if err := insert(1)(tx); err != nil {
			return err
		}
		<-left
		err := insert(2)(tx)
		ended <- err
		return err
	})
	if !errors.Is(err, sqldb.ErrOverdue) {
		t.Errorf("got %v", err)
	}
	close(left)
	if err := <-ended; !errors.Is(err, sqldb.ErrOverdue) {
		t.Errorf("a statement that nobody waits for got %v", err)
	}
	if n := number(t, db, "SELECT COUNT(*) FROM n"); n != 0 {
		t.Errorf("%d rows", n)
	}
}

func TestASQLiteReadIsNotWaitedForLongerThanIsAllowed(t *testing.T) {
	db := openWith(t, sqldbtest.SQLite(t), sqldb.Options{Timeout: soon / 10, Readers: 1})
	left := make(chan struct{})
	defer close(left)
	stuck := func(*sqldb.Tx) error { <-left; return nil }
	for _, what := range []string{"the read itself", "one that waits for a reader"} {
		if err := within(t, what, func() error { return db.Read(t.Context(), stuck) }); !errors.Is(err, sqldb.ErrOverdue) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestAPostgresCallEndsInTime(t *testing.T) {
	db := openWith(t, sqldbtest.Postgres(t), sqldb.Options{Timeout: soon / 10})
	slow := func(tx *sqldb.Tx) error { _, err := tx.Exec("SELECT pg_sleep(30)"); return err }
	for what, call := range map[string]func(context.Context, func(*sqldb.Tx) error) error{
		"write": db.Write, "read": db.Read, "snapshot": db.Snapshot, "urgent": db.Urgent,
	} {
		if err := within(t, what, func() error { return call(t.Context(), slow) }); !sqldb.Unavailable(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
	patient := sqldb.Patient(t.Context(), soon)
	for what, call := range map[string]func(context.Context, func(*sqldb.Tx) error) error{"write": db.Write, "read": db.Read, "snapshot": db.Snapshot} {
		err := call(patient, func(tx *sqldb.Tx) error { _, err := tx.Exec("SELECT pg_sleep(0.5)"); return err })
		if err != nil {
			t.Errorf("a patient %s: %v", what, err)
		}
	}
}

// TestAnUrgentCallWaitsForNobodysWork takes every connection there is but those that are kept for what is urgent.
func TestAnUrgentCallWaitsForNobodysWork(t *testing.T) {
	db := openWith(t, sqldbtest.Postgres(t), sqldb.Options{Conns: 1, Readers: 1})
	busy, done := make(chan struct{}), make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		ended <- db.Write(t.Context(), func(*sqldb.Tx) error { close(busy); <-done; return nil })
	}()
	<-busy
	err := within(t, "an urgent call", func() error {
		return db.Urgent(t.Context(), func(tx *sqldb.Tx) error { return tx.QueryRow("SELECT 1").Scan(new(int)) })
	})
	close(done)
	if err := errors.Join(err, <-ended); err != nil {
		t.Error(err)
	}
}

// TestAServerThatNeverAnswersCostsSeconds dials one that takes connections and says nothing.
func TestAServerThatNeverAnswersCostsSeconds(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(io.Discard, conn) }()
		}
	}()
	began := time.Now()
	_, err = sqldb.Open(t.Context(), fmt.Sprintf("postgres://svc@%s/svc?sslmode=disable", l.Addr()), sqldb.Options{})
	if took := time.Since(began); err == nil || took > 10*time.Second {
		t.Errorf("%v after %s", err, took)
	}
	if !sqldb.Unavailable(err) {
		t.Errorf("%v is not known as unavailable", err)
	}
}
