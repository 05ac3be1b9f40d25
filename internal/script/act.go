package script

import (
	"context"
	"sync/atomic"
)

// Act is something that an engine does for the caller. It ends when the script finishes it and the caller calls End, or with the engine.
type Act struct {
	ID     int64
	Engine *Engine
	Ctx    context.Context // ends with the act
	Data   any             // the caller's own

	cancel context.CancelFunc
	done   chan Result
	waves  chan []Ask
	calls  atomic.Int64 // that are not settled
	left   atomic.Bool  // the script has forgotten it by itself

	asks []Ask // asked for since the last wave; only the engine's goroutine
	busy bool  // a wave is out; by the engine's mutex
}

// Result is how a script finished an act.
type Result struct {
	Value string
	None  bool // the script returned undefined or null
	Err   error
}

// Ask is something that a script asked the caller to do in a wave.
type Ask struct {
	ID   int64
	Kind string
	Args Args
}

// Settlement answers one Ask.
type Settlement struct {
	ID    int64
	Value any
	Err   error
}

// Begin starts an act. The caller must End it. It is refused with ErrFull when the engine takes none, and with ErrLost when it has ended.
func (e *Engine) Begin(ctx context.Context, data any) (*Act, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.fault != nil:
		return nil, ErrLost
	case e.full():
		return nil, ErrFull
	}
	return e.admit(ctx, data), nil
}

// Inside starts an act that belongs to another, such as a step of a run: the engine takes it though it is full.
func (a *Act) Inside(ctx context.Context, data any) (*Act, error) {
	e := a.Engine
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.fault != nil {
		return nil, ErrLost
	}
	return e.admit(ctx, data), nil
}

func (e *Engine) admit(ctx context.Context, data any) *Act {
	a := &Act{ID: ids.Add(1), Engine: e, Data: data, done: make(chan Result, 1), waves: make(chan []Ask, 1)}
	a.Ctx, a.cancel = context.WithCancel(ctx)
	e.acts[a.ID] = a
	return a
}

// Act finds one that has not ended; nil when there is none.
func (e *Engine) Act(id int64) *Act {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.acts[id]
}

func (e *Engine) contextOf(act int64) context.Context {
	if a := e.Act(act); a != nil {
		return a.Ctx
	}
	return e.ctx
}

// Call calls an entrance for the act, with the act's id before the arguments. An act that has ended calls nothing.
func (a *Act) Call(entrance string, args ...any) {
	a.Engine.post(turn{entrance: entrance, act: a.ID, calls: [][]any{append([]any{a.ID}, args...)}})
}

// Abort aborts the act's signal in the script, with an AbortError when there is no cause.
func (a *Act) Abort(cause error) {
	if cause == nil {
		cause = context.Canceled
	}
	a.Call("abort", tell(cause))
}

// Done tells how the script finished the act.
func (a *Act) Done() <-chan Result { return a.done }

// Waves tells what the script asked for, turn by turn. The next wave comes after Settle.
func (a *Act) Waves() <-chan []Ask { return a.waves }

// End gives the act up: its context ends, bodies that Go held for it are dropped, and the script forgets what it waited for, before the
// engine's next turn at the latest. To end an act twice does nothing.
func (a *Act) End() {
	e := a.Engine
	e.mu.Lock()
	_, live := e.acts[a.ID]
	delete(e.acts, a.ID)
	var dropped []Source
	for id, h := range e.bodies {
		if live && h.act == a.ID {
			dropped = append(dropped, h.source)
			delete(e.bodies, id)
		}
	}
	empty := live && e.draining != nil && len(e.acts) == 0
	// Others may wait for what it asked for.
	due := live && !a.left.Load() && (e.forgets(a.ID) || a.calls.Load() > 0)
	e.mu.Unlock()
	a.cancel() // not before: what ends by it would still be told to the script
	for _, s := range dropped {
		s.Drop()
	}
	switch {
	case empty:
		e.lose(ErrMemory, 0)
	case due:
		e.rouse()
	}
}

// mostLeaving is how many acts may have ended before an engine that has nothing else to do is woken to forget them.
const mostLeaving = 64

// forgets puts into the inbox that an act has ended, behind what came before: its signal may still have to be heard. That wakes nobody, and
// those that end together are forgotten together. It reports whether they are many. The mutex is held.
func (e *Engine) forgets(act int64) bool {
	if e.fault != nil {
		return false
	}
	if n := len(e.inbox); n == 0 || e.inbox[n-1].entrance != "forget" {
		e.inbox = append(e.inbox, turn{entrance: "forget"})
	}
	last := &e.inbox[len(e.inbox)-1]
	last.calls = append(last.calls, []any{act})
	return len(last.calls) >= mostLeaving
}

// finish tells a result, the first one only.
func (a *Act) finish(r Result) {
	select {
	case a.done <- r:
	default:
	}
}

// Settle answers a wave: its promises settle in this order, in one turn. What the script asks for then is the next wave.
func (a *Act) Settle(answers []Settlement) {
	calls := make([][]any, len(answers))
	for i, s := range answers {
		calls[i] = settlement(a.ID, s.ID, s.Value, s.Err)
	}
	a.Engine.mu.Lock()
	a.busy = false
	a.Engine.mu.Unlock()
	a.Engine.post(turn{entrance: "settle", act: a.ID, calls: calls})
}

// settle answers one call.
func (e *Engine) settle(act, id int64, value any, err error) {
	if a := e.Act(act); a != nil {
		a.calls.Add(-1)
	}
	e.post(turn{entrance: "settle", act: act, calls: [][]any{settlement(act, id, value, err)}})
}

func settlement(act, id int64, value any, err error) []any {
	if err != nil {
		return []any{act, id, false, tell(err)}
	}
	return []any{act, id, true, value}
}

// ask takes what a script asks for in its next wave.
func (e *Engine) ask(a *Act, ask Ask) {
	if len(a.asks) == 0 {
		e.askers = append(e.askers, a)
	}
	a.asks = append(a.asks, ask)
}

// handOn gives the waves of this turn to those who do them. An act whose wave is out keeps its next one until that is settled.
func (e *Engine) handOn() {
	if len(e.askers) == 0 {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	left := e.askers[:0]
	for _, a := range e.askers {
		switch {
		case e.acts[a.ID] != a: // nobody does it any more
		case a.busy:
			left = append(left, a)
		default:
			a.busy = true
			a.waves <- a.asks // there is room: what was settled was taken
			a.asks = nil
		}
	}
	clear(e.askers[len(left):])
	e.askers = left
}
