package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"svc.dev/svc/internal/outbox"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(sqldbtest.Tests{M: m}) }

// each runs fn on both databases, beside other tests.
func each(t *testing.T, fn func(t *testing.T, address string)) {
	t.Helper()
	t.Parallel()
	sqldbtest.EachSchema(t, fn)
}

// letter is a row, with a key of two columns.
type letter struct{ street, name string }

type claim = outbox.Claim[letter]

var letters = outbox.Table[letter]{
	Name: "letters", Rows: "letters",
	Key: []string{"street", "name"}, KeyOf: func(l letter) []any { return []any{l.street, l.name} },
	Columns: []string{"street", "name"}, Fields: func(l *letter) []any { return []any{&l.street, &l.name} },
}

// clock stands still until it is moved.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2026, 11, 14, 10, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// node is a process with a queue; what it tries is what the test says.
type node struct {
	*outbox.Queue[letter]
	clock  *clock
	looked atomic.Int64 // how often it has looked for what it may try

	mu    sync.Mutex
	tried []string
}

func newNode(t *testing.T, address string, edit func(*outbox.Config[letter])) *node {
	t.Helper()
	db, err := sqldb.Open(t.Context(), address, sqldb.Options{})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() { _ = db.Close() })
	n := &node{clock: newClock()}
	c := outbox.Config[letter]{DB: db, Table: letters, Poll: 10 * time.Millisecond, Now: n.clock.now}
	if edit != nil {
		edit(&c)
	}
	n.Queue = outbox.New(c)
	free := n.Free
	n.Free = func(busy int) (int, time.Duration) {
		n.looked.Add(1)
		return free(busy)
	}
	n.execute(t, `CREATE TABLE IF NOT EXISTS letters (street TEXT NOT NULL, name TEXT NOT NULL, state TEXT NOT NULL DEFAULT 'queued',
		attempts BIGINT NOT NULL DEFAULT 0, next_at BIGINT NOT NULL, created_at BIGINT NOT NULL, why TEXT NOT NULL DEFAULT '', PRIMARY KEY (street, name))`)
	return n
}

func (n *node) execute(t *testing.T, statement string, args ...any) {
	t.Helper()
	err := n.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		_, err := tx.Exec(statement, args...)
		return err
	})
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func (n *node) queue(t *testing.T, name string) {
	t.Helper()
	n.execute(t, "INSERT INTO letters (street, name, next_at, created_at) VALUES ('here', $1, $2, $2)", name, n.clock.now().UnixMilli())
}

// run tries what is due until stop, at the latest to the end of the test.
func (n *node) run(t *testing.T, try func(context.Context, claim) outbox.Verdict) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		err := n.Run(ctx, func(ctx context.Context, c claim) outbox.Verdict {
			n.note(c.Row.name)
			return try(ctx, c)
		})
		if err != nil {
			t.Errorf("run: %v", err)
		}
	})
	stop = func() {
		cancel()
		running.Wait()
	}
	t.Cleanup(stop)
	return stop
}

func (n *node) note(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.tried = append(n.tried, name)
}

func (n *node) attempts() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.tried)
}

// take is done with a row at once.
func take(_ context.Context, c claim) outbox.Verdict { return outbox.Done(c.Row.drop) }

func (l letter) drop(tx *sqldb.Tx) error {
	_, err := tx.Exec("DELETE FROM letters WHERE street = $1 AND name = $2", l.street, l.name)
	return err
}

// rows are the letters that are left, as state, attempts, and when they are due since the scene began.
func (n *node) rows(t *testing.T) (all []string) {
	t.Helper()
	err := n.DB.Read(t.Context(), func(tx *sqldb.Tx) error {
		all = nil
		rows, err := tx.Query("SELECT name, state, attempts, next_at, why FROM letters ORDER BY name")
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var name, state, why string
			var attempts, next int64
			if err := rows.Scan(&name, &state, &attempts, &next, &why); err != nil {
				return err
			}
			all = append(all, fmt.Sprint(name, " ", state, " ", attempts, " ", time.UnixMilli(next).Sub(newClock().at), why))
		}
		return rows.Err()
	})
	if err != nil {
		t.Fatalf("rows: %v", err)
	}
	return all
}

// until waits until the rows that are left are these.
func (n *node) until(t *testing.T, want ...string) {
	t.Helper()
	eventually(t, fmt.Sprint("rows ", want), func() bool { return slices.Equal(n.rows(t), want) })
}

// looks waits until the queue has looked some more times for what it may try: what it would find it has found by then.
func (n *node) looks(t *testing.T) {
	t.Helper()
	before := n.looked.Load()
	eventually(t, "the queue looks again", func() bool { return n.looked.Load() > before+5 })
}

// eventually waits until something holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited too long: %s", what)
		}
	}
}

func TestARowIsFoundWithoutAWake(t *testing.T) {
	each(t, func(t *testing.T, address string) {
		n := newNode(t, address, nil)
		n.run(t, take)
		n.queue(t, "ada")
		n.until(t)
	})
}

func TestAWakeIsHeardBeforeThePoll(t *testing.T) {
	each(t, func(t *testing.T, address string) {
		n := newNode(t, address, func(c *outbox.Config[letter]) { c.Poll = time.Hour })
		n.run(t, take)
		n.queue(t, "ada")
		n.Wake()
		n.until(t)
	})
}

func TestWhatHasWaitedLongestIsTriedFirst(t *testing.T) {
	each(t, func(t *testing.T, address string) {
		n := newNode(t, address, func(c *outbox.Config[letter]) { c.Parallel = 1 })
		for _, name := range []string{"zoe", "bob", "ada"} {
			n.queue(t, name)
			n.clock.advance(time.Second)
		}
		n.run(t, take)
		n.until(t)
		if got := n.attempts(); !slices.Equal(got, []string{"zoe", "bob", "ada"}) {
			t.Errorf("tried in the order %v", got)
		}
	})
}

func TestWhatIsTriedAgainWaitsUntilThen(t *testing.T) {
	each(t, func(t *testing.T, address string) {
		n := newNode(t, address, nil)
		n.queue(t, "ada")
		n.run(t, func(ctx context.Context, c claim) outbox.Verdict {
			if c.Attempt == 3 {
				return take(ctx, c)
			}
			return outbox.Again(n.clock.now().Add(outbox.Pause(time.Minute, time.Hour, c.Attempt)))
		})
		n.until(t, "ada queued 1 1m0s")
		n.clock.advance(59 * time.Second)
		n.looks(t)
		n.until(t, "ada queued 1 1m0s")
		n.clock.advance(time.Second)
		n.until(t, "ada queued 2 3m0s")
		n.clock.advance(2 * time.Minute)
		n.until(t)
	})
}

func TestWhatIsGivenUpIsNotTriedAgain(t *testing.T) {
	each(t, func(t *testing.T, address string) {
		n := newNode(t, address, nil)
		n.queue(t, "ada")
		n.run(t, func(context.Context, claim) outbox.Verdict {
			return outbox.Dead(func(tx *sqldb.Tx) error {
				_, err := tx.Exec("UPDATE letters SET why = ' moved'")
				return err
			})
		})
		n.until(t, "ada dead 1 5m0s moved")
		n.clock.advance(time.Hour)
		n.looks(t)
		if got := n.attempts(); len(got) != 1 {
			t.Errorf("tried %d times", len(got))
		}
	})
}

// TestTwoNodesTryEachRowOnce has both nodes look for the same rows all the time.
func TestTwoNodesTryEachRowOnce(t *testing.T) {
	each(t, func(t *testing.T, address string) {
		const rows = 60
		nodes := []*node{newNode(t, address, nil)}
		if nodes[0].DB.Dialect() == sqldb.Postgres {
			nodes = append(nodes, newNode(t, address, nil))
		} else {
			// One process has a SQLite database, and may run a queue twice.
			nodes = append(nodes, &node{Queue: outbox.New(nodes[0].Config), clock: nodes[0].clock})
		}
		for _, n := range nodes {
			n.run(t, take)
		}
		for i := range rows {
			nodes[i%2].queue(t, fmt.Sprint("person ", i))
			nodes[0].Wake()
			nodes[1].Wake()
		}
		nodes[0].until(t)
		tried := slices.Concat(nodes[0].attempts(), nodes[1].attempts())
		slices.Sort(tried)
		if len(tried) != rows || len(slices.Compact(tried)) != rows {
			t.Errorf("%d attempts at %d rows", len(tried), rows)
		}
	})
}

func TestNoMoreThanSomeAreTriedAtOnce(t *testing.T) {
	each(t, func(t *testing.T, address string) {
		n := newNode(t, address, func(c *outbox.Config[letter]) { c.Parallel = 2 })
		for i := range 5 {
			n.queue(t, fmt.Sprint("person ", i))
		}
		open := make(chan struct{})
		n.run(t, func(ctx context.Context, c claim) outbox.Verdict {
			<-open
			return take(ctx, c)
		})
		eventually(t, "two attempts", func() bool { return len(n.attempts()) == 2 })
		n.looks(t)
		if got := n.attempts(); len(got) != 2 {
			t.Errorf("%d were tried at once", len(got))
		}
		close(open)
		n.until(t)
	})
}

func TestARoomMayHoldItsRowsBack(t *testing.T) {
	each(t, func(t *testing.T, address string) {
		var mu sync.Mutex
		more := 0
		n := newNode(t, address, func(c *outbox.Config[letter]) {
			c.Free = func(int) (int, time.Duration) {
				mu.Lock()
				defer mu.Unlock()
				return more, time.Millisecond
			}
		})
		n.queue(t, "ada")
		n.run(t, take)
		n.looks(t)
		n.until(t, "ada queued 0 0s")
		mu.Lock()
		more = 1
		mu.Unlock()
		n.until(t)
	})
}

func TestRunFinishesWhatItBegan(t *testing.T) {
	each(t, func(t *testing.T, address string) {
		n := newNode(t, address, func(c *outbox.Config[letter]) { c.Grace = 20 * time.Second })
		n.queue(t, "ada")
		began, open := make(chan struct{}), make(chan struct{})
		stop := n.run(t, func(ctx context.Context, c claim) outbox.Verdict {
			close(began)
			<-open
			if ctx.Err() != nil {
				t.Errorf("the attempt was ended: %v", ctx.Err())
			}
			return take(ctx, c)
		})
		<-began
		time.AfterFunc(50*time.Millisecond, func() { close(open) })
		stop()
		n.until(t)
	})
}

func TestAnAttemptThatIsCutShortIsDueAtOnce(t *testing.T) {
	each(t, func(t *testing.T, address string) {
		n := newNode(t, address, func(c *outbox.Config[letter]) { c.Grace = 20 * time.Millisecond })
		n.queue(t, "ada")
		began := make(chan struct{})
		stop := n.run(t, func(ctx context.Context, c claim) outbox.Verdict {
			close(began)
			<-ctx.Done()
			if !c.Stopped() {
				t.Error("nobody told that the node is to stop")
			}
			return outbox.Again(n.clock.now())
		})
		<-began
		stop()
		n.until(t, "ada queued 1 0s")
		n.run(t, take)
		n.until(t)
	})
}

func TestAnAttemptEndsWithItsTimeout(t *testing.T) {
	each(t, func(t *testing.T, address string) {
		n := newNode(t, address, func(c *outbox.Config[letter]) { c.Timeout = 20 * time.Millisecond })
		n.queue(t, "ada")
		n.run(t, func(ctx context.Context, c claim) outbox.Verdict {
			<-ctx.Done()
			if c.Stopped() {
				t.Error("a timeout looks like a stop")
			}
			return take(ctx, c)
		})
		n.until(t)
	})
}

// TestARowOutlivesWhoClaimedIt has a node that claims and is never heard of again.
func TestARowOutlivesWhoClaimedIt(t *testing.T) {
	each(t, func(t *testing.T, address string) {
		n := newNode(t, address, nil)
		n.queue(t, "ada")
		n.execute(t, "UPDATE letters SET attempts = 1, next_at = $1", n.clock.now().Add(n.Lease).UnixMilli())
		n.run(t, take)
		n.looks(t)
		n.until(t, "ada queued 1 5m0s")
		n.clock.advance(n.Lease)
		n.until(t)
	})
}

// TestALostLeaseChangesNothing has another node take the row while the attempt lasts.
func TestALostLeaseChangesNothing(t *testing.T) {
	for name, test := range map[string]struct {
		verdict func(claim) outbox.Verdict
		left    []string
	}{
		"again": {func(claim) outbox.Verdict { return outbox.Again(newClock().at) }, []string{"ada queued 2 24h0m0s"}},
		"dead":  {func(c claim) outbox.Verdict { return outbox.Dead(c.Row.drop) }, []string{"ada queued 2 24h0m0s"}},
		"done":  {func(c claim) outbox.Verdict { return outbox.Done(c.Row.drop) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, address string) {
				n := newNode(t, address, nil)
				n.queue(t, "ada")
				began, open := make(chan struct{}), make(chan struct{})
				stop := n.run(t, func(_ context.Context, c claim) outbox.Verdict {
					close(began)
					<-open
					return test.verdict(c)
				})
				<-began
				n.execute(t, "UPDATE letters SET attempts = 2, next_at = $1", n.clock.now().Add(24*time.Hour).UnixMilli())
				close(open)
				stop()
				n.until(t, test.left...)
			})
		})
	}
}

func TestAVerdictIsWrittenDownWhenTheDatabaseAnswersAgain(t *testing.T) {
	each(t, func(t *testing.T, address string) {
		n := newNode(t, address, nil)
		n.queue(t, "ada")
		failures := 2
		n.run(t, func(_ context.Context, c claim) outbox.Verdict {
			return outbox.Done(func(tx *sqldb.Tx) error {
				if failures--; failures >= 0 {
					return errors.New("no answer")
				}
				return c.Row.drop(tx)
			})
		})
		n.until(t)
		if got := n.attempts(); len(got) != 1 {
			t.Errorf("tried %d times", len(got))
		}
	})
}

func TestAVerdictThatIsLostIsTold(t *testing.T) {
	lost := make(chan string, 1)
	n := newNode(t, sqldbtest.SQLite(t), func(c *outbox.Config[letter]) {
		c.Lost = func(c claim, err error) { lost <- fmt.Sprint(c.Row.name, " ", errors.Is(err, sqldb.ErrClosed)) }
	})
	n.queue(t, "ada")
	began := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		err := n.Run(context.Background(), func(ctx context.Context, c claim) outbox.Verdict {
			close(began)
			_ = n.DB.Close()
			return take(ctx, c)
		})
		if !errors.Is(err, sqldb.ErrClosed) {
			t.Errorf("run: %v", err)
		}
	})
	<-began
	running.Wait()
	if got := <-lost; got != "ada true" {
		t.Errorf("told of %s", got)
	}
}

func TestRunEndsWithADatabaseThatIsGone(t *testing.T) {
	n := newNode(t, sqldbtest.SQLite(t), nil)
	if err := n.DB.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
	if err := n.Run(t.Context(), take); !errors.Is(err, sqldb.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

func TestPausesDoubleUpToTheLongest(t *testing.T) {
	for n, want := range map[int64]time.Duration{
		0: time.Minute, 1: time.Minute, 2: 2 * time.Minute, 9: 256 * time.Minute, 10: 6 * time.Hour, 1 << 40: 6 * time.Hour,
	} {
		if got := outbox.Pause(time.Minute, 6*time.Hour, n); got != want {
			t.Errorf("after attempt %d: %v, not %v", n, got, want)
		}
	}
}
