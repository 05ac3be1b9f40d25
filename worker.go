package svc

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
)

// crew works on the streams that this node holds, one goroutine each, as many at once as it has slots.
type crew struct {
	rt    *Runtime
	slots *semaphore.Weighted
	freed chan struct{} // a slot came free that the claimer waits for

	starved atomic.Bool // work may wait for a slot

	mu     sync.Mutex
	owner  Owner
	ctx    context.Context // of all work; nil while the crew is closed
	active map[int64]*job
	work   sync.WaitGroup
}

// job is one stream that this node holds.
type job struct {
	lease Lease
	crew  *crew

	ctx  context.Context // ends when the stream must not be worked on here any more
	end  context.CancelCauseFunc
	mark chan struct{} // an abort was asked for

	settled bool // its last append gave the lease back
}

// Why a job's context ends.
var (
	errStopped = errors.New("the node stops")
	errLapsed  = errors.New("the lease could not be renewed")
)

func newCrew(rt *Runtime) *crew {
	return &crew{
		rt: rt, slots: semaphore.NewWeighted(int64(rt.config.Workers)),
		freed: make(chan struct{}, 1), active: map[int64]*job{},
	}
}

func (c *crew) open(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.owner, c.ctx = c.rt.newOwner(), ctx
}

func (c *crew) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.active)
}

// reserve takes a slot for a stream that may come with an admission.
func (c *crew) reserve() (*Owner, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx == nil || c.stopping() || !c.slots.TryAcquire(1) {
		return nil, false
	}
	c.work.Add(1)
	owner := c.owner
	return &owner, true
}

func (c *crew) unreserve() {
	c.free()
	c.work.Done()
}

// free gives a slot back, and makes the claimer look again if work may wait for it.
func (c *crew) free() {
	c.slots.Release(1)
	if !c.starved.Swap(false) {
		return
	}
	select {
	case c.freed <- struct{}{}:
	default:
	}
}

func (c *crew) stopping() bool {
	select {
	case <-c.rt.stopping:
		return true
	default:
		return false
	}
}

// start works on a stream whose slot was reserved.
func (c *crew) start(l Lease) {
	c.mu.Lock()
	j := &job{lease: l, crew: c, mark: make(chan struct{}, 1)}
	j.ctx, j.end = context.WithCancelCause(c.ctx)
	if old := c.active[l.Row]; old != nil {
		old.end(ErrFenced) // its lease lapsed and came back to us
	}
	c.active[l.Row] = j
	c.mu.Unlock()
	c.rt.follow.hold(l.Stream, l.Tail.Head)
	go func() {
		defer c.finish(j)
		j.work()
	}()
}

func (c *crew) finish(j *job) {
	j.end(nil)
	c.rt.follow.letGo(j.lease.Stream, j.settled)
	c.mu.Lock()
	if c.active[j.lease.Row] == j {
		delete(c.active, j.lease.Row)
	}
	c.mu.Unlock()
	c.unreserve()
}

// claim leases what waits until ctx ends. It asks when work may be ready, when a slot came free, and when the next stream
// that waits for a time is due.
func (c *crew) claim(ctx context.Context) error {
	ready, stop := c.rt.store.Watch(Topic{Of: Ready})
	defer stop()
	due := time.NewTimer(0)
	defer due.Stop()
	for {
		select {
		case <-ready:
		case <-c.freed:
		case <-due.C:
		case <-ctx.Done():
			return nil
		}
		next, err := c.claimAll(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			c.rt.config.Log.Error("claim", "error", err)
			due.Reset(time.Second)
		case next.IsZero():
			due.Stop()
		default:
			due.Reset(max(time.Until(next), time.Millisecond))
		}
	}
}

const claimAtOnce = 64

// claimAll claims until nothing waits or every slot is taken, and says when something will.
func (c *crew) claimAll(ctx context.Context) (next time.Time, err error) {
	for {
		// Said before slots are taken: one that comes free meanwhile makes us look again.
		c.starved.Store(true)
		n := c.takeSlots(claimAtOnce)
		if n == 0 {
			return time.Time{}, nil
		}
		claimed, err := c.rt.store.Claim(ctx, c.owner, n)
		for _, l := range claimed.Leases {
			c.work.Add(1)
			c.start(l)
		}
		c.slots.Release(int64(n - len(claimed.Leases)))
		if err != nil {
			return time.Time{}, fmt.Errorf("claim: %w", err)
		}
		if len(claimed.Leases) < n {
			c.starved.Store(false)
			return claimed.Next, nil
		}
	}
}

func (c *crew) takeSlots(n int) int {
	for taken := range n {
		if !c.slots.TryAcquire(1) {
			return taken
		}
	}
	return n
}

// renew keeps the leases alive until ctx ends. Work whose lease could not be renewed in time stops: another node may have
// it by then.
func (c *crew) renew(ctx context.Context) error {
	every := time.NewTicker(c.rt.config.Lease * 3 / 10)
	defer every.Stop()
	renewed := time.Now()
	for {
		select {
		case <-every.C:
		case <-ctx.Done():
			return nil
		}
		asked := time.Now()
		held := c.held()
		answer, err := c.rt.store.Renew(ctx, c.owner, held)
		if err == nil {
			renewed = asked
			c.each(answer.Lost, func(j *job) { j.end(ErrFenced) })
			c.each(answer.Aborted, (*job).abort)
			continue
		}
		c.rt.config.Log.Warn("renew leases", "held", len(held), "error", err)
		if time.Since(renewed) > c.rt.config.Lease {
			c.each(held, func(j *job) { j.end(errLapsed) })
		}
	}
}

func (c *crew) held() []Lease {
	c.mu.Lock()
	defer c.mu.Unlock()
	held := make([]Lease, 0, len(c.active))
	for _, j := range c.active {
		held = append(held, j.lease)
	}
	return held
}

func (c *crew) each(leases []Lease, fn func(*job)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range leases {
		if j := c.active[l.Row]; j != nil && j.lease.Epoch == l.Epoch {
			fn(j)
		}
	}
}

// drain waits until all work has come to a recorded point and is released; after the timeout it is cut off.
func (c *crew) drain(timeout time.Duration) {
	late := time.AfterFunc(timeout, func() { c.each(c.held(), func(j *job) { j.end(errStopped) }) })
	defer late.Stop()
	c.work.Wait()
}

func (j *job) abort() {
	select {
	case j.mark <- struct{}{}:
	default:
	}
}

// work does what the stream's kind asks for.
func (j *job) work() {
	if j.lease.Stream.Kind == KindRun {
		j.workRun()
		return
	}
	j.workAgent()
}

// rest gives the slot back while the job only waits, so that waiting work never starves other work.
func (j *job) rest(wait func()) {
	j.crew.free()
	defer func() {
		// A slot is owed again whatever happens: finish releases it.
		_ = j.crew.slots.Acquire(context.Background(), 1)
	}()
	wait()
}

// giveBack releases the lease, and tries again while the store cannot answer: a lease that is neither held nor released
// would wait for its lapse, or on SQLite for a restart.
func (j *job) giveBack(until time.Time, reason string) {
	began := time.Now()
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		err := j.crew.rt.store.Release(context.WithoutCancel(j.ctx), j.lease, until, reason)
		if err == nil || errors.Is(err, ErrFenced) {
			return
		}
		j.crew.rt.config.Log.Error("release lease", "stream", j.lease.Stream, "error", err)
		if j.crew.stopping() && time.Since(began) > j.crew.rt.config.StopTimeout {
			return
		}
		time.Sleep(pause)
	}
}
