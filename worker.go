package svc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"svc.dev/svc/memory"
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

	slot    sync.Mutex // held while its slot is given back or taken again
	resting int        // how much of the work only waits
	lent    bool       // the slot is given back

	room    *memory.Grant // what the work takes of memory
	asked   atomic.Int64  // when the lease, or its last renewal, was asked for: nanoseconds since the process began
	settled bool          // its last append gave the lease back
}

// Why a job's context ends.
var (
	errStopped = errors.New("the node stops")
	errLapsed  = errors.New("the lease could not be renewed")
	errFailed  = errors.New("the store failed")
)

// The parts of a lease, in percent. A renewal is asked for after the first, and may take the second. Work stops after the
// third, however a call to the store goes on: before another node may have the stream, by its own clock alone.
const (
	renewAfter  = 30
	renewWithin = 30
	stopAfter   = 80
)

func (c *crew) part(percent int) time.Duration {
	return c.rt.config.Lease * time.Duration(percent) / 100
}

// processStart is where the monotonic clock is read from. Neither an operator nor a stop of the node moves it.
var processStart = time.Now()

func monotonic() int64 { return int64(time.Since(processStart)) }

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

// reserve takes a slot, and memory, for a stream that may come with an admission.
func (c *crew) reserve(scope string, need int64) (*Owner, *memory.Grant, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx == nil || c.stopping() || !c.slots.TryAcquire(1) {
		return nil, nil, false
	}
	room, err := c.rt.config.Memory.Try(c.rt.holder(scope), memory.Work, need)
	if err != nil {
		c.slots.Release(1)
		return nil, nil, false
	}
	c.work.Add(1)
	owner := c.owner
	return &owner, room, true
}

func (c *crew) unreserve(room *memory.Grant) {
	room.Release()
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

// start works on a stream whose slot and memory were reserved, and whose lease was asked for at a moment.
func (c *crew) start(l Lease, room *memory.Grant, asked int64) {
	c.mu.Lock()
	j := &job{lease: l, crew: c, room: room, mark: make(chan struct{}, 1)}
	j.asked.Store(asked)
	j.ctx, j.end = context.WithCancelCause(c.ctx)
	if old := c.active[l.Row]; old != nil {
		old.end(ErrFenced) // its lease lapsed and came back to us
	}
	c.active[l.Row] = j
	c.mu.Unlock()
	c.rt.rings.hold(l.Stream, l.Tail.Head)
	go func() {
		defer c.finish(j)
		defer j.rescue()
		j.work()
	}()
}

// logOf speaks of a stream: whose it is, and which.
func (rt *Runtime) logOf(s Stream) *slog.Logger {
	known := []any{"stream", s}
	if s.Scope != "" {
		known = append(known, "scope", s.Scope)
	}
	if by := rt.holder(s.Scope); by != s.Scope {
		known = append(known, "account", by)
	}
	if s.Kind == KindRun {
		known = append(known, "run_id", s.ID)
	}
	return rt.config.Log.With(known...)
}

// log speaks of the stream that is worked on.
func (j *job) log() *slog.Logger { return j.crew.rt.logOf(j.lease.Stream) }

// log speaks of the submission too, where one is answered.
func (th *thread) log() *slog.Logger {
	if th.submission.ID == "" || th.w.job.lease.Stream.Kind == KindRun {
		return th.w.job.log()
	}
	return th.w.job.log().With("submission_id", th.submission.ID)
}

// rescue gives a stream back whose work broke our own code: counted, so that it does not do so for ever.
func (j *job) rescue() {
	if p := recover(); p != nil {
		j.log().Error("work panicked", "error", p, "stack", string(debug.Stack()))
		j.giveBack(Release{After: failurePause, Reason: ReasonInterrupted, Failed: true})
	}
}

// failurePause is how long work rests that did not go through.
const failurePause = time.Second

func (c *crew) finish(j *job) {
	j.end(nil)
	c.rt.rings.letGo(j.lease.Stream, j.settled)
	c.mu.Lock()
	if c.active[j.lease.Row] == j {
		delete(c.active, j.lease.Row)
	}
	c.mu.Unlock()
	j.room.Release()
	j.lend() // for good
	c.work.Done()
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
		case next == 0:
			due.Stop()
		default:
			// Not later than after half a lease: the store's clock may be set, and goes on while the machine sleeps; timers do not.
			due.Reset(min(max(next, time.Millisecond), c.rt.config.Lease/2))
		}
	}
}

const claimAtOnce = 64

// claimAll claims until nothing waits or every slot is taken, and says how long it is until something will; zero: nothing
// is known of.
func (c *crew) claimAll(ctx context.Context) (next time.Duration, err error) {
	for {
		// Said before slots are taken: one that comes free meanwhile makes us look again.
		c.starved.Store(true)
		n := c.takeSlots(claimAtOnce)
		if n == 0 {
			return 0, nil
		}
		claimed, err := c.claimSome(ctx, n)
		c.slots.Release(int64(n - len(claimed.Leases)))
		if err != nil {
			return 0, fmt.Errorf("claim: %w", err)
		}
		if len(claimed.Leases) < n {
			c.starved.Store(false)
			return claimed.Next, nil
		}
	}
}

// claimSome works on up to n streams that wait.
func (c *crew) claimSome(ctx context.Context, n int) (Claimed, error) {
	ctx, cancel := c.rt.within(ctx)
	defer cancel()
	asked, at := monotonic(), c.rt.config.Now()
	claimed, err := c.rt.store.Claim(ctx, c.owner, n)
	if err != nil {
		return Claimed{}, err
	}
	c.rt.clock.Heard(at, c.rt.config.Now(), claimed.Now)
	for _, l := range claimed.Leases {
		c.work.Add(1)
		// Its memory is asked for by the work itself, which knows how to wait.
		room, _ := c.rt.config.Memory.Try(c.rt.holder(l.Stream.Scope), memory.Work, 0)
		c.start(l, room, asked)
	}
	return claimed, nil
}

func (c *crew) takeSlots(n int) int {
	for taken := range n {
		if !c.slots.TryAcquire(1) {
			return taken
		}
	}
	return n
}

// renew keeps the leases alive until ctx ends. It only ever prolongs: watch ends work, whatever becomes of a renewal.
func (c *crew) renew(ctx context.Context) error {
	next := time.NewTimer(c.part(renewAfter))
	defer next.Stop()
	for {
		select {
		case <-next.C:
		case <-ctx.Done():
			return nil
		}
		began := time.Now()
		busy := c.renewAll(ctx)
		pause := c.part(renewAfter)
		if busy {
			// Others use the rows for a moment only.
			pause /= 6
		}
		next.Reset(max(pause-time.Since(began), time.Millisecond))
	}
}

// renewAll asks for all leases at once, and reports whether some could not be had now.
func (c *crew) renewAll(ctx context.Context) (busy bool) {
	ctx, cancel := context.WithTimeout(ctx, c.part(renewWithin))
	defer cancel()
	held := c.held()
	asked, at := monotonic(), c.rt.config.Now()
	answer, err := c.rt.store.Renew(ctx, c.owner, held)
	if err != nil {
		if ctx.Err() == nil || len(held) > 0 {
			c.rt.config.Log.Warn("renew leases", "held", len(held), "error", err)
		}
		return false
	}
	c.rt.clock.Heard(at, c.rt.config.Now(), answer.Now)
	stale := map[int64]bool{}
	for _, l := range answer.Busy {
		stale[l.Row] = true
	}
	c.each(held, func(j *job) {
		if !stale[j.lease.Row] {
			j.asked.Store(max(asked, j.asked.Load()))
		}
	})
	c.each(answer.Lost, func(j *job) { j.end(ErrFenced) })
	c.each(answer.Aborted, (*job).abort)
	return len(answer.Busy) > 0
}

// watch stops work whose lease may soon be another's. It asks nobody and waits for nothing, so nothing can keep it from
// that; a node that was stopped finds out here when it goes on.
func (c *crew) watch(ctx context.Context) error {
	every := time.NewTicker(c.rt.config.Lease / 50)
	defer every.Stop()
	for {
		select {
		case <-every.C:
		case <-ctx.Done():
			return nil
		}
		c.everyJob(func(j *job) { j.lapsed() })
	}
}

// lapsed reports whether the work must stop because its lease was not renewed in time, and stops it.
func (j *job) lapsed() bool {
	if time.Duration(monotonic()-j.asked.Load()) < j.crew.part(stopAfter) {
		return false
	}
	j.end(errLapsed)
	return true
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
	late := time.AfterFunc(timeout, func() { c.endAll(errStopped) })
	defer late.Stop()
	c.work.Wait()
}

func (c *crew) endAll(cause error) { c.everyJob(func(j *job) { j.end(cause) }) }

func (c *crew) everyJob(fn func(*job)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, j := range c.active {
		fn(j)
	}
}

func (j *job) abort() {
	select {
	case j.mark <- struct{}{}:
	default:
	}
}

// work does what the stream's kind asks for, when there is room for it.
func (j *job) work() {
	l := j.lease
	if j.afford(needed(l.Submission.Bytes, l.Stored)) != nil {
		j.parkForRoom()
		return
	}
	if j.lease.Stream.Kind == KindRun {
		j.workRun()
		return
	}
	j.workAgent()
}

// withInput is a submission with what it was given, which is fetched where the lease came without it.
func (j *job) withInput(b Submission) (Submission, error) {
	if b.Bytes == 0 || b.Input != nil {
		return b, nil
	}
	ctx, cancel := j.crew.rt.within(j.ctx)
	defer cancel()
	var err error
	b.Input, err = j.crew.rt.store.Input(ctx, j.lease, b)
	return b, err
}

// rest gives the slot back while some of the job only waits, so that waiting work never starves other work, or what it waits for.
func (j *job) rest(wait func()) {
	j.lend()
	defer j.reclaim()
	wait()
}

// lend gives the slot back unless it is lent.
func (j *job) lend() {
	j.slot.Lock()
	defer j.slot.Unlock()
	if j.resting++; !j.lent {
		j.lent = true
		j.crew.free()
	}
}

// reclaim takes a slot again when nothing of the job waits any more. Work that ends needs none.
func (j *job) reclaim() {
	j.slot.Lock()
	defer j.slot.Unlock()
	if j.resting--; j.resting == 0 && j.crew.slots.Acquire(j.ctx, 1) == nil {
		j.lent = false
	}
}

type jobKey struct{}

// atWork is a context of work that a job does.
func (j *job) atWork(ctx context.Context) context.Context { return context.WithValue(ctx, jobKey{}, j) }

// resting waits for other work. Work that does so lends its slot meanwhile.
func resting(ctx context.Context, wait func()) {
	if j, ok := ctx.Value(jobKey{}).(*job); ok {
		j.rest(wait)
		return
	}
	wait()
}

// giveBack releases the lease, and tries again while the store cannot answer: a lease that is neither held nor released
// would wait for its lapse, or on SQLite for a restart. The tries are part of the pause that was asked for. A store that
// failed is not asked again, and none is when the node should have stopped by now.
func (j *job) giveBack(r Release) {
	rt := j.crew.rt
	began, after := time.Now(), r.After
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		r.After = max(0, after-time.Since(began))
		err := j.release(r)
		if err == nil || errors.Is(err, ErrFenced) || rt.State() == Failed {
			return
		}
		j.log().Error("release lease", "error", err)
		left, stopping := rt.leftToStop()
		if stopping && left <= 0 {
			return
		}
		if stopping {
			pause = min(pause, left)
		}
		select {
		case <-rt.failed:
		case <-time.After(pause):
		}
	}
}

// release asks once. While the node stops it takes no longer than that may take, or a moment.
func (j *job) release(r Release) error {
	rt := j.crew.rt
	ctx, cancel := rt.within(context.WithoutCancel(j.ctx))
	defer cancel()
	if left, stopping := rt.leftToStop(); stopping {
		ctx, cancel = context.WithTimeout(ctx, max(left, leastWait))
		defer cancel()
	}
	return rt.store.Release(ctx, j.lease, r)
}
