package script

import (
	"errors"
	"fmt"
	"time"

	lib "modernc.org/libquickjs"
	"modernc.org/quickjs"
	"modernc.org/quickjs/intl"
)

// turn is one event: an entrance, and the calls of it that belong together.
type turn struct {
	entrance string
	act      int64
	calls    [][]any
}

// post puts a turn into the inbox. A lost engine takes none, nor does one for an act that has ended: that is forgotten already.
func (e *Engine) post(t turn) {
	e.mu.Lock()
	taken := e.fault == nil && (t.act == 0 || e.acts[t.act] != nil)
	if taken {
		e.inbox = append(e.inbox, t)
	}
	e.mu.Unlock()
	if taken {
		e.rouse()
	}
}

// rouse wakes the engine, if it sleeps.
func (e *Engine) rouse() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// run is the engine's goroutine, from its first turn to its last.
func (e *Engine) run() {
	defer close(e.ended)
	defer e.work.Wait()
	defer e.cancel()
	if err := e.open(); err != nil {
		e.lose(err, 0)
	} else {
		e.loop()
	}
	e.shut()
}

func (e *Engine) loop() {
	for {
		turns, ok := e.next()
		if !ok {
			return
		}
		for _, t := range turns {
			e.turn(t)
			if e.lost() {
				return
			}
		}
	}
}

func (e *Engine) lost() bool {
	select {
	case <-e.dead:
		return true
	default:
		return false
	}
}

// next waits for turns: what the inbox holds, and the timers that are due. It reports false when the engine is lost.
func (e *Engine) next() ([]turn, bool) {
	for {
		e.mu.Lock()
		turns := e.inbox
		e.inbox = nil
		e.mu.Unlock()
		turns = e.alarms.due(turns, time.Now())
		if len(turns) > 0 {
			return turns, !e.lost()
		}
		select {
		case <-e.wake:
		case <-e.alarms.wait(time.Now()):
		case <-e.litter.wait(e.bare.used(), e.turns.Load()):
			e.used.Store(e.litter.collect(e.bare, e.turns.Load()))
		case <-e.dead:
			return nil, false
		}
	}
}

// turn delivers one event and what follows from it, within the limit.
func (e *Engine) turn(t turn) {
	e.turns.Add(1)
	e.act.Store(t.act)
	e.bare.setRunning(t.act)
	e.stopped = ""
	began, limit := time.Now(), e.limit
	e.stuck.Reset(limit + e.config.Limits.Stuck)
	defer e.stuck.Stop()
	err := e.deliver(t, began.Add(limit))
	took := time.Since(began) - e.apart
	e.apart = 0
	// A promise may have taken the exception by which the engine ended the turn, so the clock decides.
	if took >= limit {
		err = e.overrun()
	}
	if err != nil {
		e.lose(err, e.act.Load())
		return
	}
	e.measure()
	if e.config.Turned != nil {
		e.config.Turned(took)
	}
}

// overrun is an ErrTurn, and where. An async function has made a rejection of what stopped it, and the turn's time is over: so the last
// rejection is looked at, and those that wait in the queue.
func (e *Engine) overrun() error {
	reasons := e.bare.queuedReasons()
	if last := e.doubts.last; last != nil {
		reasons = append(reasons, *last)
	}
	until := time.Now().Add(e.config.Limits.Stuck / 4)
	for _, r := range reasons {
		if e.stopped != "" {
			break
		}
		_ = e.call(e.entrances["where"], until, r) // no answer is one
	}
	if e.stopped == "" {
		return ErrTurn
	}
	return &Overrun{e.stopped}
}

// where takes the stack of what stopped a turn.
func (c Call) where() (any, error) {
	if t := c.Engine.Thrown(c.Args.String(0)); t.isStop() {
		c.Engine.stopped = t.Stack
	}
	return nil, nil
}

func (e *Engine) deliver(t turn, until time.Time) error {
	fn, ok := e.entrances[t.entrance]
	if !ok {
		return fmt.Errorf("script: there is no entrance %q", t.entrance)
	}
	for _, args := range t.calls {
		if err := e.call(fn, until, args...); err != nil {
			e.uncaught(t.act, err)
		}
	}
	e.bare.markJobs(0)
	e.jobs(until)
	e.tellDoubts(until)
	e.handOn()
	e.afterTurn()
	return nil
}

// afterTurn does what waited for the end of the turn, also of one that was stopped or comes to none.
func (e *Engine) afterTurn() {
	e.behind.Lock()
	defer e.behind.Unlock()
	for _, work := range e.behind.all {
		work()
	}
	clear(e.behind.all)
	e.behind.all = e.behind.all[:0]
}

// call calls a function of JavaScript, until then.
func (e *Engine) call(fn lib.TJSValue, until time.Time, args ...any) error {
	if !e.arm(until) {
		return ErrTurn
	}
	return e.bare.call(fn, args)
}

// arm lets JavaScript run until then, and reports false when that has passed.
func (e *Engine) arm(until time.Time) bool {
	e.bare.interrupt.until = until.Add(e.apart)
	return !e.bare.interrupt.isOver()
}

// uncaught is an error that no script caught. It is told, and does not end the engine; an act that ran out of memory fails.
func (e *Engine) uncaught(act int64, err error) {
	if e.lost() || errors.Is(err, ErrTurn) {
		return
	}
	thrown := e.fromEngine(err)
	if e.isMemory(thrown) {
		e.overflowed(act)
		return
	}
	if thrown.isStop() {
		e.stopped = thrown.Stack
		return
	}
	e.config.Log.ErrorContext(e.contextOf(act), "uncaught: "+thrown.Error(), "from", "script", "stack", thrown.Stack)
}

// overflowed lets the engine run empty, and then fails the act that ran out of memory: whoever hears of it finds the engine full.
func (e *Engine) overflowed(act int64) {
	e.drain()
	e.afterTurn()
	if a := e.Act(act); a != nil {
		a.finish(Result{Err: ErrMemory})
	}
}

// measure looks at the memory after a turn. QuickJS would collect next at half as much again as it holds now. A full engine never reaches
// that, so the collector is called for before; and one that holds little would look at all of it again for every few requests.
func (e *Engine) measure() {
	limit := uint64(e.config.Limits.Memory)
	if e.bare.used() > limit*7/8 {
		e.bare.collect()
	}
	used := e.bare.used()
	e.used.Store(int64(used))
	e.bare.collectBetween(min(rarely, limit/2), limit*7/8)
	if e.refused || used > limit*7/8 {
		e.refused = false
		e.drain()
	}
}

// open makes the engine and runs the prelude and the main script, which tells when it has ended.
func (e *Engine) open() (err error) {
	if e.js, err = quickjs.NewVM(); err != nil {
		return err
	}
	e.mu.Lock()
	e.running = e.js
	e.mu.Unlock()
	if e.bare, err = bareOf(e.js); err != nil {
		return err
	}
	e.js.SetMemoryLimit(e.config.Limits.Memory)
	e.js.SetGCThreshold(min(rarely, e.config.Limits.Memory/2))
	e.stuck = time.AfterFunc(e.limit, func() { e.lose(ErrTurn, e.act.Load()) })
	e.stuck.Stop()
	e.bare.interrupt = e.bare.interruptForGood()
	e.bare.watchMemory(&e.refused)
	e.doubts.watch(e.bare)
	engines.Store(e.bare.context, e)
	if err := errors.Join(intl.Register(e.js), e.bare.markContinuations(), e.bare.offerNatives()); err != nil {
		return err
	}
	if err := e.enter(); err != nil {
		return fmt.Errorf("prelude: %w", err)
	}
	return e.begin()
}

// enter runs the prelude, whose value is the object of entrances.
func (e *Engine) enter() error {
	// The prelude is ours: it takes the time that it takes.
	object, err := e.js.EvalBytecodeValue(e.config.Prelude)
	if err != nil {
		return e.fromEngine(err)
	}
	defer object.Free()
	for _, name := range append([]string{"begin", "settle", "timer", "forget", "abort", "reject", "where", "become"}, e.config.Entrances...) {
		atom, err := e.js.NewAtom(name)
		if err != nil {
			return err
		}
		fn, err := object.GetPropertyValue(atom)
		if err != nil {
			return err
		}
		if fn.IsUndefined() {
			return fmt.Errorf("there is no entrance %q", name)
		}
		e.entrances[name] = raw(fn)
	}
	return nil
}

// begin gives the main function to the prelude as the first turn.
func (e *Engine) begin() error {
	e.arm(time.Now().Add(e.limit))
	main, err := e.js.EvalBytecodeValue(e.config.Main)
	if err != nil {
		return e.fromEngine(err)
	}
	defer main.Free()
	e.turn(turn{entrance: "begin", calls: [][]any{{raw(main)}}})
	return nil
}

// loaded is how the main script ended. From here on a turn has its ordinary limit.
func (e *Engine) loaded(err error) {
	e.limit = e.config.Limits.Turn
	select {
	case e.ready <- err:
	default:
	}
}

// shut frees all that the engine holds.
func (e *Engine) shut() {
	e.mu.Lock()
	e.running = nil
	bodies, acts := e.bodies, e.acts
	e.bodies, e.acts = nil, nil
	e.mu.Unlock()
	for _, h := range bodies {
		h.source.Drop()
	}
	for _, a := range acts {
		a.cancel()
	}
	e.alarms.stop()
	e.litter.stop()
	if e.js == nil {
		return
	}
	e.unwatch()
	for _, fn := range e.entrances {
		lib.XFreeValue(e.bare.tls, e.bare.context, fn)
	}
	_ = e.js.Close()
}
