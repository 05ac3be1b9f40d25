package sqldb

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrOverdue says that the database did not answer in time; whether what was asked for took place is left open.
var ErrOverdue = errors.New("database did not answer in time")

// defaultTimeout stays below a lease of the runtime, so that a call that hangs is known before the lease is another's.
const defaultTimeout = 5 * time.Second

type patience struct{}

// Patient lets calls below ctx take so long, where the handle's own timeout is less: for the work of operators and sweepers
// that grows with what is stored, never for a request or for what holds a lease.
func Patient(ctx context.Context, d time.Duration) context.Context {
	return context.WithValue(ctx, patience{}, d)
}

// patienceOf is what Patient allowed, zero where nothing was said.
func patienceOf(ctx context.Context) time.Duration {
	d, _ := ctx.Value(patience{}).(time.Duration)
	return d
}

type lateness struct{}

// Late calls fn when a write below ctx is committed after its caller has left with ErrOverdue: what that caller did not do
// is then left to fn, which is called once, on a goroutine of its own. Only on SQLite, where a caller cannot take a write with
// it; on PostgreSQL the outcome of such a write is not known to anybody.
func Late(ctx context.Context, fn func()) context.Context {
	return context.WithValue(ctx, lateness{}, fn)
}

func latenessOf(ctx context.Context) func() {
	fn, _ := ctx.Value(lateness{}).(func())
	return fn
}

// allowed is how long a call below ctx may take.
func allowed(ctx context.Context, timeout time.Duration) time.Duration {
	return max(timeout, patienceOf(ctx))
}

// overdue names an error that comes from the deadline of ctx.
func overdue(ctx context.Context, err error) error {
	if err == nil || errors.Is(err, ErrOverdue) || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrOverdue, err)
}

// awaited is the answer to something that another goroutine does, or ErrOverdue when it took too long.
func awaited(answer <-chan error, limit time.Duration) error {
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case err := <-answer:
		return err
	case <-late.C:
		return ErrOverdue
	}
}
