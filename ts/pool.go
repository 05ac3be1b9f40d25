package ts

import (
	"context"
	"errors"
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

	mu     sync.Mutex
	places []*seat
	left   []*script.Engine // that were replaced, and have not ended
	freed  chan struct{}    // closed when an act ends; nil while nobody waits for that
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

// seat is where an engine stands. Its mutex is held while one is started.
type seat struct {
	starting sync.Mutex
	engine   *script.Engine // by the pool's mutex
}

func newPool(name string, size int, open opening, log *slog.Logger) *pool {
	p := &pool{name: name, open: open, log: log}
	for range size {
		p.places = append(p.places, &seat{})
	}
	return p
}

// begin starts an act in the engine that has least to do. That all are full is script.ErrFull.
func (p *pool) begin(ctx context.Context, data any) (*script.Act, error) {
	// An engine may fill up, or end, between the choice and the act: as often as there are engines.
	for range p.places {
		engine, err := p.choose(ctx)
		if err != nil {
			return nil, err
		}
		act, err := engine.Begin(ctx, data)
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

// nextFreed is closed when the next act ends.
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
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.freed != nil {
		close(p.freed)
		p.freed = nil
	}
}

// choose is the engine with the least to do; an empty place is filled when every engine has something.
func (p *pool) choose(ctx context.Context) (*script.Engine, error) {
	best, err := p.lightest()
	if err != nil {
		return nil, err
	}
	if engine := p.at(best); engine != nil {
		return engine, nil
	}
	return p.fill(ctx, best)
}

func (p *pool) lightest() (*seat, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errClosed
	}
	var best *seat
	least := 0
	for _, at := range p.places {
		load := 1 // of an empty place: more than idle, less than busy
		if e := at.engine; usable(e) {
			if e.Full() {
				continue
			}
			load = 2 * e.Load()
		}
		if best == nil || load < least {
			best, least = at, load
		}
	}
	if best == nil {
		return nil, script.ErrFull
	}
	return best, nil
}

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

// at is the engine of a place, nil if there is none that may be used.
func (p *pool) at(at *seat) *script.Engine {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !usable(at.engine) {
		return nil
	}
	return at.engine
}

// fill starts an engine in a place, once for all that want it. It goes on though the one that asked first has gone.
func (p *pool) fill(ctx context.Context, at *seat) (*script.Engine, error) {
	at.starting.Lock()
	defer at.starting.Unlock()
	if engine := p.at(at); engine != nil {
		return engine, nil
	}
	if p.stuck() > mostStuck || p.behind() >= len(p.places) {
		return nil, script.ErrFull
	}
	engine, err := p.open(context.WithoutCancel(ctx), func(time.Duration) { p.turns.Add(1) })
	if err != nil {
		return nil, err
	}
	return engine, p.put(at, engine)
}

func (p *pool) put(at *seat, engine *script.Engine) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		engine.Close()
		p.left = append(p.left, engine)
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
func (p *pool) stuck() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
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

// behind is how many engines were replaced and have not ended: as many as there are places, at most, hold memory beside them.
func (p *pool) behind() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left = slices.DeleteFunc(p.left, ended)
	return len(p.left)
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
	for _, e := range all {
		e.Close()
	}
	late := time.NewTimer(closing)
	defer late.Stop()
	for _, e := range all {
		select {
		case <-e.Ended():
		case <-late.C:
			p.log.Error("an engine is stuck, and was left behind", "pool", p.name)
			return
		}
	}
}
