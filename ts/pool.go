package ts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"svc.dev/svc/internal/script"
)

// pool keeps engines that do the same kind of work, and replaces those that were lost. An engine is started when it is needed first.
type pool struct {
	name  string
	open  opening
	log   *slog.Logger
	turns atomic.Int64

	replaced atomic.Int64

	ctx     context.Context // of starts
	stop    context.CancelFunc
	engines sync.WaitGroup // that are started, or have not ended

	mu     sync.Mutex
	places []*seat
	left   []*script.Engine // that were replaced, and have not ended
	freed  chan struct{}    // closed when there may be room; nil while nobody waits for that
	closed bool
}

// opening starts an engine, which tells how long each of its turns took.
type opening func(ctx context.Context, turned func(time.Duration)) (*script.Engine, error)

// Stats is what the engines of a pool do.
type Stats struct {
	Engines int   // that live
	Acts    int   // that they have now
	Stuck   int   // that were lost and cannot be ended yet
	Lost    int64 // that were replaced
	Turns   int64 // of all of them
}

func (p *pool) stats() Stats {
	s := Stats{Stuck: p.stuck(), Lost: p.replaced.Load(), Turns: p.turns.Load()}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, at := range p.places {
		if at.engine != nil && !dead(at.engine) {
			s.Engines++
			s.Acts += at.engine.Load()
		}
	}
	return s
}

// seat is where an engine stands, by the pool's mutex.
type seat struct {
	engine *script.Engine
	next   *arrival  // under way; nil: none is
	failed time.Time // when the last start did
}

// arrival is an engine on its way, for all who wait for it.
type arrival struct {
	over   chan struct{} // closed when the rest stands
	engine *script.Engine
	err    error
}

func (s *arrival) wait(ctx context.Context) (*script.Engine, error) {
	select {
	case <-s.over:
		return s.engine, s.err
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: it has not started yet: %w", script.ErrLost, context.Cause(ctx))
	}
}

func newPool(name string, size int, open opening, log *slog.Logger) *pool {
	p := &pool{name: name, open: open, log: log}
	p.ctx, p.stop = context.WithCancel(context.Background())
	for range size {
		p.places = append(p.places, &seat{})
	}
	return p
}

// begin starts an act in the engine that has least to do. That all are full is script.ErrFull.
func (p *pool) begin(ctx context.Context, data any) (*script.Act, error) {
	return p.beginAs(ctx, ctx, data)
}

// beginAs is begin for an act whose context is another than that of the wait for an engine.
func (p *pool) beginAs(ctx, of context.Context, data any) (*script.Act, error) {
	// An engine may fill up, or end, between the choice and the act: as often as there are engines.
	for range p.places {
		engine, err := p.choose(ctx)
		if err != nil {
			return nil, err
		}
		act, err := engine.Begin(of, data)
		if err == nil {
			return act, nil
		}
	}
	return nil, script.ErrFull
}

// beginWhenFree is begin for what can wait.
func (p *pool) beginWhenFree(ctx context.Context, data any) (*script.Act, error) {
	for {
		freed := p.nextFreed()
		act, err := p.begin(ctx, data)
		if !errors.Is(err, script.ErrFull) {
			return act, err
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// nextFreed is closed when the next act ends, or an engine.
func (p *pool) nextFreed() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.freed == nil {
		p.freed = make(chan struct{})
	}
	return p.freed
}

// end ends an act of this pool.
func (p *pool) end(act *script.Act) {
	act.End()
	p.wake()
}

// wake lets those look again who wait for room.
func (p *pool) wake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.freed != nil {
		close(p.freed)
		p.freed = nil
	}
}

// choose is the engine with the least to do. One that is on its way is waited for only where no other has room.
func (p *pool) choose(ctx context.Context) (*script.Engine, error) {
	best, next, err := p.lightest()
	if next != nil {
		return next.wait(ctx)
	}
	return best, err
}

// lightest is the engine with the least to do, and fills an empty place when every engine has something.
func (p *pool) lightest() (best *script.Engine, next *arrival, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, nil, errClosed
	}
	var empty *seat
	for _, at := range p.places {
		switch e := at.engine; {
		case !usable(e):
			empty = cmp.Or(empty, at)
		case !e.Full() && (best == nil || e.Load() < best.Load()):
			best = e
		}
	}
	if empty != nil && (best == nil || best.Load() > 0 && time.Since(empty.failed) > respite) {
		p.fill(empty)
	}
	switch {
	case best != nil:
		return best, nil, nil
	case empty != nil && empty.next != nil:
		return nil, empty.next, nil
	}
	return nil, nil, script.ErrFull
}

// respite is how long no engine is started beside others after one did not start.
const respite = time.Second

// usable reports whether an engine may be given acts. One whose memory is full ends with those that it has, beside the next.
func usable(e *script.Engine) bool { return e != nil && !dead(e) && !e.Draining() }

func dead(e *script.Engine) bool {
	select {
	case <-e.Dead():
		return true
	default:
		return false
	}
}

func ended(e *script.Engine) bool {
	select {
	case <-e.Ended():
		return true
	default:
		return false
	}
}

// fill begins to start an engine in a place, once for all that want it: as many that were replaced and have not ended as there are places, at
// most, hold memory beside them. The mutex is held.
func (p *pool) fill(at *seat) {
	if at.next != nil || p.lost() > mostStuck || len(p.left) >= len(p.places) {
		return
	}
	next := &arrival{over: make(chan struct{})}
	at.next = next
	p.engines.Go(func() { p.run(at, next) })
}

// run starts an engine and stays until it has ended, for then there may be room for another.
func (p *pool) run(at *seat, next *arrival) {
	defer p.wake()
	engine, err := p.open(p.ctx, func(time.Duration) { p.turns.Add(1) })
	next.engine, next.err = engine, p.put(at, engine, err)
	close(next.over)
	p.wake()
	if engine != nil {
		<-engine.Ended()
	}
}

// put lets an engine stand in its place, or remembers that it did not start.
func (p *pool) put(at *seat, engine *script.Engine, err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	at.next = nil
	switch {
	case err != nil:
		at.failed = time.Now()
		return err
	case p.closed:
		engine.Close()
		return errClosed
	}
	if old := at.engine; old != nil {
		stack, err := whyReplaced(old)
		p.log.Warn("engine replaced", "pool", p.name, "error", err, "stack", stack)
		p.left = append(p.left, old)
		p.replaced.Add(1)
	}
	at.engine = engine
	return nil
}

func whyReplaced(e *script.Engine) (stack string, err error) {
	if dead(e) {
		return e.Where(), e.Fault(0)
	}
	return "", script.ErrMemory
}

// stuck is how many engines are lost and have not ended: a built-in function does not let them.
func (p *pool) stuck() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost()
}

// lost is stuck while the mutex is held. It forgets those that have ended.
func (p *pool) lost() (n int) {
	p.left = slices.DeleteFunc(p.left, ended)
	for _, e := range p.left {
		if dead(e) {
			n++
		}
	}
	for _, at := range p.places {
		if at.engine != nil && dead(at.engine) && !ended(at.engine) {
			n++
		}
	}
	return n
}

// closing is how long an engine may take to end.
const closing = 5 * time.Second

func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	all := slices.Clone(p.left)
	for _, at := range p.places {
		if at.engine != nil {
			all = append(all, at.engine)
		}
	}
	p.mu.Unlock()
	p.stop()
	for _, e := range all {
		e.Close()
	}
	over := make(chan struct{})
	go func() { p.engines.Wait(); close(over) }()
	late := time.NewTimer(closing)
	defer late.Stop()
	select {
	case <-over:
	case <-late.C:
		p.log.Error("an engine is stuck, and was left behind", "pool", p.name)
	}
}
