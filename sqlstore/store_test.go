package sqlstore_test

import (
	"sync"
	"testing"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/sqlstore"
	"svc.dev/svc/storetest"
)

// database is one real database on which storetest opens stores.
type database struct {
	address string
	nodes   bool

	mu   sync.Mutex
	now  time.Time
	last *sqlstore.Store
}

func (d *database) Nodes() bool { return d.nodes }

func (d *database) Now() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.now
}

func (d *database) Advance(by time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now = d.now.Add(by)
}

func (d *database) Open(t testing.TB) svc.Store {
	t.Helper()
	if !d.nodes && d.last != nil {
		if err := d.last.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s, err := sqlstore.Open(t.Context(), d.address, sqlstore.Config{Now: d.Now, Poll: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	d.last = s
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func newDatabase(address string, nodes bool) *database {
	return &database{address: address, nodes: nodes, now: time.UnixMilli(1_782_907_500_000)}
}

// eventually waits for something that takes a moment.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not yet: %s", what)
		}
	}
}

func TestSQLiteKeepsTheLaw(t *testing.T) {
	storetest.Run(t, func(t testing.TB) storetest.Database {
		return newDatabase("sqlite:"+t.TempDir()+"/svc.db", false)
	})
}

func TestPostgresKeepsTheLaw(t *testing.T) {
	storetest.Run(t, func(t testing.TB) storetest.Database {
		return newDatabase(sqldbtest.Schema(t), true)
	})
}
