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
	"svc.dev/svc/model"
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
	rt    *Runtime
	job   *job
	log   *writer[conversation.Record]
	state *conversation.State
	form  *agentForm

	unreadable error // why the log could not be folded; the submission at hand ends with it

	mu     sync.Mutex
	mine   map[string]bool // tool calls that were made under this lease
	cancel context.CancelCauseFunc
	lost   error
}

// thread is one conversation being worked on: the instance's own, or a sub-agent's.
type thread struct {
	w          *agentWork
	agent      *Agent
	t          *conversation.Thread
	session    string // empty: the instance's own
	submission Submission
	input      input
	deadline   int64
	depth      int
}

// workAgent settles what the stream's queue holds.
func (j *job) workAgent() {
	w, err := j.newAgentWork()
	if err != nil {
		j.cannotBegin(err)
		return
	}
	var left error
	returned := j.attend(j.ctx, func(err error) { w.end(err) }, w.log, func() <-chan struct{} {
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
		w.log.flush()
		j.giveBack(Release{Reason: releasedStop})
	default:
		j.interrupted(left)
	}
}

// newAgentWork takes the state that this node kept of the log, or folds it. Of a log that cannot be read, ever, it begins a
// new one.
func (j *job) newAgentWork() (*agentWork, error) {
	rt, l := j.crew.rt, j.lease
	w := &agentWork{rt: rt, job: j, mine: map[string]bool{}}
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
	w.state, w.form = state, &agentForm{tail: tail}
	w.log = newWriter[conversation.Record](j, w.form)
	w.log.last = w.log.last.Add(min(firstRest, rt.config.Gather) - rt.config.Gather)
	w.log.lost = w.end
	w.log.mark = func() { w.end(errAborted) }
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
	w.mu.Lock()
	defer w.mu.Unlock()
	if !errors.Is(cause, errAborted) && w.lost == nil {
		w.lost = cause
	}
	if w.cancel != nil {
		w.cancel(cause)
	}
}

func (w *agentWork) now() time.Time { return w.rt.now() }

func (w *agentWork) made(call string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mine[call] = true
}

func (w *agentWork) isMine(call string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mine[call]
}

func (w *agentWork) thread(id string) *conversation.Thread {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state.Thread(id)
}

// child is the conversation that a call began. Calls run side by side, so the thread is not asked directly.
func (w *agentWork) child(t *conversation.Thread, call string) (string, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return t.Child(call)
}

// fold makes records part of the state.
func (w *agentWork) fold(records []conversation.Record) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state.Apply(records)
}

// write folds records into the state and gathers them for the log.
func (w *agentWork) write(records ...conversation.Record) error {
	if err := w.fold(records); err != nil {
		return err
	}
	return w.log.add(records...)
}

// commit makes what was written durable.
func (w *agentWork) commit() error { return w.log.commit(Commit{}) }

// commitWith writes records and makes them durable with what the Commit says.
func (w *agentWork) commitWith(c Commit, records ...conversation.Record) error {
	if err := w.fold(records); err != nil {
		return err
	}
	return w.log.commit(c, records...)
}

// rest waits, without holding a slot unless others may be at work in it.
func (th *thread) rest(ctx context.Context, d time.Duration) (err error) {
	wait := func() {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
			err = context.Cause(ctx)
		case <-th.w.rt.stopping:
			err = errDraining
		}
	}
	if th.session != "" {
		wait()
	} else {
		th.w.job.rest(wait)
	}
	return err
}

// drain settles submissions until the queue is empty, the node stops, or the stream is lost.
func (w *agentWork) drain() (err error) {
	defer w.rt.survive("settle", &err)
	attempts := w.job.lease.Attempts // of the first: those behind it have not begun
	for next := &w.job.lease.Submission; next != nil; next = w.log.next {
		if w.job.crew.stopping() {
			return errDraining
		}
		w.log.next = nil
		if err := w.settle(*next, attempts); err != nil {
			return err
		}
		attempts = 0
	}
	return nil
}

// settle brings one submission to its end. The error is why it did not come to one here.
func (w *agentWork) settle(b Submission, attempts int) error {
	if w.job.afford(needed(b.Bytes, stateTimes*w.state.Bytes())) != nil {
		return &parked{w.now().Add(roomPause), ReasonMemory}
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
		return th.settled(nil, conversation.Settlement{Outcome: string(OutcomeCompleted)})
	case errors.Is(err, errAborted):
		return th.aborted()
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
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lost
}

// newThread is the instance's conversation with its agent. A thread for which there is none can only be settled.
func (w *agentWork) newThread(b Submission) (*thread, error) {
	l := w.job.lease.Stream
	root := w.state.Root()
	th := &thread{w: w, t: root, submission: b}
	if err := json.Unmarshal(b.Input, &th.input); err != nil {
		return th, fmt.Errorf("read input: %w", err)
	}
	version, deadline := root.Terms(b.ID)
	agent, err := w.rt.agent(w.job.ctx, l.Scope, l.Name, version)
	if err != nil && asFault(err) == nil {
		err = notAnswered("find agent", err)
	}
	if err != nil {
		return th, err
	}
	if agent == nil {
		return th, fault.New(fault.AgentNotFound, fmt.Sprintf("No agent named %q.", l.Name), "Check the name.")
	}
	if deadline == 0 {
		deadline = millis(w.now().Add(agent.timeout()))
	}
	th.agent, th.deadline = agent, deadline
	return th, nil
}

// begin gives the submission a context that ends with its time, with an abort, or with the job.
func (w *agentWork) begin(th *thread) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(w.job.ctx)
	late := time.AfterFunc(time.UnixMilli(th.deadline).Sub(w.now()), func() { cancel(errTimeout) })
	w.mu.Lock()
	w.cancel = cancel
	if w.lost != nil {
		cancel(w.lost)
	}
	w.mu.Unlock()
	return ctx, func() {
		late.Stop()
		cancel(nil)
	}
}

// answerWithin decides, in this order, what a claim begins with: a final reply that is recorded, an abort, a budget that is
// used up, a time that is over; else the answer is worked on.
func (th *thread) answerWithin(ctx context.Context, attempts int) error {
	switch {
	case th.t.Resume(th.submission.ID) == conversation.OwedSettlement:
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

// answer goes on until nothing but the settlement is owed.
func (th *thread) answer(ctx context.Context) (err error) {
	defer th.w.rt.survive("answer", &err)
	for {
		owed := th.t.Resume(th.submission.ID)
		switch {
		case owed == conversation.OwedSettlement: // whatever came since: the final reply was first
			return nil
		case th.w.job.lapsed():
			return errLapsed
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case owed != conversation.OwedResults && th.w.job.crew.stopping():
			// Calls that are recorded are made before we leave: nobody else may make them.
			return errDraining
		}
		switch owed {
		case conversation.OwedInput:
			err = th.w.write(th.heard())
		case conversation.OwedClosing:
			err = th.continued()
		case conversation.OwedResults:
			err = th.callTools(ctx)
		case conversation.OwedReply:
			err = th.turn(ctx)
		default:
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (th *thread) record(t conversation.Type) conversation.Record {
	return conversation.Record{
		Type: t, Conversation: th.t.ID, Session: th.session, At: millis(th.w.now()), Submission: th.submission.ID,
	}
}

// heard is the input as a record.
func (th *thread) heard() conversation.Record {
	if th.session != "" {
		r := th.record(conversation.UserMessage)
		r.Message, r.Text = "entry_"+newUUID(), th.t.Prompt
		return r
	}
	t := conversation.UserMessage
	if th.input.Kind == conversation.KindSignal {
		t = conversation.SignalMessage
	}
	r := th.record(t)
	r.Message = conversation.DirectID(th.submission.ID)
	if th.submission.Kind == Dispatched {
		r.Message = conversation.DispatchID(th.submission.ID)
	}
	r.Text, r.Files, r.SignalType, r.TagName, r.Attributes = th.input.Body, th.input.Files, th.input.Type, th.input.TagName, th.input.Attributes
	r.Deadline, r.Version = th.deadline, th.agent.Version
	return r
}

// advisory is something that the runtime says in the conversation. It belongs to no submission.
func (th *thread) advisory(id, kind, text string, attributes conversation.Attributes) conversation.Record {
	r := th.record(conversation.SignalMessage)
	r.Submission, r.Message, r.SignalType, r.Text, r.Advisory = "", id, kind, text, true
	if len(attributes) > 0 {
		r.Attributes = &attributes
	}
	return r
}

// closed ends a reply that broke off.
func (th *thread) closed() []conversation.Record {
	message, ok := th.t.Broken()
	if !ok {
		return nil
	}
	r := th.record(conversation.AssistantCompleted)
	r.Message, r.Stop, r.Usage = message, conversation.StopAborted, &model.Usage{}
	return []conversation.Record{r}
}

// continued ends a reply that an interruption broke off, and tells the model that it goes on in a new one.
func (th *thread) continued() error {
	message, _ := th.t.Broken()
	closing := th.closed()
	if err := th.w.fold(closing); err != nil {
		return err
	}
	// What the reply had called is answered first: a result stands right behind its call.
	records := th.unanswered(interrupted)
	first, second := conversation.RecoveryIDs(message)
	one := th.advisory(first, "stream_interrupted", "The reply above was interrupted before its end.", nil)
	two := th.advisory(second, "stream_continued", "Go on where the reply above ends. Do not repeat it.", nil)
	one.Hidden, two.Hidden = true, true
	records = append(records, one, two)
	if err := th.w.fold(records); err != nil {
		return err
	}
	// All of it in one batch: a reply whose end is recorded is not known to have been interrupted.
	return th.w.log.add(append(closing, records...)...)
}

// unanswered commits the results of the last reply's calls, those that are recorded and for the others what none says.
func (th *thread) unanswered(none func(call conversation.Call, child string) conversation.Outcome) []conversation.Record {
	calls, caller := th.t.Calls()
	if len(calls) == 0 {
		return nil
	}
	results := th.record(conversation.ResultsCommitted)
	results.Message = caller
	for _, call := range calls {
		outcome, ok := th.t.Outcome(call.ID)
		if !ok {
			child, _ := th.t.Child(call.ID)
			outcome = none(call, child)
		}
		results.Outcomes = append(results.Outcomes, outcome)
	}
	return []conversation.Record{results}
}

// agentForm gives every batch one offset, and finishes the rows of history that it completes.
type agentForm struct{ tail *conversation.Tail }

func (f *agentForm) lay(c *Commit, head stream.Offset, records []conversation.Record) error {
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

func (f *agentForm) shown(last stream.Offset, records []conversation.Record) ([][]byte, error) {
	return conversation.ChunksOf(last, records)
}

func (f *agentForm) weigh(r conversation.Record) int {
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
