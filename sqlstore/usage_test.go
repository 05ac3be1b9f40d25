package sqlstore_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/sqlstore"
)

// opened is a store on a database that others use too.
func opened(t *testing.T, address string) (*sqldb.DB, *sqlstore.Store) {
	t.Helper()
	db, err := sqldb.Open(t.Context(), address, sqldb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := db.Migrate(t.Context(), sqlstore.Migrations); err != nil {
		t.Fatal(err)
	}
	s, err := sqlstore.New(t.Context(), db, sqlstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return db, s
}

// TestAScopeIsMeasuredAndErasedAlone stores the same in two scopes, and erases one of them while it is worked on.
func TestAScopeIsMeasuredAndErasedAlone(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		ctx := t.Context()
		db, s := opened(t, address)
		leases := map[string]*svc.Lease{}
		for _, scope := range []string{"users/ada/shop", "users/eve/shop"} {
			leases[scope] = fill(t, s, scope)
			if u, err := sqlstore.Measure(ctx, db, scope); err != nil || u != (sqlstore.Usage{Attachments: 4<<10 + 120*512, Streams: 10}) {
				t.Fatalf("%s: %+v %v", scope, u, err)
			}
		}
		for range 2 {
			if err := sqlstore.Erase(ctx, db, "users/ada/shop"); err != nil {
				t.Fatal(err)
			}
		}
		if u, err := sqlstore.Measure(ctx, db, "users/ada/shop"); err != nil || u != (sqlstore.Usage{}) {
			t.Errorf("an erased workspace has %+v, %v; want nothing", u, err)
		}
		if _, err := s.Append(ctx, *leases["users/ada/shop"], svc.Commit{Data: []byte("late"), N: 1}); !errors.Is(err, svc.ErrFenced) {
			t.Errorf("who still works there goes on: %v", err)
		}
		if _, _, err := s.Get(ctx, leases["users/ada/shop"].Stream, "one"); !errors.Is(err, svc.ErrNotFound) {
			t.Errorf("attachment: %v", err)
		}
		if _, err := s.Append(ctx, *leases["users/eve/shop"], svc.Commit{Data: []byte("more"), N: 1}); err != nil {
			t.Errorf("the other scope is broken: %v", err)
		}
		if _, body, err := s.Get(ctx, leases["users/eve/shop"].Stream, "one"); err != nil {
			t.Errorf("the other's attachment: %v", err)
		} else {
			_ = body.Close()
		}
	})
}

// fill leaves 60 streams in a scope, ten bytes in one of them, and one content under two names.
func fill(t *testing.T, s *sqlstore.Store, scope string) *svc.Lease {
	t.Helper()
	blob, err := s.Put(t.Context(), scope, strings.NewReader("12345"))
	if err != nil {
		t.Fatal(err)
	}
	var held *svc.Lease
	for i := range 60 {
		a := svc.Admission{
			Stream: svc.Stream{Scope: scope, Kind: svc.KindAgent, Name: "central", ID: "c" + strings.Repeat("x", i)}, Submission: scope + strings.Repeat("x", i), Kind: svc.Direct,
			Owner: &svc.Owner{Node: "n", Boot: "b"}, Blobs: []svc.Attachment{{ID: "one", Blob: blob}, {ID: "two", Blob: blob}},
		}
		r, err := s.Admit(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		if held == nil {
			held = r.Lease
		}
	}
	if _, err := s.Append(t.Context(), *held, svc.Commit{Data: []byte("0123456789"), N: 1}); err != nil {
		t.Fatal(err)
	}
	return held
}

// TestRunsThatEndedLongAgoLeaveNothing erases those of a scope, and neither what still runs nor what is another's.
func TestRunsThatEndedLongAgoLeaveNothing(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		db, s := opened(t, address)
		rt, err := svc.New(svc.Config{Store: s, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		rt.AddWorkflow(
			svc.NewWorkflow("quick", func(context.Context, *svc.Work, struct{}) (bool, error) { return true, nil }),
			svc.NewWorkflow("endless", func(ctx context.Context, w *svc.Work, _ struct{}) (bool, error) { return true, w.Sleep(ctx, time.Hour) }),
		)
		ended := make(chan error, 1)
		go func() { ended <- rt.Run(ctx) }()
		for n := range 61 {
			scope := "service"
			if n == 60 {
				scope = "users/ada/shop"
			}
			if _, err := rt.In(scope).Invoke(ctx, "quick", svc.Invocation{Wait: true}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := rt.In("service").Invoke(ctx, "endless", svc.Invocation{}); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			before time.Duration
			want   int64
		}{{-time.Hour, 0}, {time.Hour, 50}, {time.Hour, 10}, {time.Hour, 0}} {
			if n, err := sqlstore.EraseRuns(ctx, db, "service", time.Now().Add(c.before)); n != c.want || err != nil {
				t.Errorf("%d erased, want %d, %v", n, c.want, err)
			}
		}
		for table, want := range map[string]int{"streams": 2, "runs": 2, "submissions": 2} {
			var n int
			err := db.Read(ctx, func(tx *sqldb.Tx) error { return tx.QueryRow("SELECT count(*) FROM " + table).Scan(&n) })
			if n != want || err != nil {
				t.Errorf("%d %s, want %d, %v", n, table, want, err)
			}
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
