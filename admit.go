package svc

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/workflow"
)

// Invocation is how a workflow is started.
type Invocation struct {
	Input json.RawMessage // nil: none
	Key   string          // makes the invocation happen once; empty: no such promise
	Body  []byte          // what the key stands for. Defaults to Input
	Wait  bool            // return only when the run has ended
	// Replay only looks for the key: nothing is started, and a key that is new is ErrNotFound. Defaults to false.
	Replay bool
	// StartedBy names the person or program that asks, in the run's record. Defaults to nobody.
	StartedBy string
}

// InvokedRun is the answer to an invocation.
type InvokedRun struct {
	RunID    string
	Replayed bool          // the key was seen before: nothing was started
	Run      *workflow.Run // the ended run, if Wait was asked for
}

// Invoke starts a run, durable before it returns. An input that does not fit ends the run as errored: whoever must refuse
// it instead asks Workflow.CheckInput first.
func (s Scoped) Invoke(ctx context.Context, name string, in Invocation) (InvokedRun, error) {
	if s.rt.workflows[name] == nil {
		return InvokedRun{}, fault.New(fault.WorkflowNotFound, fmt.Sprintf("No workflow named %q.", name), "Check the name.")
	}
	now := s.rt.now()
	id := s.rt.ids.next("run_", now)
	a := Admission{
		Stream: s.run(name, id), Submission: id, Kind: Invoked, Input: in.Input,
		Run: true, Key: in.key(name), Replay: in.Replay, At: now, StartedBy: in.StartedBy,
	}
	var ended <-chan workflow.Run
	if in.Wait {
		var stop func()
		ended, stop = s.rt.waiters.add(id)
		defer stop()
	}
	receipt, err := s.rt.admit(ctx, a, nil)
	if err != nil {
		return InvokedRun{}, err
	}
	answer := InvokedRun{RunID: receipt.Submission, Replayed: receipt.Replayed}
	if !in.Wait {
		return answer, nil
	}
	answer.Run = new(workflow.Run)
	resting(ctx, func() { *answer.Run, err = s.await(ctx, receipt, ended) })
	return answer, err
}

func (in Invocation) key(name string) *Key {
	if in.Key == "" {
		return nil
	}
	body := in.Body
	if body == nil {
		body = in.Input
	}
	hash := sha256.Sum256(body)
	return &Key{Name: "POST /workflows/" + name + "\n" + in.Key, Hash: hash[:]}
}

func (s Scoped) run(workflowName, id string) Stream {
	return Stream{Scope: s.scope, Kind: KindRun, Name: workflowName, ID: id}
}

// admit asks for the first lease along with the admission, so that a stream that was idle is worked on without a claim.
// leased, which may be nil, hears of that lease before work on it begins.
// Once begun it does not end with ctx: a lease that nobody hears of would be lost until it lapses.
func (rt *Runtime) admit(ctx context.Context, a Admission, leased func(Lease)) (Receipt, error) {
	if err := ctx.Err(); err != nil {
		return Receipt{}, err
	}
	ctx, cancel := rt.within(context.WithoutCancel(ctx))
	defer cancel()
	if state := rt.State(); state != Serving {
		return rt.replay(ctx, a, state)
	}
	if a.Replay {
		receipt, err := rt.store.Admit(ctx, a)
		return receipt, admissionFault(err)
	}
	owner, room, reserved := rt.crew.reserve(a.Stream.Scope, min(needed(int64(len(a.Input)), 0), rt.most(a.Stream.Scope)))
	if reserved {
		a.Owner = owner
	}
	asked, at := monotonic(), rt.config.Now()
	receipt, err := rt.store.Admit(ctx, a)
	if receipt.Lease != nil && err == nil {
		rt.clock.Heard(at, rt.config.Now(), receipt.Lease.Now)
		if leased != nil {
			leased(*receipt.Lease)
		}
		rt.crew.start(*receipt.Lease, room, asked)
	} else if reserved {
		rt.crew.unreserve(room)
	}
	return receipt, admissionFault(err)
}

// replay gives the first answer of a key again while nothing new is admitted.
func (rt *Runtime) replay(ctx context.Context, a Admission, state State) (Receipt, error) {
	if a.Key == nil || state == Failed {
		return Receipt{}, fault.NotAvailable(string(state)).Because(ErrUnavailable)
	}
	a.Replay = true
	receipt, err := rt.store.Admit(ctx, a)
	if err != nil && !errors.Is(err, ErrConflict) {
		return Receipt{}, fault.NotAvailable(string(state)).Because(fmt.Errorf("%w: %w", ErrUnavailable, err))
	}
	return receipt, admissionFault(err)
}

func admissionFault(err error) error {
	switch {
	case errors.Is(err, ErrConflict):
		return fault.New(fault.IdempotencyConflict, "The idempotency key was used with another body.", "Use a new key.").Because(err)
	case errors.Is(err, ErrBusy):
		return fault.NotAvailable("busy").Because(err)
	case errors.Is(err, ErrUnavailable):
		return fault.NotAvailable(string(Failed)).Because(err)
	case err != nil:
		return fmt.Errorf("admit: %w", err)
	}
	return nil
}

// await returns the run when it has ended: told by its worker if that is ours, by its stream otherwise.
func (s Scoped) await(ctx context.Context, receipt Receipt, ended <-chan workflow.Run) (workflow.Run, error) {
	if receipt.Lease != nil {
		select {
		case run, ok := <-ended:
			if ok {
				return run, nil
			}
		case <-ctx.Done():
			return workflow.Run{}, ctx.Err()
		}
	}
	return s.awaitEnd(ctx, receipt.Stream.Name, receipt.Submission)
}

// Await returns a run of a workflow when it has ended. A tool or a step that waits takes no worker meanwhile.
func (s Scoped) Await(ctx context.Context, name, runID string) (run workflow.Run, err error) {
	resting(ctx, func() { run, err = s.awaitEnd(ctx, name, runID) })
	return run, err
}

func (s Scoped) awaitEnd(ctx context.Context, name, runID string) (workflow.Run, error) {
	stream := s.run(name, runID)
	wake, stop := s.rt.store.Watch(Topic{Stream: stream, Of: Head})
	defer stop()
	stopping := s.rt.stopping
	if s.rt.config.Succeeded {
		stopping = nil
	}
	for {
		tail, err := s.rt.store.Tail(ctx, stream)
		if err != nil {
			return workflow.Run{}, fmt.Errorf("await run: %w", err)
		}
		if tail.Closed {
			return s.rt.store.GetRun(ctx, s.scope, runID)
		}
		select {
		case <-wake:
		case <-stopping:
			return workflow.Run{}, fault.NotAvailable(string(Draining)).Because(ErrUnavailable)
		case <-ctx.Done():
			return workflow.Run{}, ctx.Err()
		}
	}
}

// CancelRun marks a run for cancelling, durable before it returns, and reports whether it was active.
func (s Scoped) CancelRun(ctx context.Context, runID string) (bool, error) {
	found, _, err := s.rt.store.FindRun(ctx, s.scope, runID)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("cancel run: %w", err)
	}
	return s.rt.store.Abort(ctx, found, runID)
}

// waiters hear of runs that end on this node, before the store is asked.
type waiters struct {
	mu   sync.Mutex
	runs map[string]chan workflow.Run
}

func (w *waiters) add(id string) (<-chan workflow.Run, func()) {
	ended := make(chan workflow.Run, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.runs[id] = ended
	return ended, func() { w.take(id) }
}

func (w *waiters) take(id string) chan workflow.Run {
	w.mu.Lock()
	defer w.mu.Unlock()
	ended := w.runs[id]
	delete(w.runs, id)
	return ended
}

// tell hands a run that ended to whoever waits for it; a run that left this node without an end closes the wait.
func (w *waiters) tell(run workflow.Run) {
	ended := w.take(run.ID)
	if ended == nil {
		return
	}
	if run.Ended() {
		ended <- run
	}
	close(ended)
}

// leave closes the wait for a run that left this node.
func (w *waiters) leave(id string) { w.tell(workflow.Run{ID: id, Status: workflow.Active}) }

// millis is a time as records keep it.
func millis(t time.Time) int64 { return t.UnixMilli() }
