package svc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"svc.dev/svc/conversation"
	"svc.dev/svc/fault"
	"svc.dev/svc/stream"
)

// errTimeout is why the context of a submission ends whose time is over.
var errTimeout = errors.New("the submission's time is over")

// errDraining leaves a submission at a recorded point because the node stops.
var errDraining = errors.New("the node drains")

// firstRest is how long the first records of a claim wait for company: a reader does not notice it, and a reply that is there
// at once is one append.
const firstRest = 2 * time.Millisecond

// agentWork is work on one agent's stream: its submissions, one after another.
type agentWork struct {
	*dialogue
	writer *writer[conversation.Record]
	layout *agentLayout

	unreadable error // why the log could not be folded; the submission at hand ends with it

	ending sync.Mutex
	cancel context.CancelCauseFunc
	lost   error
}

// workAgent settles what the stream's queue holds.
func (j *job) workAgent() {
	w, err := j.newAgentWork()
	if err != nil {
		j.cannotBegin(err)
		return
	}
	var left error
	returned := j.attend(j.ctx, func(err error) { w.end(err) }, w.writer, func() <-chan struct{} {
		done := make(chan struct{})
		go func() {
			defer close(done)
			left = w.drain()
		}()
		return done
	})
	if !returned {
		left = context.Cause(j.ctx)
	}
	j.leaveAgent(w, left)
}

// leaveAgent gives the stream back unless it was released with its last settlement, or is another's.
func (j *job) leaveAgent(w *agentWork, left error) {
	if p, ok := errors.AsType[*parked](left); ok {
		j.giveBack(Release{After: p.until.Sub(w.now()), Reason: p.reason})
		return
	}
	switch {
	case left == nil:
		j.settled = true
	case errors.Is(left, ErrFenced):
	case errors.Is(left, errDraining), errors.Is(left, errStopped):
		w.writer.flush()
		j.giveBack(Release{Reason: ReasonStopped})
	default:
		j.interrupted(left)
	}
}

// newAgentWork takes the state that this node kept of the log, or folds it. Of a log that cannot be read, ever, it begins a
// new one.
func (j *job) newAgentWork() (*agentWork, error) {
	rt, l := j.crew.rt, j.lease
	w := &agentWork{}
	state, tail, ok := rt.states.take(j.ctx, l.Stream, l.Tail.Head)
	if !ok {
		var err error
		if state, tail, err = j.foldLog(); j.poisoned(err) {
			w.unreadable = err
			state, tail, err = j.newLog()
		}
		if err != nil {
			return nil, err
		}
	}
	w.layout = &agentLayout{tail: tail}
	w.writer = newWriter[conversation.Record](j, w.layout)
	w.writer.last = w.writer.last.Add(min(firstRest, rt.config.Gather) - rt.config.Gather)
	w.writer.lost = w.end
	w.writer.mark = func() { w.end(errAborted) }
	w.dialogue = newDialogue(j, state, w.writer)
	return w, nil
}

func (j *job) foldLog() (*conversation.State, *conversation.Tail, error) {
	l := j.lease
	state, tail := conversation.NewState(), &conversation.Tail{}
	err := j.crew.rt.eachBatch(j.ctx, l.Stream, Position{Offset: l.Tail.ContextFrom, Part: maxPart}, stream.Tail, func(b Batch) error {
		records, err := conversation.DecodeBatch(b.Data)
		if err != nil {
			return err
		}
		if b.Last > l.Tail.OpenFrom {
			if _, err := tail.Apply(records); err != nil {
				return err
			}
		}
		return state.Apply(records)
	})
	if err == nil && state.Root() == nil {
		err = fmt.Errorf("no conversation: %w: %w", errPoisoned, conversation.ErrCorrupt)
	}
	return state, tail, err
}

// newLog is the state of a conversation of which nothing is known but its id, if even that.
func (j *job) newLog() (*conversation.State, *conversation.Tail, error) {
	rt, s := j.crew.rt, j.lease.Stream
	id, err := rt.In(s.Scope).conversationID(j.ctx, s)
	if errors.Is(err, conversation.ErrCorrupt) {
		id, err = rt.ids.next("conv_", rt.now()), nil
	}
	state := conversation.NewState()
	return state, &conversation.Tail{}, errors.Join(err, state.Apply([]conversation.Record{{Type: conversation.Created, Conversation: id}}))
}

// end ends the context of the submission that is worked on.
func (w *agentWork) end(cause error) {
	w.ending.Lock()
	defer w.ending.Unlock()
	if !errors.Is(cause, errAborted) && w.lost == nil {
		w.lost = cause
	}
	if w.cancel != nil {
		w.cancel(cause)
	}
}

// drain settles submissions until the queue is empty, the node stops, or the stream is lost.
func (w *agentWork) drain() (err error) {
	defer w.rt.survive(w.job.lease.Stream, "settle", &err)
	attempts := w.job.lease.Attempts // of the first: those behind it have not begun
	for next := &w.job.lease.Submission; next != nil; next = w.writer.next {
		if w.job.crew.stopping() {
			return errDraining
		}
		w.writer.next = nil
		if err := w.settle(*next, attempts); err != nil {
			return err
		}
		attempts = 0
	}
	return nil
}

// settle brings one submission to its end. The error is why it did not come to one here.
func (w *agentWork) settle(b Submission, attempts int) error {
	w.base = needed(b.Bytes, 0)
	if err := w.afford(); err != nil {
		return err
	}
	b, err := w.job.withInput(b)
	if err != nil {
		return err
	}
	if cause := w.unreadable; cause != nil {
		w.unreadable = nil
		return w.giveUp(b, cause)
	}
	th, err := w.newThread(b)
	if err == nil {
		ctx, done := w.begin(th)
		defer done()
		err = th.answerWithin(ctx, attempts)
	} else if b.Aborted {
		err = errAborted
	}
	switch cause := w.lostTo(); {
	case cause != nil:
		return cause
	case err == nil:
		return w.settled(th, nil, conversation.Settlement{Outcome: string(OutcomeCompleted)})
	case errors.Is(err, errAborted):
		return w.aborted(th)
	case errors.Is(err, errPoisoned) && attempts+1 >= th.agent.maxAttempts(w.rt):
	case leaves(err):
		return err
	}
	return w.fail(th, err)
}

// leaves reports whether an error says that a submission goes on elsewhere or later, and nothing of what became of it.
func leaves(err error) bool {
	_, waits := errors.AsType[*parked](err)
	return waits || passes(err) || slices.ContainsFunc(left, func(why error) bool { return errors.Is(err, why) })
}

// left are the reasons for which work is left as it is.
var left = []error{errDraining, errStopped, ErrFenced, errLapsed, errFailed, errPoisoned}

func (w *agentWork) lostTo() error {
	w.ending.Lock()
	defer w.ending.Unlock()
	return w.lost
}

// newThread is the instance's conversation with its agent. A thread for which there is none can only be settled.
func (w *agentWork) newThread(b Submission) (*thread, error) {
	l := w.job.lease.Stream
	root := w.state.Root()
	th := &thread{w: w.dialogue, t: root, submission: b}
	if err := json.Unmarshal(b.Input, &th.input); err != nil {
		return th, fmt.Errorf("read input: %w", err)
	}
	th.origin = Call{Submission: b.ID, By: th.input.By}
	version, deadline := root.Terms(b.ID)
	agent, err := w.rt.agent(w.job.ctx, l.Scope, l.Name, version)
	if passes(err) && w.overdue(b, deadline) {
		return th, errTimeout
	}
	if err != nil {
		return th, err
	}
	if agent == nil && version != "" {
		return th, w.awaitDefinition(deadline)
	}
	if agent == nil {
		return th, fault.New(fault.AgentNotFound, fmt.Sprintf("No agent named %q.", l.Name), "Check the name.")
	}
	th.agent = agent
	agent, err = w.rt.madeFor(w.job.ctx, l, agent)
	if passes(err) && w.overdue(b, deadline) {
		return th, errTimeout
	}
	if err != nil {
		return th, err
	}
	if deadline == 0 {
		deadline = millis(w.now().Add(agent.timeout()))
	}
	th.agent, th.gives, th.deadline = agent.giving(agent.Output), agent.Output != nil, deadline
	return th, nil
}

// definitionTime is how long a submission that has not begun waits for an answer to the question which agent it is for.
const definitionTime = 24 * time.Hour

// overdue reports whether the time of a submission is over for which no agent could be asked for.
func (w *agentWork) overdue(b Submission, deadline int64) bool {
	if deadline == 0 {
		deadline = millis(b.AdmittedAt.Add(definitionTime))
	}
	return millis(w.now()) >= deadline
}

// definitionPause is how long work is parked whose agent is not found as it was when the work began.
const definitionPause = time.Second

// awaitDefinition leaves a submission that began with a version until that is found again, or until its time is over.
func (w *agentWork) awaitDefinition(deadline int64) error {
	if millis(w.now()) >= deadline {
		return errTimeout
	}
	return w.undefined()
}

// undefined leaves work whose agent is not found by the version that it began with.
func (d *dialogue) undefined() error { return &parked{d.now().Add(definitionPause), ReasonDefinition} }

// begin gives the submission a context that ends with its time, with an abort, or with the job.
func (w *agentWork) begin(th *thread) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(w.job.ctx)
	late := time.AfterFunc(time.UnixMilli(th.deadline).Sub(w.now()), func() { cancel(errTimeout) })
	w.ending.Lock()
	w.cancel = cancel
	if w.lost != nil {
		cancel(w.lost)
	}
	w.ending.Unlock()
	return ctx, func() {
		late.Stop()
		cancel(nil)
	}
}

// answerWithin decides, in this order, what a claim begins with: an answer that is recorded, an abort, a budget that is
// used up, a time that is over; else the answer is worked on.
func (th *thread) answerWithin(ctx context.Context, attempts int) error {
	switch {
	case th.answered():
		return nil
	case th.submission.Aborted:
		return errAborted
	case attempts >= th.agent.maxAttempts(th.w.rt):
		return th.exhausted(attempts)
	case millis(th.w.now()) >= th.deadline:
		return errTimeout
	}
	return th.answer(ctx)
}

// agentLayout gives every batch one offset, and finishes the rows of history that it completes.
type agentLayout struct{ tail *conversation.Tail }

func (f *agentLayout) lay(c *Commit, head stream.Offset, records []conversation.Record) error {
	if len(records) == 0 {
		return nil
	}
	data, err := conversation.EncodeBatch(records)
	if err != nil {
		return err
	}
	rows, err := f.tail.Apply(records)
	if err != nil {
		return err
	}
	c.Data, c.N = data, 1
	for _, row := range rows {
		c.Messages = append(c.Messages, Message{Kind: row.Kind, ID: row.ID, Data: row.Data})
	}
	if at := head + 1; !f.tail.Open() {
		c.OpenFrom = &at
	}
	for _, r := range records {
		if r.Type == conversation.Compaction && r.Public() {
			c.ContextFrom = &head
		}
	}
	return nil
}

func (f *agentLayout) shown(last stream.Offset, records []conversation.Record) ([][]byte, error) {
	return conversation.ChunksOf(last, records)
}

func (f *agentLayout) weigh(r conversation.Record) int {
	n := 200 + len(r.Text) + len(r.Kept)
	if r.Call != nil {
		n += len(r.Call.Input)
	}
	if r.Outcome != nil {
		n += len(r.Outcome.Output)
	}
	for _, o := range r.Outcomes {
		n += len(o.Output)
	}
	return n
}
