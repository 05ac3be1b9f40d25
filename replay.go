package svc

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/schema"
	"svc.dev/svc/model"
	"svc.dev/svc/stream"
	"svc.dev/svc/workflow"
)

// Work is a run's handle on what is recorded. Its verbs are called by the workflow's function, one at a time; steps side
// by side are declared with Parallel.
type Work struct {
	rt      *Runtime
	job     *job
	started workflow.Run
	writer  *events
	resumed bool // after an interruption: kept steps are told

	ctx    context.Context // ends when the run must not go on here
	cancel context.CancelCauseFunc

	starting sync.Mutex // held while a step is given its place

	mu       sync.Mutex
	state    *workflow.State
	uses     map[string]int // of each step name
	inside   int            // steps under way
	lines    int
	sleeps   int
	values   int
	asks     int
	dialogue *dialogue              // of the run's own conversation; nil until it is needed
	usage    map[string]model.Usage // of each prompt
	left     bool                   // the function left: parked, or the node stops
	until    time.Time
	broken   error   // the definition does not fit
	by       *string // whose run it is, once the store was asked
}

const (
	maxResult  = workflow.MaxRecord - 4096 // leaves room for the record around it
	maxMessage = 64 << 10
)

func tooLarge() *fault.Error {
	return fault.New(fault.RecordTooLarge, "The result is too large to be recorded.", fmt.Sprintf("At most %d bytes.", workflow.MaxRecord)).
		With("limit", workflow.MaxRecord)
}

// RunID is the id of the run.
func (w *Work) RunID() string { return w.started.ID }

// Scope is whose the run is.
func (w *Work) Scope() string { return w.started.Scope }

// StartedBy is what the invocation of the run said of the person or program that asked. The store is asked once.
func (w *Work) StartedBy(ctx context.Context) (string, error) {
	w.mu.Lock()
	by := w.by
	w.mu.Unlock()
	if by != nil {
		return *by, nil
	}
	ctx, cancel := w.rt.within(ctx)
	defer cancel()
	run, err := w.rt.store.GetRun(ctx, w.started.Scope, w.started.ID)
	if err != nil {
		return "", notAnswered("find who started the run", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.by = &run.StartedBy
	return run.StartedBy, nil
}

// leave ends the calling goroutine: the run does not go on here. Its deferred calls run.
func (w *Work) leave() {
	w.mu.Lock()
	w.left = true
	w.mu.Unlock()
	runtime.Goexit()
}

// park ends the function until a time.
func (w *Work) park(until time.Time) {
	w.mu.Lock()
	w.until = until
	w.mu.Unlock()
	w.leave()
}

func (w *Work) parked() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.left && w.broken == nil
}

func (w *Work) parkedUntil() (time.Time, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.until, !w.until.IsZero()
}

func (w *Work) mismatch(gone bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken != nil || gone {
		return w.broken
	}
	return w.state.Unasked()
}

// goOn leaves where the run was cancelled, was lost, or the node stops. The lease is looked at too: a node that was stopped
// must do nothing before it has found out.
func (w *Work) goOn() {
	if w.job.lapsed() || w.ctx.Err() != nil || w.job.crew.stopping() {
		w.leave()
	}
}

// durable commits and leaves when that did not go through.
func (w *Work) durable(err error) { w.recorded(err, true) }

// within reports whether a step is under way: what happens then belongs to its attempt.
func (w *Work) within() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.inside > 0
}

// Log writes a line into the run's events; the rest are pairs of a name and a value, as in log/slog. Outside steps a line
// that an earlier attempt of the run has written is not written again.
func (w *Work) Log(message string, pairs ...any) { w.log(workflow.LevelInfo, message, pairs) }

// Warn is Log at level warn.
func (w *Work) Warn(message string, pairs ...any) { w.log(workflow.LevelWarn, message, pairs) }

// Error is Log at level error.
func (w *Work) Error(message string, pairs ...any) { w.log(workflow.LevelError, message, pairs) }

func (w *Work) log(level, message string, pairs []any) {
	kind := workflow.KindEvent
	w.mu.Lock()
	if w.inside == 0 {
		kind = workflow.KindLine
		w.lines++
		if w.lines <= w.state.Lines() {
			w.mu.Unlock()
			return
		}
	}
	w.mu.Unlock()
	if err := w.writer.event(kind, line(level, message, pairs)); err != nil {
		w.cancel(err)
	}
}

// line is a log event within the limits of a record.
func line(level, message string, pairs []any) workflow.Event {
	message = schema.Cut(message, maxMessage)
	if len(pairs) == 0 {
		return workflow.Logged(level, message, nil)
	}
	attributes, err := stream.Encode(attributesOf(pairs))
	if err != nil || len(attributes) > maxResult-len(message) {
		attributes = json.RawMessage(`{"truncated":true}`)
	}
	return workflow.Logged(level, message, attributes)
}

func attributesOf(pairs []any) map[string]any {
	attributes := make(map[string]any, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		name, ok := pairs[i].(string)
		if !ok || i+1 == len(pairs) {
			attributes["!BADKEY"] = fmt.Sprint(pairs[i])
			i--
			continue
		}
		attributes[name] = attribute(pairs[i+1])
	}
	return attributes
}

// attribute is a value as JSON can hold it: an error by its name and message, what has no JSON by its print.
func attribute(v any) any {
	if err, ok := v.(error); ok {
		e := recordedError(err)
		return map[string]string{"name": e.Name, "message": e.Message}
	}
	if _, err := json.Marshal(v); err != nil {
		return fmt.Sprint(v)
	}
	return v
}

// Sleep lets the run wait without holding a worker, through restarts. Inside a step it is part of the attempt, and ends
// with ctx.
func (w *Work) Sleep(ctx context.Context, d time.Duration) error {
	if w.within() {
		return pause(ctx, d)
	}
	w.mu.Lock()
	nth := w.sleeps
	w.sleeps++
	recorded, known := w.state.Sleep(nth)
	w.mu.Unlock()
	until := time.UnixMilli(recorded)
	if !known {
		until = w.rt.now().Add(d)
		w.durable(w.writer.memory(workflow.Slept(nth, millis(until))))
	}
	w.wait(until)
	return nil
}

// wait holds the function until a time: in memory when it is near, else in the store.
func (w *Work) wait(until time.Time) {
	w.goOn()
	left := until.Sub(w.rt.now())
	if left <= 0 {
		return
	}
	if left > w.rt.config.Park {
		w.park(until)
	}
	var ended error
	w.job.rest(func() { ended = w.rt.rest(w.ctx, left) })
	if errors.Is(ended, errDraining) {
		w.park(until)
	}
	w.goOn()
}

// rest waits. The error is why it was for less: the end of ctx, or that the node stops, errDraining.
func (rt *Runtime) rest(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-rt.stopping:
		return errDraining
	}
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Now is the time, the same again when the run is resumed.
func (w *Work) Now() time.Time {
	now := w.rt.now()
	if w.within() {
		return now
	}
	var kept int64
	w.value(millis(now), &kept)
	return time.UnixMilli(kept).UTC()
}

// Random is a random number, the same again when the run is resumed.
func (w *Work) Random() uint64 {
	var b [8]byte
	if _, err := w.rt.config.Random.Read(b[:]); err != nil {
		panic(fmt.Sprintf("svc: random number: %v", err))
	}
	n := binary.LittleEndian.Uint64(b[:])
	if !w.within() {
		w.value(n, &n)
	}
	return n
}

// value records a fresh value, or reads the recorded one. It is durable before the next step begins.
func (w *Work) value(fresh, kept any) {
	w.mu.Lock()
	nth := w.values
	w.values++
	raw, known := w.state.Value(nth)
	w.mu.Unlock()
	if !known {
		raw, _ = json.Marshal(fresh)
		w.recorded(w.writer.memory(workflow.Valued(nth, raw)), false)
	}
	if err := json.Unmarshal(raw, kept); err != nil {
		w.recorded(fmt.Errorf("%w: value %d: %w", errPoisoned, nth, err), false)
	}
}

// StepError is the recorded error of a step that has failed for good.
type StepError struct {
	Name    string
	Message string
}

func (e *StepError) Error() string { return e.Message }

// keptError is a recorded error as the function gets it, the first time and on every replay alike; nil is none.
func keptError(e *workflow.Error) error {
	if e == nil {
		return nil
	}
	if e.Type != "" {
		return &fault.Error{Type: e.Type, Message: e.Message, Details: e.Details, Meta: e.Meta}
	}
	return &StepError{Name: e.Name, Message: e.Message}
}

// isOurs tells an error that came from the run's own context ending apart from one of the step.
func (w *Work) isOurs(err error) bool { return err != nil && errors.Is(w.ctx.Err(), context.Canceled) }
