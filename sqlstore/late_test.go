package sqlstore_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/sqlstore"
)

// TestWhatIsCommittedAfterItsCallerLeftIsNotLost lets a verb run, holds its commit until the caller has left, and then lets the
// disk go on. What the verb has brought about must be found by the next who asks, though no lease lapses on SQLite.
func TestWhatIsCommittedAfterItsCallerLeftIsNotLost(t *testing.T) {
	one := svc.Owner{Node: "one", Boot: "b", Agents: true}
	talk := svc.Stream{Scope: "acme", Kind: svc.KindAgent, Name: "support", ID: "42"}
	prompt := svc.Admission{Stream: talk, Submission: "s1", Kind: svc.Direct, Input: []byte("{}"), Opening: []byte("open")}
	for name, verb := range map[string]struct {
		before bool // the work is there already
		do     func(context.Context, *sqlstore.Store) error
	}{
		"claim": {true, func(ctx context.Context, s *sqlstore.Store) error {
			_, err := s.Claim(ctx, one, 1)
			return err
		}},
		"admission": {false, func(ctx context.Context, s *sqlstore.Store) error {
			_, err := s.Admit(ctx, prompt)
			return err
		}},
		"admission with a lease": {false, func(ctx context.Context, s *sqlstore.Store) error {
			a := prompt
			a.Owner = &one
			_, err := s.Admit(ctx, a)
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, err := sqldb.Open(t.Context(), sqldbtest.SQLite(t), sqldb.Options{Timeout: 2 * time.Second})
			if err == nil {
				err = db.Migrate(t.Context(), sqlstore.Migrations)
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = db.Close() })
			s, err := sqlstore.New(t.Context(), db, sqlstore.Config{Poll: time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			// The first claim of an owner does more than others.
			if _, err := s.Claim(t.Context(), one, 1); err != nil {
				t.Fatal(err)
			}
			if verb.before {
				if _, err := s.Admit(t.Context(), prompt); err != nil {
					t.Fatal(err)
				}
			}
			ready, unwatch := s.Watch(svc.Topic{Of: svc.Ready})
			defer unwatch()
			if err := overtaken(t, db, func(ctx context.Context) error { return verb.do(ctx, s) }); !errors.Is(err, svc.ErrUnavailable) {
				t.Fatalf("its caller got %v", err)
			}
			select {
			case <-ready:
			case <-time.After(10 * time.Second):
				t.Fatal("nobody was woken")
			}
			c, err := s.Claim(t.Context(), one, 1)
			if err != nil || len(c.Leases) != 1 || c.Leases[0].Stream != talk {
				t.Errorf("claimed %+v, %v", c.Leases, err)
			}
		})
	}
}

// overtaken does something whose writes share a commit that takes longer than the handle allows.
func overtaken(t *testing.T, db *sqldb.DB, do func(context.Context) error) error {
	t.Helper()
	patient := sqldb.Patient(t.Context(), time.Minute)
	begun, queued, left := make(chan struct{}), make(chan struct{}), make(chan struct{})
	commit, end := sync.OnceFunc(func() { close(queued) }), sync.OnceFunc(func() { close(left) })
	defer end()
	defer commit()
	verb, last := newQueuing(t.Context()), newQueuing(patient)
	ended := make(chan error, 2)
	go func() {
		ended <- db.Write(patient, func(*sqldb.Tx) error { close(begun); <-queued; return nil })
	}()
	<-begun
	got := make(chan error, 1)
	go func() { got <- do(verb) }()
	verb.await(t, "the verb is queued") // before the one that holds up the commit
	go func() {
		ended <- db.Write(last, func(*sqldb.Tx) error { <-left; return nil })
	}()
	last.await(t, "what holds up the commit is queued")
	commit()
	err := <-got
	end()
	if all := []error{<-ended, <-ended}; slices.ContainsFunc(all, func(err error) bool { return err != nil }) {
		t.Fatalf("the writes around it ended with %v, want no error", all)
	}
	return err
}

// queuing is the context of a write that shows when it is queued: from then on the write waits for its context, too.
type queuing struct {
	context.Context
	waits atomic.Bool
}

func newQueuing(ctx context.Context) *queuing { return &queuing{Context: ctx} }

func (q *queuing) Done() <-chan struct{} {
	q.waits.Store(true)
	return q.Context.Done()
}

func (q *queuing) await(t *testing.T, what string) {
	t.Helper()
	eventually(t, what, q.waits.Load)
}
