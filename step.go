package svc

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/workflow"
)

// StepOption changes how a step runs: Retry, Keyed, or Durable.
type StepOption interface{ apply(*stepCall) }

// Retry lets a step be tried again after an error, with growing pauses.
type Retry struct {
	Attempts int           // in all. Defaults to 3.
	Delay    time.Duration // before the second attempt. Defaults to 1 second.
	Factor   float64       // by which each pause is longer than the one before. Defaults to 2.
	Max      time.Duration // the longest pause. Defaults to 5 minutes.
}

func (r Retry) apply(c *stepCall) {
	r.Attempts = cmp.Or(max(r.Attempts, 0), 3)
	r.Delay = cmp.Or(max(r.Delay, 0), time.Second)
	if r.Factor < 1 {
		r.Factor = 2
	}
	r.Max = cmp.Or(max(r.Max, 0), 5*time.Minute)
	c.retry = r
}

// pause is how long to wait after so many failures.
func (r Retry) pause(failures int) time.Duration {
	d := float64(r.Delay)
	for range failures - 1 {
		d *= r.Factor
		if d >= float64(r.Max) {
			return r.Max
		}
	}
	return min(time.Duration(d), r.Max)
}

// Keyed tells steps of one name apart where their order is not fixed: in Parallel.
type Keyed string

func (k Keyed) apply(c *stepCall) { c.key = string(k) }

// Durable is for a step that must not be done again once it has ended, such as a payment: its result is on disk before Step
// returns.
var Durable StepOption = durable{}

type durable struct{}

func (durable) apply(c *stepCall) { c.durable = true }

// stepCall is a step as it is asked for.
type stepCall struct {
	name     string
	key      string
	parallel bool
	durable  bool
	retry    Retry
	fn       func(context.Context) (json.RawMessage, error)
}

func newStepCall[T any](name string, fn func(context.Context) (T, error), options []StepOption) stepCall {
	c := stepCall{name: name, retry: Retry{Attempts: 1}}
	for _, o := range options {
		o.apply(&c)
	}
	c.fn = func(ctx context.Context) (json.RawMessage, error) {
		v, err := fn(ctx)
		if err != nil {
			return nil, err
		}
		return encodeOutput(v)
	}
	return c
}

// Step does something once. Its result is recorded before anything else of the run begins, or a moment later, and read instead
// of done again when the run is resumed; what the function sees is the value as it is recorded, the first time too. A step that
// was under way when the process died, or had only just ended, is repeated, so fn should be safe to repeat; Durable narrows that
// to a step under way. A step's identity is its name and how often it was used before.
func Step[T any](ctx context.Context, w *Work, name string, fn func(context.Context) (T, error), options ...StepOption) (T, error) {
	var v T
	if w.within() {
		return v, fmt.Errorf("step %q: a step cannot begin inside a step", name)
	}
	raw, err := w.step(ctx, newStepCall(name, fn, options))
	if err != nil {
		return v, err
	}
	return v, decodeResult(name, raw, &v)
}

func decodeResult(name string, raw json.RawMessage, v any) error {
	if err := json.Unmarshal(raw, v); err != nil {
		return fmt.Errorf("step %q: read its result: %w", name, err)
	}
	return nil
}

// BranchOf is one step of a Parallel, and its result afterwards.
type BranchOf[T any] struct {
	Value T
	Err   error
	call  stepCall
}

// Branch declares a step to be run side by side with others by Parallel.
func Branch[T any](name string, fn func(context.Context) (T, error), options ...StepOption) *BranchOf[T] {
	return &BranchOf[T]{call: newStepCall(name, fn, options)}
}

// Branching is a Branch of any type.
type Branching interface {
	asked() *stepCall
	answer(raw json.RawMessage, err error)
	failure() error
}

func (b *BranchOf[T]) asked() *stepCall { return &b.call }

func (b *BranchOf[T]) failure() error { return b.Err }

func (b *BranchOf[T]) answer(raw json.RawMessage, err error) {
	if b.Err = err; err == nil {
		b.Err = decodeResult(b.call.name, raw, &b.Value)
	}
}

// Parallel runs steps side by side and returns when all have ended, with the error of the first in the list that failed.
// Steps of one name are told apart by Keyed.
func Parallel(ctx context.Context, w *Work, branches ...Branching) error {
	if w.within() {
		return fmt.Errorf("parallel: a step cannot begin inside a step")
	}
	if err := distinct(branches); err != nil {
		return err
	}
	w.goOn()
	var group sync.WaitGroup
	for _, b := range branches {
		b.asked().parallel = true
		group.Go(func() { b.answer(w.step(ctx, *b.asked())) })
	}
	group.Wait()
	if w.leaving() {
		w.leave()
	}
	for _, b := range branches {
		if err := b.failure(); err != nil {
			return err
		}
	}
	return nil
}

func distinct(branches []Branching) error {
	seen := map[string]bool{}
	for _, b := range branches {
		id := b.asked().name + "\x00" + b.asked().key
		if seen[id] {
			return fmt.Errorf("parallel: two steps are named %q; tell them apart by Keyed", b.asked().name)
		}
		seen[id] = true
	}
	return nil
}

func (w *Work) leaving() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.left
}

// step reads the recorded step, or attempts it until it has ended.
func (w *Work) step(ctx context.Context, c stepCall) (json.RawMessage, error) {
	step := w.ask(c)
	if step.Ended {
		w.tellKept(step)
		return step.Result, keptError(step.Error)
	}
	w.frontier()
	for {
		if !w.backOff(step, c.parallel) {
			w.leave()
		}
		w.goOn()
		if w.attempt(ctx, step, c) {
			return step.Result, keptError(step.Error)
		}
	}
}

// ask finds the step by its identity, and leaves when the definition no longer fits.
func (w *Work) ask(c stepCall) *workflow.Step {
	name := c.name
	if c.key != "" {
		name += "\x00" + c.key
	}
	w.mu.Lock()
	id := workflow.StepID{Name: c.name, Key: c.key, Nth: w.uses[name]}
	w.uses[name]++
	step, err := w.state.Ask(id, c.parallel)
	if err != nil {
		w.broken = err
	}
	w.mu.Unlock()
	if err != nil {
		w.leave()
	}
	return step
}

// tellKept says once per step and resume that its recorded result was read.
func (w *Work) tellKept(s *workflow.Step) {
	if !w.resumed {
		return
	}
	event, err := workflow.Stepped(workflow.LevelInfo, workflow.StepEvent{
		Name: s.ID.Name, Seq: s.Seq, Attempt: s.Attempt, State: workflow.StepKept, DurationMs: &s.Millis,
	})
	if err == nil {
		err = w.writer.event(workflow.KindEvent, event)
	}
	if err != nil {
		w.cancel(err)
	}
}

// backOff waits until the next attempt is due.
func (w *Work) backOff(s *workflow.Step, parallel bool) bool {
	if s.Until == 0 {
		return true
	}
	until := time.UnixMilli(s.Until)
	s.Until = 0
	if !parallel {
		w.wait(until)
		return true
	}
	// A parallel step waits in memory: its neighbours may be at work.
	return pause(w.ctx, until.Sub(w.rt.now())) == nil
}

// attempt runs the step once; it reports whether the step has ended. Its intent is on disk before it begins, and with it the
// outcome of the step before.
func (w *Work) attempt(ctx context.Context, s *workflow.Step, c stepCall) (ended bool) {
	w.durable(w.begin(s))
	if w.job.lapsed() {
		w.leave()
	}
	began := w.rt.now()
	result, err := w.perform(context.WithValue(ctx, attemptKey{}, s.Attempt), c)
	if passes(err) {
		// What the step asked did not answer: it did not fail, and is attempted again.
		w.cancel(err)
	}
	if w.isOurs(err) {
		w.leave()
	}
	s.Millis = millis(w.rt.now()) - millis(began)
	switch {
	case err == nil:
		s.Ended, s.Result = true, result
	case s.Failures+1 < c.retry.Attempts && !fault.Is(err, fault.RecordTooLarge):
		s.Failures++
		s.Until = millis(w.rt.now().Add(c.retry.pause(s.Failures)))
		w.durable(w.writer.step(workflow.StepRetries(*s, s.Until)))
		return false
	default:
		s.Failures++
		s.Ended, s.Error = true, recordedError(err)
	}
	w.recorded(w.writer.step(workflow.StepEnded(*s)), c.durable)
	return true
}

// recorded leaves an outcome to whatever is committed next, unless it must be on disk now.
func (w *Work) recorded(err error, now bool) {
	if err == nil && now {
		err = w.writer.commit(Commit{})
	}
	if err != nil {
		w.cancel(err)
		w.leave()
	}
}

// begin tells that an attempt starts. One step at a time: their places are those of the log.
func (w *Work) begin(s *workflow.Step) error {
	w.starting.Lock()
	defer w.starting.Unlock()
	w.mu.Lock()
	w.state.Begin(s)
	w.mu.Unlock()
	s.Attempt++
	return w.writer.step(workflow.StepBegan(*s))
}

type attemptKey struct{}

// Attempt is which attempt of its step a function makes, from 1. Attempts that failed count, and those that an interruption cut off,
// on any node. It is 0 outside of a step.
func Attempt(ctx context.Context) int {
	n, _ := ctx.Value(attemptKey{}).(int)
	return n
}

// perform calls the step's function; a panic is its error.
func (w *Work) perform(ctx context.Context, c stepCall) (result json.RawMessage, err error) {
	w.enter(1)
	defer w.enter(-1)
	defer func() {
		if p := recover(); p != nil {
			w.job.log().Error("step panicked", "step", c.name, "error", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return c.fn(w.job.atWork(ctx))
}

func (w *Work) enter(n int) {
	w.mu.Lock()
	w.inside += n
	w.mu.Unlock()
}
