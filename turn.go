package svc

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"svc.dev/svc/conversation"
	"svc.dev/svc/fault"
	"svc.dev/svc/memory"
	"svc.dev/svc/model"
)

// maxModelRetries is how often a failed model call is repeated.
const maxModelRetries = 3

// turn asks the model for one reply and records it as it comes. Errors that may pass are waited out.
func (th *thread) turn(ctx context.Context) error {
	if th.w.busy.Acquire(ctx, 1) != nil {
		return context.Cause(ctx)
	}
	defer th.w.busy.Release(1)
	if err := th.prepare(ctx); err != nil {
		return err
	}
	for retries, overflowed := th.t.Retries(), false; ; {
		err := th.reply(ctx)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case model.IsOverflow(err) && !overflowed:
			overflowed = true
			if err := th.compact(ctx); err != nil {
				return err
			}
		case model.Retryable(err) && retries < maxModelRetries:
			retries++
			if err := th.backOff(ctx, th.w.rt.backoff(retries, model.RetryAfter(err))); err != nil {
				return err
			}
		default:
			return modelFault(err)
		}
	}
}

// prepare makes room for what the model is told, and less of it where it is too much.
func (th *thread) prepare(ctx context.Context) error {
	if err := th.w.afford(); err != nil {
		return err
	}
	if err := th.compactIfLong(ctx); err != nil {
		return err
	}
	return th.w.bounded()
}

// parked leaves a submission until a time.
type parked struct {
	until  time.Time
	reason string
}

func (p *parked) Error() string { return "parked: " + p.reason }

// operationFailed is the fault of a prompt that its model did not answer.
const operationFailed = "operation_failed"

// backOff waits before the model is asked again: in memory when it is not for long, else in the store, where the retry is on
// record. A sub-agent waits in memory: its caller's other tools may be at work.
func (th *thread) backOff(ctx context.Context, d time.Duration) error {
	if d <= th.w.rt.config.Park || th.session != "" {
		return th.rest(ctx, d)
	}
	if err := th.w.commitWith(Commit{}, th.record(conversation.Retried)); err != nil {
		return err
	}
	return &parked{th.w.now().Add(d), ReasonBackoff}
}

// backoff doubles with every retry, varies a little, and is no shorter than the provider asked for.
func (rt *Runtime) backoff(retry int, asked time.Duration) time.Duration {
	d := rt.config.ModelRetry << (retry - 1)
	return max(time.Duration(float64(d)*(0.75+rand.Float64()/4)), asked)
}

// modelFault is what a prompt fails with. A fault stays what it is, and so does what is no outcome; of another error only what
// a model said is told.
func modelFault(err error) error {
	if asFault(err) != nil || leaves(err) {
		return err
	}
	message := "the model could not be asked"
	if e, ok := errors.AsType[*model.Error](err); ok {
		message = e.Message
	}
	return fault.New(operationFailed, "prompt failed: "+message, "").Because(err)
}

// reply runs one model call. A reply that broke after something of it was told is ended as errored; one of which nothing was
// told leaves no message.
func (th *thread) reply(ctx context.Context) error {
	provider, request, room, err := th.request(ctx)
	if err != nil {
		return err
	}
	defer room.Release()
	name, _ := th.model() // it was asked for by this name
	r := &recording{th: th, turn: th.w.rt.ids.next("turn_", th.w.now()), at: th.w.now(), model: name}
	for event, err := range provider.Turn(ctx, request) {
		if err != nil {
			return r.broken(ctx, err)
		}
		if err := r.hear(event); err != nil {
			return err
		}
	}
	if !r.finished {
		return r.broken(ctx, &model.Error{Class: model.Network, Message: "the reply ended without its end"})
	}
	return nil
}

// request is all that the model is given, and the memory that its images take.
func (th *thread) request(ctx context.Context) (provider model.Provider, r model.Request, room *memory.Grant, err error) {
	rt := th.w.rt
	name, err := th.model()
	if err != nil {
		return nil, r, nil, err
	}
	if rt.config.Model == nil {
		return nil, r, nil, fault.New(operationFailed, "prompt failed: no model provider is configured", "")
	}
	if provider, err = rt.config.Model(ctx, th.w.job.lease.Stream.Scope, th.agent.Model); err != nil {
		return nil, r, nil, err
	}
	r = model.Request{
		Model: name.ID, System: th.agent.Instructions, Messages: th.t.Messages(), Tools: th.tools(),
		MaxTokens: th.agent.MaxTokens, Reasoning: th.agent.Reasoning, Affinity: th.t.ID,
	}
	room, err = th.fetchImages(ctx, r.Messages)
	return provider, r, room, err
}

func (th *thread) model() (*conversation.ModelName, error) {
	provider, id, err := model.Name(th.agent.Model)
	return &conversation.ModelName{Provider: provider, ID: id}, err
}

// recording is a reply on its way into the log.
type recording struct {
	th    *thread
	turn  string
	at    time.Time
	model *conversation.ModelName

	message  string // empty until something is told
	block    conversation.Type
	calls    map[string]bool // ids
	finished bool

	records [4]conversation.Record // the most that one event becomes
}

// hear records one event.
func (r *recording) hear(e model.Event) error {
	records := r.records[:0]
	if r.message == "" {
		records = append(records, r.start())
	}
	switch e.Type {
	case model.TextDelta:
		records = append(r.within(records, conversation.TextStarted), r.delta(conversation.TextDelta, e.Text))
	case model.ReasoningDelta:
		records = append(r.within(records, conversation.ReasoningStarted), r.delta(conversation.ReasoningDelta, e.Text))
	case model.BlockEnd:
		if e.Signature != "" && r.block == "" {
			records = r.within(records, conversation.ReasoningStarted)
		}
		records = r.endBlock(records, e.Signature)
	case model.Called:
		records = append(r.endBlock(records, ""), r.called(*e.Call))
	case model.Finished:
		records = append(r.endBlock(records, ""), r.completed(conversation.StopReason(e.Finish.Reason), e.Finish.Usage))
		r.finished = true
	}
	return r.th.w.write(records...)
}

func (r *recording) start() conversation.Record {
	r.message = "entry_" + newUUID()
	started := r.record(conversation.AssistantStarted)
	started.At, started.Model = millis(r.at), r.model
	started.Version, started.Label = r.th.agent.Version, r.th.agent.Label
	return started
}

func (r *recording) record(t conversation.Type) conversation.Record {
	c := r.th.record(t)
	c.Message, c.Turn = r.message, r.turn
	return c
}

func (r *recording) delta(t conversation.Type, text string) conversation.Record {
	c := r.record(t)
	c.Text = conversation.Text(text)
	return c
}

// within opens a block of that kind unless one is open.
func (r *recording) within(records []conversation.Record, block conversation.Type) []conversation.Record {
	if r.block == block {
		return records
	}
	records = r.endBlock(records, "")
	r.block = block
	return append(records, r.record(block))
}

// blockEnds is how each kind of block ends.
var blockEnds = map[conversation.Type]conversation.Type{
	conversation.TextStarted: conversation.TextCompleted, conversation.ReasoningStarted: conversation.ReasoningCompleted,
}

func (r *recording) endBlock(records []conversation.Record, signature string) []conversation.Record {
	end, open := blockEnds[r.block]
	if !open {
		return records
	}
	r.block = ""
	ended := r.record(end)
	ended.Signature = signature
	return append(records, ended)
}

func (r *recording) called(call model.ToolCall) conversation.Record {
	input := call.Input
	if len(input) == 0 {
		input = []byte("{}")
	}
	id := r.named(call.ID)
	r.th.w.made(callID(r.message, id))
	called := r.record(conversation.ToolCalled)
	called.Call = &conversation.Call{ID: id, Name: call.Name, Input: input, Signature: call.Signature}
	return called
}

// maxID is how many bytes the id of a call may have.
const maxID = 256

// named is the id by which a call is known: what the model says, unless that is none, or no other than that of a call before it in
// the reply.
func (r *recording) named(id string) string {
	if id == "" || len(id) > maxID || strings.ContainsFunc(id, func(c rune) bool { return c <= ' ' || c > '~' }) {
		id = "call"
	}
	if r.calls == nil {
		r.calls = map[string]bool{"call": true}
	}
	name := id
	for n := len(r.calls); r.calls[name]; n++ {
		name = fmt.Sprintf("%s_%d", id, n)
	}
	r.calls[name] = true
	return name
}

func (r *recording) completed(stop conversation.StopReason, usage model.Usage) conversation.Record {
	completed := r.record(conversation.AssistantCompleted)
	completed.Stop, completed.Usage = stop, &usage
	return completed
}

// broken ends what was told of a reply that failed. When our own context ended it, whoever settles the submission does.
func (r *recording) broken(ctx context.Context, err error) error {
	if ctx.Err() != nil || r.message == "" || r.finished {
		return err
	}
	records := append(r.endBlock(nil, ""), r.completed(conversation.StopError, model.Usage{}))
	if lost := r.th.w.write(records...); lost != nil {
		return lost
	}
	results := r.th.unanswered(func(call conversation.Call, _ string) conversation.Outcome {
		return refusedCall(call, "The call was not made: the reply broke off.")
	})
	if lost := r.th.w.write(results...); lost != nil {
		return lost
	}
	return err
}
