package svc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"svc.dev/svc/conversation"
	"svc.dev/svc/internal/schema"
	"svc.dev/svc/model"
	"svc.dev/svc/stream"
	"svc.dev/svc/workflow"
)

// Answer is what a model said to a workflow.
type Answer struct {
	Text  string                 `json:"text"`
	Usage model.Usage            `json:"usage"`
	Model conversation.ModelName `json:"model"`
}

// Ask prompts an agent from a workflow and waits for its answer, or for the end of ctx. It is a step: once answered, it is
// read and not asked again; interrupted, it goes on with what is recorded, and a tool that was called is not called again. The
// prompts of one run are one conversation, which no other stream shows. The text of an agent with an Output is JSON of that form.
func Ask(ctx context.Context, w *Work, agent *Agent, prompt string) (Answer, error) {
	done, err := w.prompt(ctx, agent, prompt, agent.Output)
	if done.Result != nil {
		done.Answer.Text = string(done.Result)
	}
	return done.Answer, err
}

// AskFor is Ask for a result of a type: the model must give it in the form of its JSON Schema.
func AskFor[T any](ctx context.Context, w *Work, agent *Agent, prompt string) (T, error) {
	var v T
	done, err := w.prompt(ctx, agent, prompt, &Output{schema.Of[T]()})
	if err != nil {
		return v, err
	}
	return v, decodeInput(done.Result, &v)
}

// AskRaw is Ask for a result in the form of a JSON Schema, of an object; a nil form asks for what Ask does. The result is the JSON that
// fits, nil for an answer that is text. A schema that is none is an error before anything is asked.
func AskRaw(ctx context.Context, w *Work, agent *Agent, prompt string, form json.RawMessage) (Answer, json.RawMessage, error) {
	output := agent.Output
	if form != nil {
		var err error
		if output, err = ParseOutput(form); err != nil {
			return Answer{}, nil, fmt.Errorf("ask: the form of the result: %w", err)
		}
	}
	done, err := w.prompt(ctx, agent, prompt, output)
	return done.Answer, done.Result, err
}

// asked is a finished prompt as replay reads it.
type asked struct {
	Answer Answer          `json:"answer"`
	Result json.RawMessage `json:"result,omitempty"`
}

// prompt reads the recorded answer, or gets one.
func (w *Work) prompt(ctx context.Context, agent *Agent, prompt string, form *Output) (done asked, err error) {
	if w.within() {
		return done, errors.New("ask: a prompt cannot begin inside a step")
	}
	w.mu.Lock()
	nth := w.asks
	w.asks++
	kept, known := w.state.Asked(nth)
	w.mu.Unlock()
	if known {
		return keptAnswer(kept)
	}
	w.frontier()
	w.goOn()
	o, err := w.operation(nth, agent, prompt, form)
	if err == nil {
		w.durable(o.begin())
		err = o.run(ctx)
	}
	if w.ctx.Err() != nil || leaves(err) {
		w.leaveWith(err)
	}
	memory := o.memory(nth, err)
	w.durable(o.end(memory))
	return keptAnswer(memory)
}

// leaveWith leaves for a reason that is no outcome.
func (w *Work) leaveWith(err error) {
	if p, ok := errors.AsType[*parked](err); ok {
		w.park(p.until)
	}
	if !errors.Is(err, errDraining) {
		w.cancel(err)
	}
	w.leave()
}

// keptAnswer is a recorded answer as the function gets it, the first time too.
func keptAnswer(m workflow.Memory) (done asked, err error) {
	if m.Error != nil {
		return done, keptError(m.Error)
	}
	if err := json.Unmarshal(m.Value, &done); err != nil {
		return done, fmt.Errorf("read answer: %w", err)
	}
	return done, nil
}

// operation is the nth prompt of the run. What an earlier holder of the run recorded of it is gone on with.
func (w *Work) operation(nth int, agent *Agent, prompt string, form *Output) (*operation, error) {
	o := &operation{w: w, id: w.rt.ids.next("op_", w.rt.now()), began: millis(w.rt.now())}
	agent, err := w.rt.madeFor(w.ctx, w.job.lease.Stream, agent)
	if err != nil {
		return o, err
	}
	if form == nil {
		form = agent.Output
	}
	o.model.Provider, o.model.ID, _ = model.Name(agent.Model) // a turn says what is wrong with it
	if err := w.remember(); err != nil {
		return o, err
	}
	var by string
	if len(agent.Tools)+len(agent.Agents) > 0 {
		if by, err = w.StartedBy(w.ctx); err != nil {
			return o, err
		}
	}
	w.dialogue.log = o
	if w.dialogue.state.Root() == nil {
		err := w.dialogue.write(conversation.Record{
			Type: conversation.Created, Conversation: w.conversation(), At: o.began, Kind: conversation.KindRoot,
		})
		if err != nil {
			return o, err
		}
	}
	o.th = &thread{
		w: w.dialogue, agent: agent.giving(form), t: w.dialogue.state.Root(), gives: form != nil,
		submission: Submission{ID: fmt.Sprintf("ask_%d", nth), Kind: Direct}, input: input{Kind: conversation.KindUser, Body: prompt},
	}
	o.th.origin = Call{Submission: o.th.submission.ID, By: by}
	return o, nil
}

// conversation is the id of the run's own conversation: it follows from the run's.
func (w *Work) conversation() string { return "conv_" + strings.TrimPrefix(w.started.ID, "run_") }

// remember folds what is recorded of the run's own conversation.
func (w *Work) remember() error {
	if w.dialogue != nil {
		return nil
	}
	state := conversation.NewState()
	w.usage = map[string]model.Usage{}
	for _, said := range w.state.Said() {
		records, err := conversation.DecodeBatch(said)
		if err == nil {
			err = state.Apply(records)
		}
		if err != nil {
			return fmt.Errorf("read conversation: %w: %w", errPoisoned, err)
		}
		w.spend(records)
	}
	w.dialogue = newDialogue(w.job, state, nil)
	return nil
}

// spend adds up what each prompt has cost.
func (w *Work) spend(records []conversation.Record) {
	for _, r := range records {
		if r.Type == conversation.AssistantCompleted && r.Public() {
			w.usage[r.Submission] = w.usage[r.Submission].Plus(*r.Usage)
		}
	}
}

// run brings the prompt to an answer.
func (o *operation) run(ctx context.Context) error {
	w := o.w
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(w.ctx, func() { cancel(context.Cause(w.ctx)) })()
	// What a tool does to the run belongs to it, as what a step does.
	w.enter(1)
	defer w.enter(-1)
	err := o.th.answer(ctx)
	if err == nil || w.ctx.Err() != nil || leaves(err) {
		return err
	}
	records, _ := o.th.unresolved("The call was ended with its prompt.")
	return errors.Join(err, o.th.w.write(records...))
}

func (o *operation) answer() Answer {
	return Answer{Text: o.th.t.Final(), Usage: o.w.usage[o.th.submission.ID], Model: o.model}
}

// memory is how the prompt ended, as replay reads it.
func (o *operation) memory(nth int, err error) workflow.Memory {
	if err == nil {
		value, encodeErr := stream.Encode(asked{Answer: o.answer(), Result: o.th.result()})
		if encodeErr == nil && len(value) <= maxResult {
			return workflow.Asked(nth, value)
		}
		err = tooLarge()
	}
	return workflow.AskFailed(nth, recordedError(err))
}

// imageOmitted stands in events where a picture's bytes would.
const imageOmitted = "[image data omitted from event]"

// operation is one prompt of a workflow on its way. It keeps the records of the run's dialogue as memories of the run, and
// tells them as events.
type operation struct {
	w     *Work
	th    *thread
	id    string
	began int64
	model conversation.ModelName

	mu      sync.Mutex
	turn    string // the one that is open, empty if none
	turned  int64  // when it began
	replies bool   // a reply is being told
	thought strings.Builder
	reply   json.RawMessage   // of the turn
	told    []json.RawMessage // all messages
}

// add tells and keeps records.
func (o *operation) add(records ...conversation.Record) error {
	return o.record(records, o.w.writer.gather)
}

// commit tells and keeps records, and makes all that was told durable.
func (o *operation) commit(c Commit, records ...conversation.Record) error {
	return o.record(records, func(all []workflow.Record) error { return o.w.writer.commit(c, all...) })
}

func (o *operation) record(records []conversation.Record, put func([]workflow.Record) error) error {
	if len(records) == 0 {
		return put(nil)
	}
	said, err := conversation.EncodeBatch(records)
	if err != nil {
		return fmt.Errorf("%w: %w", errPoisoned, err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.w.spend(records)
	var events []workflow.Event
	for _, r := range records {
		if r.Public() {
			events = append(events, o.tell(r)...)
		}
	}
	return o.w.writer.all(workflow.KindEvent, events, []workflow.Memory{workflow.Said(said)}, put)
}

// event is an event of the operation, within its turn if one is open.
func (o *operation) event(kind string, body any) workflow.Event {
	return workflow.Event{Type: kind, Body: body, Within: &workflow.Within{
		Conversation: o.w.conversation(), Session: "default", Operation: o.id, Turn: o.turn, Harness: "default",
	}}
}

// write writes events of the operation itself.
func (o *operation) write(memories []workflow.Memory, events ...workflow.Event) error {
	return o.w.writer.all(workflow.KindEvent, events, memories, o.w.writer.gather)
}

func (o *operation) begin() error {
	return o.write(nil, o.event("operation_start", map[string]string{"operationKind": "prompt"}), o.event("agent_start", struct{}{}))
}

// end tells how the operation ended, with the memory of it.
func (o *operation) end(m workflow.Memory) error {
	o.turn = ""
	body := map[string]any{"operationKind": "prompt", "durationMs": millis(o.w.rt.now()) - o.began, "isError": m.Error != nil}
	var events []workflow.Event
	if m.Error != nil {
		body["error"] = map[string]string{"name": m.Error.Name, "message": m.Error.Message}
	} else {
		answer := o.answer()
		body["result"], body["usage"] = answer, answer.Usage
		events = append(events, o.event("agent_end", map[string]any{"messages": o.told}))
	}
	return o.write([]workflow.Memory{m}, append(events, o.event("operation", body), o.event("idle", struct{}{}))...)
}

// tell is what readers are told of a record.
func (o *operation) tell(r conversation.Record) []workflow.Event {
	switch r.Type {
	case conversation.UserMessage:
		shown := encoded(map[string]any{"role": "user", "content": shownParts([]model.Part{model.Text(r.Text)}), "timestamp": r.At})
		return append(o.openTurn(), o.whole(shown)...)
	case conversation.AssistantStarted:
		o.replies = true
		return append(o.openTurn(), o.event("message_start", map[string]any{"message": o.said(nil, model.Usage{}, conversation.StopEnd)}))
	case conversation.TextDelta:
		return []workflow.Event{o.event("text_delta", map[string]string{"text": r.Text})}
	case conversation.ReasoningStarted:
		o.thought.Reset()
		return []workflow.Event{o.event("thinking_start", struct{}{})}
	case conversation.ReasoningDelta:
		o.thought.WriteString(r.Text)
		return []workflow.Event{o.event("thinking_delta", map[string]string{"delta": r.Text})}
	case conversation.ReasoningCompleted:
		return []workflow.Event{o.event("thinking_end", map[string]string{"content": o.thought.String()})}
	case conversation.AssistantCompleted:
		return o.completed(r)
	case conversation.ResultsCommitted:
		return o.results(r.Outcomes, r.At)
	}
	return nil
}

// openTurn begins a turn unless one is open.
func (o *operation) openTurn() []workflow.Event {
	if o.turn != "" {
		return nil
	}
	now := o.w.rt.now()
	o.turn, o.turned, o.reply = o.w.rt.ids.next("turn_", now), millis(now), nil
	return []workflow.Event{o.event("turn_start", map[string]string{"purpose": "agent"})}
}

// whole tells the beginning and the end of a message that is whole at once.
func (o *operation) whole(message json.RawMessage) []workflow.Event {
	o.told = append(o.told, message)
	body := map[string]any{"message": message}
	return []workflow.Event{o.event("message_start", body), o.event("message_end", body)}
}

// completed tells the end of a reply, and of the tools that are called now. Of a reply that an earlier holder of the run began
// nothing is told: its operation has ended.
func (o *operation) completed(r conversation.Record) []workflow.Event {
	if !o.replies {
		return nil
	}
	o.replies = false
	broken := r.Stop == conversation.StopError || r.Stop == conversation.StopAborted
	parts := o.th.t.Last().Parts
	o.reply = o.said(parts, *r.Usage, r.Stop)
	o.told = append(o.told, o.reply)
	events := []workflow.Event{
		o.event("turn", map[string]any{
			"purpose": "agent", "durationMs": millis(o.w.rt.now()) - o.turned, "isError": broken,
			"request": map[string]any{
				"providerId": o.model.Provider, "providerName": o.model.Provider, "requestedModel": o.model.ID, "api": o.model.Provider,
			},
			"response": map[string]any{
				"output": map[string]any{"role": "assistant", "content": shownParts(parts)}, "usage": r.Usage, "finishReason": r.Stop,
			},
		}),
		o.event("message_end", map[string]any{"message": o.reply}),
	}
	calls := 0
	for _, p := range parts {
		if p.Call == nil {
			continue
		}
		if calls++; !broken {
			events = append(events, o.event("tool_start", map[string]string{"toolName": p.Call.Name, "toolCallId": p.Call.ID}))
		}
	}
	if calls == 0 {
		events = append(events, o.endTurn([]json.RawMessage{}))
	}
	return events
}

// results tells what the calls of a reply came to, and the end of its turn.
func (o *operation) results(outcomes []conversation.Outcome, at int64) []workflow.Event {
	events := o.openTurn()
	var tools []workflow.Event
	shown := []json.RawMessage{}
	for _, out := range outcomes {
		content := shownParts(out.Given())
		message := encoded(map[string]any{
			"role": "toolResult", "toolCallId": out.Call, "toolName": out.Name, "content": content, "isError": out.IsError, "timestamp": at,
		})
		shown = append(shown, message)
		events = append(events, o.whole(message)...)
		body := map[string]any{
			"toolName": out.Name, "toolCallId": out.Call, "isError": out.IsError, "durationMs": 0, "result": map[string]any{"content": content},
		}
		if out.DurationMs != nil {
			body["durationMs"] = *out.DurationMs
		}
		tools = append(tools, o.event("tool", body))
	}
	return append(append(events, tools...), o.endTurn(shown))
}

func (o *operation) endTurn(results []json.RawMessage) workflow.Event {
	ended := o.event("turn_messages", map[string]any{"purpose": "agent", "message": o.reply, "toolResults": results})
	o.turn = ""
	return ended
}

// said is a reply as events show it.
func (o *operation) said(parts []model.Part, usage model.Usage, stop conversation.StopReason) json.RawMessage {
	return encoded(map[string]any{
		"role": "assistant", "content": shownParts(parts), "api": o.model.Provider, "provider": o.model.Provider, "model": o.model.ID,
		"usage": usage, "stopReason": stop, "timestamp": o.turned,
	})
}

// shownParts are the parts of a message as events show them: the bytes of images are left out.
func shownParts(parts []model.Part) []map[string]any {
	shown := []map[string]any{}
	for _, p := range parts {
		switch {
		case p.Text != nil:
			shown = append(shown, map[string]any{"type": "text", "text": *p.Text})
		case p.Image != nil:
			shown = append(shown, map[string]any{"type": "image", "mimeType": p.Image.MimeType, "data": imageOmitted})
		case p.Reasoning != nil:
			shown = append(shown, map[string]any{"type": "thinking", "thinking": p.Reasoning.Text})
		case p.Call != nil:
			shown = append(shown, map[string]any{"type": "toolCall", "id": p.Call.ID, "name": p.Call.Name, "arguments": p.Call.Input})
		}
	}
	return shown
}

func encoded(v any) json.RawMessage {
	data, _ := stream.Encode(v) // texts and what the log has held before
	return data
}
