package svc

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"svc.dev/svc/conversation"
	"svc.dev/svc/fault"
	"svc.dev/svc/model"
)

// recorder is where the records of a dialogue go.
type recorder interface {
	// add gathers records.
	add(records ...conversation.Record) error
	// commit makes all that was added durable, these records too, with what the Commit says.
	commit(c Commit, records ...conversation.Record) error
}

// dialogue is the conversations of one stream while they are worked on, those of an agent's instance or of a run: what they
// add up to, and where their records go.
type dialogue struct {
	rt  *Runtime
	job *job
	log recorder

	base      int64               // what the work takes of memory beside the conversations
	affording sync.Mutex          // held while it takes more
	busy      *semaphore.Weighted // held by each turn and each call
	passing   sync.Mutex          // held while a task is handed on

	mu    sync.Mutex
	state *conversation.State
	mine  map[string]bool // tool calls that were made under this lease
}

func newDialogue(j *job, state *conversation.State, log recorder) *dialogue {
	d := &dialogue{rt: j.crew.rt, job: j, log: log, busy: semaphore.NewWeighted(atOnce), state: state, mine: map[string]bool{}}
	if l := j.lease; l.Stream.Kind == KindRun {
		d.base = needed(l.Submission.Bytes, l.Stored)
	}
	return d
}

func (d *dialogue) now() time.Time { return d.rt.now() }

func (d *dialogue) made(call string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mine[call] = true
}

func (d *dialogue) isMine(call string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.mine[call]
}

func (d *dialogue) thread(id string) *conversation.Thread {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.state.Thread(id)
}

// child is the conversation that a call began. Calls run side by side, so the thread is not asked directly.
func (d *dialogue) child(t *conversation.Thread, call string) (string, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return t.Child(call)
}

// passed is how many tasks were handed on for the input that is answered.
func (d *dialogue) passed() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.state.Root().Tasks()
}

// fold makes records part of the state.
func (d *dialogue) fold(records []conversation.Record) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.state.Apply(records)
}

// write folds records into the state and gathers them for the log.
func (d *dialogue) write(records ...conversation.Record) error {
	if err := d.fold(records); err != nil {
		return err
	}
	return d.log.add(records...)
}

// commit makes what was written durable.
func (d *dialogue) commit() error { return d.log.commit(Commit{}) }

// commitWith writes records and makes them durable with what the Commit says.
func (d *dialogue) commitWith(c Commit, records ...conversation.Record) error {
	if err := d.fold(records); err != nil {
		return err
	}
	return d.log.commit(c, records...)
}

// thread is one conversation being worked on: the instance's or the run's own, or a sub-agent's.
type thread struct {
	w          *dialogue
	agent      *Agent
	t          *conversation.Thread
	session    string // empty: the stream's own
	submission Submission
	input      input
	deadline   int64
	depth      int
	gives      bool // the answer is a result in a form that is asked for; else it is the last reply

	origin  Call     // what all calls have in common that the answer leads to
	waiting []string // the agents that wait for this one's answer
}

// result is what the model gave in the form that is asked for, nil if it did not yet.
func (th *thread) result() json.RawMessage {
	if !th.gives {
		return nil
	}
	return th.t.Result()
}

// answered reports whether the answer is recorded: the final reply, or the result in its place.
func (th *thread) answered() bool {
	owed := th.t.Resume(th.submission.ID)
	if th.gives {
		return owed == conversation.OwedReply && th.result() != nil
	}
	return owed == conversation.OwedSettlement
}

// maxMisses is how often a model is told that its result is missing, or does not fit.
const maxMisses = 32

// outputInvalid is the fault of a prompt whose model did not give its result in the form that is asked for.
const outputInvalid = "action_output_validation"

// missed refuses to ask once more for a result that never comes.
func (th *thread) missed() error {
	return fault.New(outputInvalid, "prompt failed: the model did not give its result in the asked form",
		fmt.Sprintf("It was told so %d times.", th.t.Misses()))
}

// remind tells the model that its reply is not the result.
func (th *thread) remind() error {
	if th.t.Misses() >= maxMisses {
		return th.missed()
	}
	r := th.advisory("entry_"+newUUID(), conversation.ResultMissing, "Give your result by calling "+conversation.ResultTool+".", nil)
	r.Hidden = true
	return th.w.write(r)
}

// answer goes on until nothing but the settlement is owed.
func (th *thread) answer(ctx context.Context) (err error) {
	defer th.w.rt.survive(th.w.job.lease.Stream, "answer", &err)
	for {
		owed := th.t.Resume(th.submission.ID)
		switch {
		case th.answered(): // whatever came since: the answer was first
			return nil
		case th.w.job.lapsed():
			return errLapsed
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case owed != conversation.OwedResults && th.w.job.crew.stopping():
			// Calls that are recorded are made before we leave: nobody else may make them.
			return errDraining
		case owed == conversation.OwedReply && th.gives && th.t.Misses() > maxMisses:
			return th.missed()
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
		case conversation.OwedSettlement:
			err = th.remind()
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
		r := th.asking(th.t.Prompt)
		r.Version, r.Label = th.agent.Version, th.agent.Label
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
	r.Deadline, r.Version, r.Label = th.deadline, th.agent.Version, th.agent.Label
	return r
}

// asking is what a user says who is none: a caller, or the runtime in a user's place.
func (th *thread) asking(text string) conversation.Record {
	r := th.record(conversation.UserMessage)
	r.Message, r.Text = "entry_"+newUUID(), text
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

// rest waits, without holding a slot unless others may be at work in it.
func (th *thread) rest(ctx context.Context, d time.Duration) (err error) {
	wait := func() { err = th.w.rt.rest(ctx, d) }
	if th.session != "" {
		wait()
	} else {
		th.w.job.rest(wait)
	}
	return err
}
