package sqldb_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
)

func TestCloseLetsRunningWorkFinish(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, address string) {
		db := numbers(t, address)
		began, end := make(chan struct{}), make(chan struct{})
		var once sync.Once
		var all sync.WaitGroup
		all.Go(func() {
			err := db.Write(context.Background(), func(tx *sqldb.Tx) error {
				once.Do(func() { close(began) })
				<-end
				return insert(1)(tx)
			})
			if err != nil {
				t.Errorf("write: %v", err)
			}
		})
		<-began
		for range 2 {
			all.Go(func() {
				if err := db.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			})
		}
		close(end)
		all.Wait()
		again := open(t, address)
		if n := number(t, again, "SELECT COUNT(*) FROM n"); n != 1 {
			t.Errorf("%d rows", n)
		}
	})
}

func TestAClosedDatabaseRefuses(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, address string) {
		db := open(t, address)
		if err := db.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(db.Close(), db.Close()); err != nil {
			t.Fatal(err)
		}
		for name, err := range map[string]error{
			"write": db.Write(t.Context(), insert(1)), "read": db.Read(t.Context(), insert(1)),
			"snapshot": db.Snapshot(t.Context(), insert(1)), "migrate": db.Migrate(t.Context()), "ping": db.Ping(t.Context()),
		} {
			if !errors.Is(err, sqldb.ErrClosed) {
				t.Errorf("%s: got %v", name, err)
			}
		}
		db.Notify("key")
		db.Listen(func([]string) {})
	})
}
