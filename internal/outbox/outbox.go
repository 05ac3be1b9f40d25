// Package outbox is work that is done after a commit. The transaction of an act writes a row that says what is left to do,
// so that there is one exactly if the act took place; some node does it afterwards, as often as that takes.
//
// The law, which holds for any number of nodes on one database:
//
// A row is queued and due from next_at on. Whoever claims it raises its attempts, which is the fence, and sets next_at to the
// end of the lease, before which nobody else takes it. A node that dies costs a lease, never a row.
//
// An attempt comes to a verdict, written down in one transaction. Done holds even for whoever lost the lease: the deed is
// done. Again and Dead change nothing then, for the row is another's.
//
// A row is tried at least once, and may be twice: when the verdict is lost, by a crash or with the database, or when an
// attempt outlives its lease. What is done must bear that, or carry an id by which others tell.
package outbox

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"svc.dev/svc/internal/sqldb"
)

// Table is where rows wait. Beside what its room keeps there it has the columns state, which is queued for as long as
// something is left to do and dead once that was given up, attempts, next_at and created_at; times are Unix milliseconds.
type Table[R any] struct {
	Name    string
	Rows    string             // what they are called in errors
	Key     []string           // the columns of its primary key
	KeyOf   func(R) []any      // their values
	Columns []string           // what a row is read from
	Fields  func(row *R) []any // where its columns are read into
}

// Config is how the rows of a table are worked on. DB and Table are required.
type Config[R any] struct {
	DB    *sqldb.DB
	Table Table[R]
	// Parallel is how many rows are tried at once. Defaults to 4.
	Parallel int
	// Free is how many more may be tried now that some are, and how long to rest where that is none. Defaults to as many as
	// Parallel leaves.
	Free func(busy int) (more int, rest time.Duration)
	// Poll is how long a row may wait that was queued on another node, or without a Wake. Defaults to 5 seconds.
	Poll time.Duration
	// Timeout is how long an attempt may take. Defaults to 30 seconds.
	Timeout time.Duration
	// Grace is how long an attempt goes on when Run is to end. Defaults to none.
	Grace time.Duration
	// Lease is how long a row belongs to whoever tries it. It is longer than any attempt, and than the clocks of two nodes may
	// differ. Defaults to 5 minutes.
	Lease time.Duration
	// Lost hears of a verdict that could not be written down. Defaults to nobody.
	Lost func(Claim[R], error)
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
	// Log hears, as Name, that the database did not answer. Defaults to slog.Default().
	Log  *slog.Logger
	Name string
}

// setDefaults takes what is negative for what was not said.
func (c *Config[R]) setDefaults() {
	c.Parallel = cmp.Or(max(c.Parallel, 0), 4)
	c.Poll = cmp.Or(max(c.Poll, 0), 5*time.Second)
	if c.Free == nil {
		c.Free = func(busy int) (int, time.Duration) { return c.Parallel - busy, c.Poll }
	}
	c.Timeout = cmp.Or(max(c.Timeout, 0), 30*time.Second)
	c.Lease = cmp.Or(max(c.Lease, 0), 5*time.Minute)
	if c.Lost == nil {
		c.Lost = func(Claim[R], error) {}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	c.Log = cmp.Or(c.Log, slog.Default())
}

// Queue is the rows of a table that wait for somebody to do what they say.
type Queue[R any] struct {
	Config[R]
	wake chan struct{}
}

// New makes the queue of a table that stands.
func New[R any](c Config[R]) *Queue[R] {
	q := &Queue[R]{Config: c, wake: make(chan struct{}, 1)}
	q.setDefaults()
	return q
}

// Wake tells Run that a row may have been queued. Call it after the commit; a lost wake costs Poll, never a row.
func (q *Queue[R]) Wake() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// Run tries what is due, here or on another node, until ctx ends; attempts under way then have Grace to finish. It returns an
// error only when the database is gone.
func (q *Queue[R]) Run(ctx context.Context, try func(context.Context, Claim[R]) Verdict) error {
	var trying sync.WaitGroup
	defer trying.Wait()
	slots := make(chan struct{}, q.Parallel)
	for ctx.Err() == nil {
		claims, rest, err := q.due(ctx, len(slots))
		switch {
		case gone(err):
			return err
		case err != nil && ctx.Err() == nil:
			q.Log.Warn(q.Name, "error", err)
		}
		for _, c := range claims {
			slots <- struct{}{}
			trying.Go(func() {
				q.attempt(ctx, c, try)
				<-slots
				q.Wake()
			})
		}
		if len(claims) == 0 {
			q.rest(ctx, rest)
		}
	}
	return nil
}

func gone(err error) bool { return errors.Is(err, sqldb.ErrClosed) || errors.Is(err, sqldb.ErrFailed) }

// due claims what is due, up to as many as may be tried now, and says how long to rest if that is none.
func (q *Queue[R]) due(ctx context.Context, busy int) ([]Claim[R], time.Duration, error) {
	more, rest := q.Free(busy)
	if more == 0 {
		return nil, rest, nil
	}
	at, some, err := q.earliest(ctx)
	if err != nil || !some {
		return nil, q.Poll, err
	}
	if wait := at.Sub(q.Now()); wait > 0 {
		return nil, min(wait, q.Poll), nil
	}
	claims, err := q.claim(ctx, more)
	return claims, q.Poll, err
}

func (q *Queue[R]) rest(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-q.wake:
	case <-timer.C:
	}
}

// attempt tries once, and writes down what that came to.
func (q *Queue[R]) attempt(ctx context.Context, c Claim[R], try func(context.Context, Claim[R]) Verdict) {
	c.Stopped = func() bool { return ctx.Err() != nil }
	trying, cancel := outlive(ctx, q.Timeout, q.Grace)
	defer cancel()
	if err := q.settle(ctx, c, try(trying, c)); err != nil {
		q.Lost(c, err)
	}
}

// outlive is a context that ends after a timeout, or a grace after its parent.
func outlive(parent context.Context, timeout, grace time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(parent), timeout)
	stop := context.AfterFunc(parent, func() {
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel()
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		stop()
		cancel()
	}
}

// Pause is how long to wait after the nth attempt: the first pause, doubled each time, up to the longest.
func Pause(first, longest time.Duration, n int64) time.Duration {
	pause := first
	for ; n > 1 && pause < longest; n-- {
		pause *= 2
	}
	return min(pause, longest)
}
