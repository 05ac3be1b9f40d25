package svc

import (
	"context"
	"errors"
	"math"
	"time"
)

// How long work may take to return once its context has ended: its stream then goes on without it.
const (
	cancelGrace = 10 * time.Second
	stopGrace   = 200 * time.Millisecond
)

// errAborted is why the context of work ends whose submission was marked.
var errAborted = errors.New("the work was aborted")

// gathering is a writer whose records wait for company.
type gathering interface {
	woken() <-chan struct{}
	due() (at time.Time, ok bool)
	flush()
	steady(fn func())
}

// attend starts work that another goroutine does and waits for it, writes what has gathered when its time has come, and ends the work's
// context when an abort is asked for. It reports whether the work returned; work that does not stop is left behind.
func (j *job) attend(ctx context.Context, cancel context.CancelCauseFunc, w gathering, start func() (returned <-chan struct{})) bool {
	rt := j.crew.rt
	marked, stop := rt.store.Watch(Topic{Stream: j.lease.Stream, Of: Mark})
	defer stop()
	flush := time.NewTimer(math.MaxInt64)
	defer flush.Stop()
	// Nothing settles between the look and the cancelling: a mark that is told late is another submission's.
	heed := func() {
		w.steady(func() {
			ctx, done := rt.within(ctx)
			defer done()
			switch tail, err := rt.store.Tail(ctx, j.lease.Stream); {
			case errors.Is(err, ErrNoStream):
				j.end(ErrFenced) // it was erased
			case err == nil && tail.Aborted:
				cancel(errAborted)
			}
		})
	}
	returned := start()
	var late <-chan time.Time
	gone := ctx.Done()
	for {
		select {
		case <-returned:
			return true
		case <-w.woken():
			if at, ok := w.due(); ok {
				flush.Reset(at.Sub(rt.config.Now()))
			}
		case <-flush.C:
			w.flush()
		case <-marked:
			heed()
		case <-j.mark:
			heed()
		case <-gone:
			gone, late = nil, time.After(grace(ctx))
		case <-late:
			return false
		}
	}
}

func grace(ctx context.Context) time.Duration {
	if cause := context.Cause(ctx); errors.Is(cause, errStopped) || errors.Is(cause, errFailed) {
		return stopGrace
	}
	return cancelGrace
}
