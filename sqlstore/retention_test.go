package sqlstore_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"svc.dev/svc"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/sqlstore"
	"svc.dev/svc/workflow"
)

const day = 24 * time.Hour

// keeper is a store that keeps runs and conversations for ten days, by a clock that is moved by hand. It sweeps when it is told to: a test
// counts what has gone.
type keeper struct {
	*database
	*sqlstore.Store
	t     *testing.T
	swept sqlstore.Swept // as it was last told
}

func newKeeper(t *testing.T, d *database) *keeper {
	t.Helper()
	k := &keeper{database: d, t: t}
	k.Store = opening(t, d, 10_000*day, func(s sqlstore.Swept) { k.swept = s })
	return k
}

// opening gives a store that keeps as a keeper does, and sweeps by itself for the first time within some time.
func opening(t *testing.T, d *database, first time.Duration, swept func(sqlstore.Swept)) *sqlstore.Store {
	t.Helper()
	c := sqlstore.Config{Now: d.Now, IdempotencyAge: day, RunAge: 10 * day, ConversationAge: 10 * day, Swept: swept}
	s, err := sqlstore.Open(t.Context(), d.address, c.SweptFirst(first))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// begin admits work in a scope, and gives its lease.
func (k *keeper) begin(scope string, kind svc.Kind, id string) svc.Lease {
	k.t.Helper()
	a := svc.Admission{
		Stream: svc.Stream{Scope: scope, Kind: kind, Name: "w", ID: id}, Submission: ulid.Make().String(), Kind: svc.Direct,
		Owner: &svc.Owner{Node: "n", Boot: "b", Lease: 1000 * day}, Opening: []byte("x"),
	}
	if kind == svc.KindRun {
		a.Run, a.Opening, a.Kind = true, nil, svc.Invoked
	}
	r, err := k.Admit(k.t.Context(), a)
	if err != nil || r.Lease == nil {
		k.t.Fatal(err, r)
	}
	return *r.Lease
}

// beginRun admits a run whose id says that it began now.
func (k *keeper) beginRun(scope string) svc.Lease {
	return k.begin(scope, svc.KindRun, "run_"+ulid.MustNew(ulid.Timestamp(k.Now()), ulid.DefaultEntropy()).String())
}

// end settles work now.
func (k *keeper) end(l svc.Lease) {
	k.t.Helper()
	c := svc.Commit{Data: []byte("end"), N: 1, Settle: svc.OutcomeCompleted, Release: true}
	if l.Stream.Kind == svc.KindRun {
		c.Close, c.Run = true, &workflow.Run{ID: l.Stream.ID, Status: workflow.Completed, EndedAt: k.Now()}
	}
	if _, err := k.Append(k.t.Context(), l, c); err != nil {
		k.t.Fatal(err)
	}
}

func (k *keeper) sweep() sqlstore.Swept {
	k.t.Helper()
	swept, err := k.Sweep(k.t.Context())
	if err != nil {
		k.t.Fatal(err)
	}
	if swept != k.swept {
		k.t.Errorf("told of %+v, did %+v", k.swept, swept)
	}
	return swept
}

func (k *keeper) runs(scope string) int {
	k.t.Helper()
	page, err := k.ListRuns(k.t.Context(), svc.RunQuery{Scope: scope, Limit: 1000})
	if err != nil {
		k.t.Fatal(err)
	}
	return len(page.Runs)
}

func TestAStoreSweepsByItself(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		d := newDatabase(address, false)
		k := newKeeper(t, d)
		k.end(k.beginRun("a"))
		d.Advance(11 * day)
		_ = k.Close()
		told := make(chan sqlstore.Swept, 1)
		opening(t, d, time.Millisecond, func(s sqlstore.Swept) { told <- s })
		if got := <-told; got.Runs != 1 {
			t.Errorf("forgot %+v", got)
		}
	})
}

func TestARunIsKeptForItsAgeAfterItsEnd(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		k := newKeeper(t, newDatabase(address, false))
		for range 60 {
			k.end(k.beginRun("a"))
		}
		k.end(k.beginRun(""))
		late, endless := k.beginRun("b"), k.beginRun("b")
		k.Advance(9 * day)
		k.end(late)
		if got := k.sweep(); got.Runs != 0 {
			t.Errorf("after nine days %d runs are gone", got.Runs)
		}
		k.Advance(2 * day)
		if got := k.sweep(); got.Runs != 61 || k.runs("a") != 0 || k.runs("") != 0 || k.runs("b") != 2 {
			t.Errorf("after eleven days %d are gone; left %d, %d, %d", got.Runs, k.runs("a"), k.runs(""), k.runs("b"))
		}
		k.Advance(9 * day)
		if got := k.sweep(); got.Runs != 1 || k.runs("b") != 1 {
			t.Errorf("ten days after the late end %d are gone, %d are left", got.Runs, k.runs("b"))
		}
		k.end(endless)
		if got := k.sweep(); got.Runs != 0 || k.runs("b") != 1 {
			t.Errorf("of a run that ended now %d are gone", got.Runs)
		}
	})
}

func TestAConversationIsKeptForItsAgeAfterItsLastUse(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		k := newKeeper(t, newDatabase(address, false))
		left := func(scope string) int {
			t.Helper()
			page, err := k.Conversations(t.Context(), svc.ConversationQuery{Scope: scope, Limit: 1000})
			if err != nil {
				t.Fatal(err)
			}
			return len(page.Conversations)
		}
		for i := range 60 {
			k.end(k.begin("", svc.KindAgent, "c"+string(rune('0'+i))))
		}
		used, waits, settled := k.begin("b", svc.KindAgent, "used"), k.begin("b", svc.KindAgent, "waits"), k.begin("c", svc.KindAgent, "settled")
		k.end(used)
		k.Advance(9 * day)
		k.end(k.begin("b", svc.KindAgent, "used"))
		k.end(settled)
		if got := k.sweep(); got.Conversations != 0 {
			t.Errorf("after nine days %d conversations are gone", got.Conversations)
		}
		k.Advance(2 * day)
		if got := k.sweep(); got.Conversations != 60 || left("") != 0 || left("b") != 2 || left("c") != 1 {
			t.Errorf("after eleven days %d are gone; left %d, %d, %d", got.Conversations, left(""), left("b"), left("c"))
		}
		if _, err := k.Tail(t.Context(), svc.Stream{Kind: svc.KindAgent, Name: "w", ID: "c0"}); !errors.Is(err, svc.ErrNoStream) {
			t.Errorf("one that is gone: %v", err)
		}
		// Offsets that were given out are not given out again.
		if again := k.begin("", svc.KindAgent, "c0"); again.Tail.Head < 2 {
			t.Errorf("it begins anew at %d", again.Tail.Head)
		}
		k.Advance(9 * day)
		if got := k.sweep(); got.Conversations != 2 || left("b") != 1 || left("c") != 0 {
			t.Errorf("ten days after their last use %d are gone", got.Conversations)
		}
		k.end(waits)
	})
}

func TestNothingIsForgottenWithoutAnAge(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		d := newDatabase(address, false)
		k := newKeeper(t, d)
		k.end(k.beginRun("a"))
		k.end(k.begin("a", svc.KindAgent, "c"))
		d.Advance(10_000 * day)
		_ = k.Close()
		s := d.Open(t).(*sqlstore.Store)
		if got, err := s.Sweep(t.Context()); err != nil || got != (sqlstore.Swept{}) {
			t.Errorf("%+v %v", got, err)
		}
	})
}

// TestNodesThatSweepTogetherCountOnce lets two nodes forget the same.
func TestNodesThatSweepTogetherCountOnce(t *testing.T) {
	d := newDatabase(sqldbtest.Schema(t), true)
	nodes := []*keeper{newKeeper(t, d), newKeeper(t, d)}
	for range 120 {
		nodes[0].end(nodes[0].beginRun("a"))
		nodes[0].end(nodes[0].begin("a", svc.KindAgent, ulid.Make().String()))
	}
	d.Advance(11 * day)
	var both sync.WaitGroup
	for _, n := range nodes {
		both.Go(func() {
			if _, err := n.Sweep(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	last := nodes[0].swept
	got := sqlstore.Swept{Runs: last.Runs + nodes[1].swept.Runs, Conversations: last.Conversations + nodes[1].swept.Conversations}
	// Where each passed over what the other held, some is left to the next sweep.
	rest := nodes[0].sweep()
	got.Runs, got.Conversations = got.Runs+rest.Runs, got.Conversations+rest.Conversations
	if want := (sqlstore.Swept{Runs: 120, Conversations: 120}); got != want {
		t.Errorf("counted %+v, want %+v", got, want)
	}
}

// TestTheAgeOfConversationsIsFoundByAnIndex asks the database how it would find old ones of a scope.
func TestTheAgeOfConversationsIsFoundByAnIndex(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		db, _ := opened(t, address)
		for statement, args := range map[string][]any{
			sqlstore.OldConversations: {"a", 1, 50}, sqlstore.LaterScope: {"a"},
		} {
			if got := plan(t, db, statement, args...); !indexed(db, got) {
				t.Errorf("%s\nis carried out by\n%s", statement, got)
			}
		}
	})
}

func indexed(db *sqldb.DB, plan string) bool {
	if db.Dialect() == sqldb.Postgres {
		// Which way it takes the index depends on what it knows of the table.
		return strings.Contains(plan, "Scan using streams_used") || strings.Contains(plan, "Bitmap Index Scan on streams_used") || strings.Contains(plan, "Index Only Scan")
	}
	return strings.Contains(plan, "SEARCH streams USING")
}
