// Package script is a JavaScript engine with a loop, limits, and the web's interfaces. It knows nothing of agents and workflows:
// the caller gives further preludes, which name the entrances of scripts, and a Host, which answers what the engine does not know.
//
// An engine has one goroutine and an inbox. A turn is one event (a call, a settled promise, a timer) and all that follows from it until
// no job is left. An act is what a turn is done for: a request, a run, a call of a tool. What a turn begins belongs to its act, so a limit
// knows whose fault it is. JavaScript never blocks, and Go never waits inside JavaScript.
//
// Limits protect from mistakes, not from attackers: the engine is C in Go's clothes, outside of Go's memory safety.
package script

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	lib "modernc.org/libquickjs"
	"modernc.org/quickjs"
)

// Limits bound an engine. A zero field is its default.
type Limits struct {
	Turn    time.Duration // of one turn. Defaults to 1 second.
	Start   time.Duration // of one turn while the main script has not ended yet. Defaults to 10 seconds.
	Stuck   time.Duration // of what goes on after a turn's limit, in a built-in that does not listen. Defaults to half a second.
	Drain   time.Duration // of the acts that are left when an engine's memory is full. Defaults to 30 seconds.
	Memory  uintptr       // of all that scripts hold. Defaults to 64 MiB.
	Body    int64         // of a body that a script reads or sends. Defaults to 8 MiB.
	LogLine int           // of what one call of the console writes; the rest is cut. Defaults to 64 KiB.
	Acts    int           // at once. Defaults to 256.
	Timers  int           // of one act at once. Defaults to 10,000.
	Fetches int           // at once, with their bodies. Defaults to 1,000.
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Turn: or(l.Turn, time.Second), Start: or(l.Start, 10*time.Second), Stuck: or(l.Stuck, 500*time.Millisecond), Drain: or(l.Drain, 30*time.Second),
		Memory: or(l.Memory, 64<<20), Body: or(l.Body, 8<<20), LogLine: or(l.LogLine, 64<<10), Acts: or(l.Acts, 256), Timers: or(l.Timers, 10_000), Fetches: or(l.Fetches, 1000),
	}
}

func or[T time.Duration | uintptr | int64 | int](value, otherwise T) T {
	if value > 0 {
		return value
	}
	return otherwise
}

// Config is what an engine is made of. Prelude and Main are required.
type Config struct {
	Prelude Code // by CompilePrelude
	Main    Code // by CompileMain
	// Entrances are the functions that further preludes have put into `entrances`, by name.
	Entrances []string
	// Env is what process.env shows.
	Env    map[string]string
	Limits Limits
	// Host answers what scripts ask of the program around them. Defaults to one that knows nothing.
	Host Host
	// Client is how fetch goes out. The caller guards there which addresses may be reached. Defaults to a client that reaches all.
	Client *http.Client
	// UserAgent is what fetch calls itself where the script does not say. Defaults to "svc".
	UserAgent string
	// Log hears the console, uncaught errors and unhandled rejections, with the context of their act. Defaults to slog.Default().
	Log *slog.Logger
	// Trace makes a stack that of the sources. Frames of the prelude have left it already.
	Trace func(stack string) string
	// Turned hears how long each turn took, on the engine's goroutine.
	Turned func(time.Duration)
	// Heard hears every operation that a script asks for, before it is done, on the engine's goroutine. Defaults to nobody.
	Heard func(Call)
}

func (c Config) withDefaults() Config {
	c.Limits = c.Limits.withDefaults()
	if c.Host == nil {
		c.Host = nobody{}
	}
	if c.Client == nil {
		c.Client = openClient
	}
	if c.UserAgent == "" {
		c.UserAgent = "svc"
	}
	if c.Heard == nil {
		c.Heard = func(Call) {}
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return c
}

var (
	// ErrTurn is that a turn did not come to its end in time. It is an *Overrun where it is known what went on.
	ErrTurn = errors.New("script: the turn took too long")
	// ErrMemory is that a script used more memory than it may.
	ErrMemory = errors.New("script: out of memory")
	// ErrLost is that the engine ended for a reason that is not the act's own.
	ErrLost = errors.New("script: the engine was lost")
	// ErrFull is that the engine takes no further act now.
	ErrFull = errors.New("script: the engine takes no further act")
)

// Overrun is an ErrTurn with the place at which the script was stopped.
type Overrun struct{ Stack string }

func (o *Overrun) Error() string { return ErrTurn.Error() }

// Unwrap makes it an ErrTurn.
func (o *Overrun) Unwrap() error { return ErrTurn }

// Engine runs scripts. Its goroutine alone touches what JavaScript is made of.
type Engine struct {
	config Config
	began  time.Time
	ctx    context.Context // ends when the engine is lost
	cancel context.CancelFunc
	wake   chan struct{}
	ready  chan error    // how the main script ended
	dead   chan struct{} // closed when the engine is lost
	ended  chan struct{} // closed when all that it began has ended too
	work   sync.WaitGroup
	turns  atomic.Int64
	act    atomic.Int64 // that the running turn goes on for
	used   atomic.Int64

	mu       sync.Mutex
	inbox    []turn
	acts     map[int64]*Act
	bodies   map[int64]held
	calls    map[int64]context.CancelFunc // of fetches, by their id
	draining *time.Timer                  // set when the memory is full
	running  *quickjs.VM                  // while it can be interrupted
	fault    error
	culprit  int64

	behind struct {
		sync.Mutex
		all []func() // what is done when the running turn has ended, or the engine is lost
	}

	// Only the engine's goroutine knows these.
	js        *quickjs.VM
	bare      bare
	entrances map[string]lib.TJSValue
	alarms    alarms
	litter    litter
	askers    []*Act
	doubts    doubts
	limit     time.Duration
	stuck     *time.Timer   // ends the engine whose running turn does not listen
	apart     time.Duration // that Go took in the running turn
	refused   bool          // an allocation, in the running turn
	stopped   string        // the stack at which the running turn was stopped
}

// ids tell acts and bodies apart, in all engines.
var ids atomic.Int64

// New starts an engine and waits until its main script has ended, with its top-level awaits. What it throws is a *Thrown.
func New(ctx context.Context, c Config) (*Engine, error) {
	e := &Engine{
		config: c.withDefaults(), began: time.Now(), wake: make(chan struct{}, 1), ready: make(chan error, 1), dead: make(chan struct{}), ended: make(chan struct{}),
		acts: map[int64]*Act{}, bodies: map[int64]held{}, calls: map[int64]context.CancelFunc{}, entrances: map[string]lib.TJSValue{},
	}
	e.ctx, e.cancel = context.WithCancel(context.WithoutCancel(ctx))
	e.limit = e.config.Limits.Start
	go e.run()
	err := e.started(ctx)
	if err != nil {
		e.lose(err, 0)
		e.waitToEnd()
		return nil, err
	}
	return e, nil
}

// waitToEnd waits for an engine that was lost, and not for one that is stuck.
func (e *Engine) waitToEnd() {
	stuck := time.NewTimer(e.config.Limits.Stuck)
	defer stuck.Stop()
	select {
	case <-e.ended:
	case <-stuck.C:
	}
}

func (e *Engine) started(ctx context.Context) error {
	select {
	case err := <-e.ready:
		return err
	case <-e.dead:
		return e.fault
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Dead is closed when the engine is lost: nothing is settled any more.
func (e *Engine) Dead() <-chan struct{} { return e.dead }

// Ended is closed when the engine's goroutine and all that it began have ended, and its memory is free. An engine that is stuck in a
// built-in is dead long before.
func (e *Engine) Ended() <-chan struct{} { return e.ended }

// Fault is why the engine was lost, as an act hears it: ErrTurn or ErrMemory when the act itself was the reason, else ErrLost. It
// waits until the engine is lost.
func (e *Engine) Fault(act int64) error {
	<-e.dead
	switch {
	case errors.Is(e.fault, ErrLost):
		return e.fault
	case e.culprit == act && act != 0:
		return e.fault
	}
	return fmt.Errorf("%w: %w", ErrLost, withoutKind{e.fault})
}

// Where is the stack at which the turn was stopped that ended the engine; empty where it is not known. It waits until the engine is lost.
func (e *Engine) Where() string {
	<-e.dead
	var o *Overrun
	if errors.As(e.fault, &o) {
		return o.Stack
	}
	return ""
}

// withoutKind keeps another act's fault readable, and not the fault of the act that hears of it.
type withoutKind struct{ cause error }

func (w withoutKind) Error() string { return w.cause.Error() }

// Close ends the engine after its running turn. Its acts hear ErrLost. Ended tells when nothing is left of it.
func (e *Engine) Close() { e.lose(ErrLost, 0) }

// Load is how many acts the engine has.
func (e *Engine) Load() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.acts)
}

// Full reports whether the engine would refuse a further act: it has as many as it may, its memory is full, or it is lost.
func (e *Engine) Full() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.full()
}

// Draining reports whether the engine's memory is full: it ends with its last act.
func (e *Engine) Draining() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.draining != nil
}

func (e *Engine) full() bool {
	return e.fault != nil || e.draining != nil || len(e.acts) >= e.config.Limits.Acts
}

// Turns is how many turns the engine has done.
func (e *Engine) Turns() int64 { return e.turns.Load() }

// Memory is how many bytes scripts held after the last turn.
func (e *Engine) Memory() int64 { return e.used.Load() }

// lose ends the engine for all who wait for it, with the first reason that is given.
func (e *Engine) lose(err error, culprit int64) {
	e.mu.Lock()
	if e.fault != nil {
		e.mu.Unlock()
		return
	}
	e.fault, e.culprit = err, culprit
	e.inbox = nil
	if e.draining != nil {
		e.draining.Stop()
	}
	// A turn of an engine that is only closed may come to its end.
	if e.running != nil && err != ErrLost {
		e.running.Interrupt()
	}
	e.mu.Unlock()
	e.afterTurn()
	e.cancel()
	close(e.dead)
}

// drain lets no further act in: the memory is full. The engine is lost when the last act has ended, or has not for too long.
func (e *Engine) drain() {
	e.mu.Lock()
	left := len(e.acts)
	if e.draining != nil || e.fault != nil {
		e.mu.Unlock()
		return
	}
	wait := e.config.Limits.Drain
	if left == 0 {
		wait = 0
	}
	e.draining = time.AfterFunc(wait, func() { e.lose(ErrMemory, 0) })
	e.mu.Unlock()
	e.config.Log.Warn("engine full: it takes no further act", "acts", left, "bytes", e.used.Load())
}

// Go runs work that belongs to the engine: Ended waits for it. The context ends with the act, or with the engine when there is no act.
// It reports false when the engine is lost, which runs nothing.
func (e *Engine) Go(a *Act, work func(ctx context.Context)) bool {
	ctx := e.ctx
	if a != nil {
		ctx = a.Ctx
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.fault != nil {
		return false
	}
	e.work.Go(func() { work(ctx) })
	return true
}
