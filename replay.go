package svc

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
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

	rehearses bool // it goes as far as is recorded, and writes nothing: there is no writer

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
	maxMeta    = maxResult / 2
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

// errInterrupted says that what the function ran in was lost. That counts as an attempt.
var errInterrupted = errors.New("what the work ran in was lost")

// Interrupt gives the run up here because what its function runs in is lost, as an engine that was ended for a neighbour's fault. It
// ends the calling goroutine, as a step does that must not go on: deferred calls run, and the run is taken up again from what it
// recorded. That counts as an interruption: after Config.MaxAttempts of them without a newly recorded step the run ends errored.
func (w *Work) Interrupt(cause error) {
	w.cancel(fmt.Errorf("%w: %w", errInterrupted, cause))
	w.leave()
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
	if w.rehearses {
		return
	}
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
		w.frontier()
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
	w.frontier()
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
	}
	if !known && !w.rehearses {
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

// rehearsalTime is how long a function may take to come to the end of what is recorded.
const rehearsalTime = 10 * time.Second

// Rehearse goes through the work at the head of a stream's queue as far as that is recorded, with the definitions of this
// Runtime, and returns why it could not go on from there; nil: it could. Nothing is written, no step begins, no model and no tool
// is called. What a workflow's function does outside of steps it does here too, as whenever a run is resumed. The lease need not
// be held, and Run need not be called.
func (rt *Runtime) Rehearse(ctx context.Context, l Lease) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	j := &job{lease: l, crew: rt.crew, ctx: ctx, end: cancel, mark: make(chan struct{}, 1)}
	j.asked.Store(math.MaxInt64) // no lease is held, so none lapses
	if l.Submission.Aborted {
		return nil // its end needs no definition
	}
	given, err := j.withInput(l.Submission)
	if err != nil {
		return err
	}
	if l.Stream.Kind == KindRun {
		return j.rehearseRun(given)
	}
	return j.rehearseReply(given)
}

// rehearseRun replays a run up to where it would record something new.
func (j *job) rehearseRun(given Submission) error {
	rt, l := j.crew.rt, j.lease
	wf := rt.workflows[l.Stream.Name]
	if wf == nil {
		return fault.New(fault.WorkflowNotFound, fmt.Sprintf("No workflow named %q.", l.Stream.Name), "")
	}
	if err := wf.CheckInput(j.ctx, given.Input); err != nil {
		return err
	}
	run := workflow.Run{ID: l.Stream.ID, Scope: l.Stream.Scope, Workflow: l.Stream.Name, Status: workflow.Active, StartedAt: given.AdmittedAt, Input: given.Input}
	w := &Work{rt: rt, job: j, started: run, state: workflow.NewState(), uses: map[string]int{}, rehearses: true}
	w.ctx, w.cancel = context.WithCancelCause(j.ctx)
	defer w.cancel(nil)
	err := rt.eachBatch(j.ctx, l.Stream, Position{Offset: stream.Start}, stream.Tail, func(b Batch) error { return w.state.Apply(b.Data) })
	if err != nil {
		return err
	}
	return w.rehearse()
}

// rehearse calls the function, and says why the run could not go on.
func (w *Work) rehearse() error {
	out := &outcome{gone: true}
	late := time.NewTimer(rehearsalTime)
	defer late.Stop()
	select {
	case <-w.call(out):
	case <-late.C:
		return fmt.Errorf("the function did not come to its next step within %s", rehearsalTime)
	case <-w.ctx.Done():
	}
	if cause := context.Cause(w.ctx); cause != nil {
		return cause
	}
	if w.parked() {
		return nil
	}
	if mismatch := w.mismatch(out.gone); mismatch != nil {
		return fault.New(fault.RunDefinitionChanged, mismatch.Error(), "")
	}
	if out.err != nil {
		return fmt.Errorf("the run would end at once: %w", out.err)
	}
	return nil
}

// frontier leaves a rehearsal where it has come to the end of what is recorded.
func (w *Work) frontier() {
	if w.rehearses {
		w.leave()
	}
}

// rehearseReply folds a conversation, and finds the agent of its next submission by the version that this began with.
func (j *job) rehearseReply(given Submission) error {
	rt, l := j.crew.rt, j.lease.Stream
	state, _, err := j.foldLog()
	if err != nil {
		return err
	}
	var in input
	if err := json.Unmarshal(given.Input, &in); err != nil {
		return fmt.Errorf("read input: %w", err)
	}
	version, _ := state.Root().Terms(given.ID)
	agent, err := rt.agent(j.ctx, l.Scope, l.Name, version)
	if err != nil {
		return err
	}
	if agent == nil && version != "" {
		return fault.New(fault.AgentNotFound, fmt.Sprintf("No agent named %q in version %s, with which the work began.", l.Name, version), "")
	}
	if agent == nil {
		return fault.New(fault.AgentNotFound, fmt.Sprintf("No agent named %q.", l.Name), "")
	}
	_, err = rt.madeFor(j.ctx, l, agent)
	return err
}
