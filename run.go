package svc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/schema"
	"svc.dev/svc/memory"
	"svc.dev/svc/stream"
	"svc.dev/svc/workflow"
)

// releasedSleep is why the lease of a run was released that waits for a time: no interruption, as the next holder is told.
const releasedSleep = "sleep"

// workRun brings a run to its end, or to the point where another goes on.
func (j *job) workRun() {
	rt, l := j.crew.rt, j.lease
	run := workflow.Run{ID: l.Stream.ID, Scope: l.Stream.Scope, Workflow: l.Stream.Name, Status: workflow.Active, StartedAt: l.Submission.AdmittedAt}
	defer func() { rt.waiters.tell(run) }()
	given, err := j.withInput(l.Submission)
	if err != nil {
		j.cannotBegin(err)
		return
	}
	if j.afford(j.room.Size()+memory.Decoded(given.Input)) != nil {
		j.parkForRoom()
		return
	}
	run.Input = given.Input
	w, err := j.newWork(run)
	if err != nil && !j.poisoned(err) {
		j.cannotBegin(err)
		return
	}
	ended, ok := w.run(j, err)
	if !ok {
		j.leave(w)
		return
	}
	ended = rt.shown(ended)
	if err := w.end(ended); err != nil {
		j.leave(w)
		return
	}
	run = ended
}

// errPoisoned says that this program cannot do the work: a log that it cannot read, a panic. That counts as an attempt.
var errPoisoned = errors.New("the work cannot be done")

// poisoned reports whether work cannot be done for a reason of its own, and has used up its attempts.
func (j *job) poisoned(err error) bool {
	return errors.Is(err, errPoisoned) && j.lease.Attempts+1 >= j.crew.rt.config.MaxAttempts
}

// survive makes a panic the error of whoever defers it, who works on a stream.
func (rt *Runtime) survive(s Stream, doing string, err *error) {
	if p := recover(); p != nil {
		rt.logOf(s).Error("panic", "doing", doing, "error", p, "stack", string(debug.Stack()))
		*err = fmt.Errorf("%s: %w: panic: %v", doing, errPoisoned, p)
	}
}

// cannotBegin gives a stream back whose log could not be folded. A store that does not answer is no fault of the work; a log
// that cannot be read is, and counts.
func (j *job) cannotBegin(err error) {
	if errors.Is(err, ErrFenced) || errors.Is(err, ErrNoStream) {
		return
	}
	j.log().Error("resume work", "attempts", j.lease.Attempts, "error", err)
	j.giveBack(Release{After: failurePause, Reason: ReasonInterrupted, Failed: errors.Is(err, errPoisoned)})
}

// newWork folds what the run has done before. What cannot be read leaves work that can only be ended.
func (j *job) newWork(run workflow.Run) (*Work, error) {
	rt, l := j.crew.rt, j.lease
	w := &Work{rt: rt, job: j, started: run, state: workflow.NewState(), uses: map[string]int{}}
	w.ctx, w.cancel = context.WithCancelCause(j.ctx)
	w.writer = newEvents(j)
	w.writer.lost = func(err error) { w.cancel(err) }
	w.writer.mark = func() { w.cancel(errAborted) }
	if l.Tail.Head < 0 {
		return w, w.writer.event(workflow.KindEvent, workflow.Started(run))
	}
	if err := rt.eachBatch(j.ctx, l.Stream, Position{Offset: stream.Start}, stream.Tail, func(b Batch) error {
		return w.state.Apply(b.Data)
	}); err != nil {
		return w, err
	}
	if l.Reason == releasedSleep && !l.Interrupted {
		return w, nil
	}
	w.resumed = true
	return w, w.writer.event(workflow.KindEvent, workflow.Resumed(run))
}

// run calls the function unless there is a reason not to, and says how the run ended; ok is false if it did not.
func (w *Work) run(j *job, unreadable error) (ended workflow.Run, ok bool) {
	switch l := j.lease; {
	case l.Submission.Aborted:
		return w.failed(cancelled()), true
	case unreadable != nil:
		j.log().Error("run given up", "error", unreadable)
		return w.failed(fault.Unexpected(unreadable)), true
	case l.Attempts >= w.rt.config.MaxAttempts:
		return w.failed(fault.New(fault.RunInterrupted, fmt.Sprintf("The run was interrupted %d times.", l.Attempts), "")), true
	}
	out := &outcome{gone: true}
	if !j.attend(w.ctx, w.cancel, w.writer, func() <-chan struct{} { return w.call(out) }) {
		// The function goes on without us; what it still does finds the writer lost.
		j.log().Warn("function did not stop")
		return w.judge(outcome{gone: true})
	}
	return w.judge(*out)
}

// outcome is how the function's goroutine ended.
type outcome struct {
	result []byte
	err    error
	gone   bool // it did not return: it left at a step, or was left behind
}

// call runs the function in a goroutine of its own, so that it can be ended at a step without its consent. The outcome
// stands when the channel is closed.
func (w *Work) call(out *outcome) <-chan struct{} {
	returned := make(chan struct{})
	wf := w.rt.workflows[w.started.Workflow]
	go func() {
		defer close(returned)
		defer func() {
			if p := recover(); p != nil {
				w.job.log().Error("workflow panicked", "error", p, "stack", string(debug.Stack()))
				*out = outcome{err: fmt.Errorf("panic: %v", p)}
			}
		}()
		result, err := wf.call(w.ctx, w, w.started.Input)
		*out = outcome{result: result, err: err}
	}()
	return returned
}

// judge says how the run ended, if it did.
func (w *Work) judge(out outcome) (ended workflow.Run, ok bool) {
	if passes(out.err) {
		w.cancel(out.err)
	}
	if w.parked() || w.ctx.Err() != nil {
		_ = w.writer.commit(Commit{}) // what was told stays told; a failure, or a mark found, is the cause below
	}
	cause := context.Cause(w.ctx)
	switch {
	case errors.Is(cause, errAborted):
		return w.failed(cancelled()), true
	case w.job.poisoned(cause):
		w.job.log().Error("run given up", "error", cause)
		return w.failed(fault.Unexpected(cause)), true
	case cause != nil || w.parked():
		return ended, false
	}
	if mismatch := w.mismatch(out.gone); mismatch != nil {
		return w.failed(fault.New(fault.RunDefinitionChanged, mismatch.Error(), "")), true
	}
	if out.gone {
		// The author's own runtime.Goexit: the function has ended and has nothing to say.
		out.err = errors.New("the workflow ended without a result")
	}
	if out.err != nil {
		return w.failed(out.err), true
	}
	run := w.ended(workflow.Completed)
	run.Result = out.result
	return run, true
}

func cancelled() error { return fault.New(fault.RunCancelled, "The run was cancelled.", "") }

func (w *Work) failed(err error) workflow.Run {
	run := w.ended(workflow.Errored)
	run.Error = recordedError(err)
	return run
}

func (w *Work) ended(status workflow.Status) workflow.Run {
	run := w.started
	run.Status, run.EndedAt = status, w.rt.now()
	return run
}

// redact takes out of data what must not leave the process.
func (rt *Runtime) redact(data []byte) []byte {
	if rt.config.Redact == nil {
		return data
	}
	return rt.config.Redact(data)
}

// shown is a run that has ended, as those outside may see it.
func (rt *Runtime) shown(run workflow.Run) workflow.Run {
	if run.Result != nil {
		run.Result = rt.redact(run.Result)
	}
	data, err := stream.Encode(run.Error)
	if run.Error == nil || err != nil {
		return run // what has no JSON cannot be kept either
	}
	if clean := rt.redact(data); !bytes.Equal(clean, data) {
		run.Error = new(workflow.Error)
		_ = json.Unmarshal(clean, run.Error) // it was made of one
	}
	return run
}

// end writes the last event, the run's row, the settlement and the closing in one append.
func (w *Work) end(run workflow.Run) error {
	outcome := OutcomeCompleted
	switch {
	case run.Status == workflow.Completed:
	case run.Error.Type == fault.RunCancelled:
		outcome = OutcomeAborted
	default:
		outcome = OutcomeFailed
	}
	return w.writer.last(workflow.Ended(run), Commit{Run: &run, Settle: outcome, Close: true, Release: true})
}

// leave gives the stream to whoever works on it next.
func (j *job) leave(w *Work) {
	cause := context.Cause(w.ctx)
	until, parked := w.parkedUntil()
	switch {
	case errors.Is(cause, ErrFenced):
		// It is another's.
	case cause == nil && parked:
		j.giveBack(Release{After: until.Sub(w.rt.now()), Reason: releasedSleep})
	case cause == nil, errors.Is(cause, errStopped):
		j.giveBack(Release{Reason: ReasonStopped})
	default:
		j.interrupted(cause)
	}
}

// interrupted gives a stream back whose work could not go on here. After a lapse too: where leases know no time nobody else
// would take it.
func (j *job) interrupted(cause error) {
	j.log().Error("work interrupted", "error", cause)
	failed := errors.Is(cause, errPoisoned) || errors.Is(cause, errInterrupted)
	j.giveBack(Release{After: failurePause, Reason: ReasonInterrupted, Failed: failed})
}

// recordedError is an error as a run or a step keeps it, within the limits of a record.
func recordedError(err error) *workflow.Error {
	if f := asFault(err); f != nil {
		kept := bounded(*f)
		return &workflow.Error{Name: kept.Name(), Message: kept.Message, Type: kept.Type, Details: kept.Details, Meta: kept.Meta}
	}
	name := "Error"
	if kept, ok := errors.AsType[*StepError](err); ok {
		name = kept.Name
	}
	return &workflow.Error{Name: schema.Cut(name, maxMessage), Message: schema.Cut(err.Error(), maxMessage)}
}

// bounded is a fault that a record can hold: its texts are cut, and facts that are too many or have no JSON are left out.
func bounded(f fault.Error) fault.Error {
	for _, text := range []*string{&f.Type, &f.Message, &f.Details} {
		*text = schema.Cut(*text, maxMessage)
	}
	if data, err := stream.Encode(f.Meta); err != nil || len(data) > maxMeta {
		f.Meta = nil
	}
	return f
}

// EraseRun destroys a run of the scope and all that it recorded, durable before it returns: from then on there is no such
// run. Whoever works on it is stopped. That there is none is a fault.
func (s Scoped) EraseRun(ctx context.Context, runID string) error {
	found, _, err := s.FindRun(ctx, runID)
	if err != nil {
		return err
	}
	return s.rt.erase(ctx, found)
}

// erase drops a stream, and then what this node keeps of it. Other nodes hear of it from the store, as those who follow do.
func (rt *Runtime) erase(ctx context.Context, of Stream) error {
	if err := rt.store.Drop(ctx, of); err != nil {
		return fmt.Errorf("erase: %w", err)
	}
	rt.states.forget(of)
	rt.rings.forget(of)
	return nil
}
