package svc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"svc.dev/svc/conversation"
	"svc.dev/svc/fault"
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

// maxReminders is how often a model is told to give its result in the asked form.
const maxReminders = 32

// resultTool is the tool by which a model gives a result in the asked form.
const resultTool = "give_result"

// Ask prompts an agent from a workflow and waits for its answer. It is a step: once answered, it is read and not asked again;
// interrupted, it is asked anew. The prompts of one run are one conversation, which no other stream shows.
func Ask(ctx context.Context, w *Work, agent *Agent, prompt string) (Answer, error) {
	answer, _, err := w.prompt(agent, prompt, nil)
	return answer, err
}

// AskFor is Ask for a result of a type: the model must give it in the form of its JSON Schema.
func AskFor[T any](ctx context.Context, w *Work, agent *Agent, prompt string) (T, error) {
	var v T
	_, raw, err := w.prompt(agent, prompt, schemaOf[T]())
	if err != nil {
		return v, err
	}
	return v, decodeInput(raw, &v)
}

// asked is a finished prompt as replay reads it.
type asked struct {
	Answer   Answer          `json:"answer"`
	Result   json.RawMessage `json:"result,omitempty"`
	Messages []spoken        `json:"messages"` // what it added to the conversation
}

// spoken is a message of the workflow's own conversation, as it is kept.
type spoken struct {
	Role  model.Role   `json:"role"`
	Parts []model.Part `json:"parts"`
}

// prompt reads the recorded answer, or gets one.
func (w *Work) prompt(agent *Agent, prompt string, form *schema) (Answer, json.RawMessage, error) {
	if w.within() {
		return Answer{}, nil, errors.New("ask: a prompt cannot begin inside a step")
	}
	w.mu.Lock()
	nth := w.asks
	w.asks++
	kept, known := w.state.Asked(nth)
	w.mu.Unlock()
	if known {
		return w.keptAnswer(kept)
	}
	w.goOn()
	o := &operation{w: w, agent: agent, form: form, id: w.rt.ids.next("op_", w.rt.now()), began: millis(w.rt.now())}
	done, err := o.run(prompt)
	if w.ctx.Err() != nil {
		w.leave()
	}
	memory := workflow.Memory{}
	if err != nil {
		memory = workflow.AskFailed(nth, recordedError(err))
	} else {
		value, encodeErr := stream.Encode(done)
		if encodeErr != nil || len(value) > maxResult {
			err = tooLarge()
			memory = workflow.AskFailed(nth, recordedError(err))
		} else {
			memory = workflow.Asked(nth, value)
		}
	}
	w.durable(o.end(done, err, memory))
	if err != nil {
		return Answer{}, nil, keptError(recordedError(err))
	}
	w.messages = append(w.messages, done.Messages...)
	return done.Answer, done.Result, nil
}

func (w *Work) keptAnswer(m workflow.Memory) (Answer, json.RawMessage, error) {
	if m.Error != nil {
		return Answer{}, nil, keptError(m.Error)
	}
	var done asked
	if err := json.Unmarshal(m.Value, &done); err != nil {
		return Answer{}, nil, fmt.Errorf("read answer: %w", err)
	}
	w.messages = append(w.messages, done.Messages...)
	return done.Answer, done.Result, nil
}

// operation is one prompt of a workflow on its way.
type operation struct {
	w     *Work
	agent *Agent
	form  *schema
	id    string
	turn  string
	began int64

	messages []spoken          // of this operation
	told     []json.RawMessage // the same, as events show them
	name     conversation.ModelName
	usage    model.Usage
	result   json.RawMessage
}

// tell writes an event of the operation.
func (o *operation) tell(kind string, body any, memories ...workflow.Memory) error {
	return o.w.writer.event(workflow.KindEvent, workflow.Event{Type: kind, Body: body, Within: &workflow.Within{
		Conversation: o.w.conversation(), Session: "default", Operation: o.id, Turn: o.turn, Harness: "default",
	}}, memories...)
}

// conversation is the id of the run's own conversation: it follows from the run's.
func (w *Work) conversation() string { return "conv_" + strings.TrimPrefix(w.started.ID, "run_") }

func (o *operation) run(prompt string) (asked, error) {
	err := errors.Join(
		o.tell("operation_start", map[string]string{"operationKind": "prompt"}),
		o.tell("agent_start", struct{}{}),
	)
	if err != nil {
		return asked{}, err
	}
	o.say(spoken{Role: model.RoleUser, Parts: []model.Part{model.Text(prompt)}})
	for reminders := 0; ; {
		final, err := o.answer()
		if err != nil {
			return asked{}, err
		}
		if !final {
			continue
		}
		if o.form == nil || o.result != nil {
			return asked{Answer: Answer{Text: o.text(), Usage: o.usage, Model: o.name}, Result: o.result, Messages: o.messages}, nil
		}
		if reminders++; reminders > maxReminders {
			return asked{}, fault.New("operation_failed", "prompt failed: the model did not give its result in the asked form", "")
		}
		o.say(spoken{Role: model.RoleUser, Parts: []model.Part{model.Text("Give your result by calling " + resultTool + ".")}})
	}
}

func (o *operation) say(m spoken) {
	o.messages = append(o.messages, m)
}

func (o *operation) text() string {
	var text strings.Builder
	last := o.messages[len(o.messages)-1]
	for _, p := range last.Parts {
		if p.Text != nil {
			text.WriteString(*p.Text)
		}
	}
	return text.String()
}

// answer is one turn and the tools that it calls; final says that the model has nothing more to ask for.
func (o *operation) answer() (final bool, err error) {
	o.turn = o.w.rt.ids.next("turn_", o.w.rt.now())
	t := &asking{o: o, began: millis(o.w.rt.now())}
	if err := o.tell("turn_start", map[string]string{"purpose": "agent"}); err != nil {
		return false, err
	}
	if last := o.messages[len(o.messages)-1]; last.Role == model.RoleUser {
		if err := o.both(userEvent(last, millis(o.w.rt.now()))); err != nil {
			return false, err
		}
	}
	if err := t.listen(); err != nil {
		return false, err
	}
	o.say(t.reply)
	calls := t.calls()
	results, err := o.call(calls)
	if err != nil {
		return false, err
	}
	toolResults := []json.RawMessage{}
	for _, r := range results {
		toolResults = append(toolResults, r.shown)
	}
	if err := o.tell("turn_messages", map[string]any{"purpose": "agent", "message": t.shown, "toolResults": toolResults}); err != nil {
		return false, err
	}
	return len(calls) == 0 || o.result != nil, nil
}

// both tells the beginning and the end of a message that is whole at once.
func (o *operation) both(message json.RawMessage) error {
	o.told = append(o.told, message)
	return errors.Join(
		o.tell("message_start", map[string]any{"message": message}),
		o.tell("message_end", map[string]any{"message": message}),
	)
}

// end tells how the operation ended, in the append that records it.
func (o *operation) end(done asked, err error, memory workflow.Memory) error {
	o.turn = ""
	body := map[string]any{"operationKind": "prompt", "durationMs": millis(o.w.rt.now()) - o.began, "isError": err != nil}
	if err != nil {
		e := recordedError(err)
		body["error"] = map[string]string{"name": e.Name, "message": e.Message}
	} else {
		body["result"], body["usage"] = done.Answer, done.Answer.Usage
	}
	if err == nil {
		if err := o.tell("agent_end", map[string]any{"messages": o.told}); err != nil {
			return err
		}
	}
	if err := o.tell("operation", body, memory); err != nil {
		return err
	}
	return o.tell("idle", struct{}{})
}

// resulted is a tool's answer, for the model and for readers.
type resulted struct {
	part  model.Part
	shown json.RawMessage
}

// call runs the calls of a turn side by side and tells their results in order.
func (o *operation) call(calls []model.ToolCall) ([]resulted, error) {
	if len(calls) == 0 {
		return nil, nil
	}
	began := millis(o.w.rt.now())
	for _, c := range calls {
		if err := o.tell("tool_start", map[string]string{"toolName": c.Name, "toolCallId": c.ID}); err != nil {
			return nil, err
		}
	}
	results := make([]ToolResult, len(calls))
	failed := make([]error, len(calls))
	var group sync.WaitGroup
	o.w.enter(1)
	for i, c := range calls {
		group.Go(func() { results[i], failed[i] = o.tool(c) })
	}
	group.Wait()
	o.w.enter(-1)
	if o.w.ctx.Err() != nil {
		return nil, context.Cause(o.w.ctx)
	}
	message := spoken{Role: model.RoleTool}
	var all []resulted
	for i, c := range calls {
		r := resultOf(c, results[i], failed[i], millis(o.w.rt.now()))
		message.Parts = append(message.Parts, r.part)
		all = append(all, r)
		if err := o.both(r.shown); err != nil {
			return nil, err
		}
	}
	o.say(message)
	ms := millis(o.w.rt.now()) - began
	for i, c := range calls {
		body := map[string]any{"toolName": c.Name, "toolCallId": c.ID, "isError": all[i].part.Result.IsError, "durationMs": ms,
			"result": map[string]any{"content": blocksOf(all[i].part.Result.Content)}}
		if err := o.tell("tool", body); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// tool calls one tool; the result tool takes the model's result.
func (o *operation) tool(c model.ToolCall) (ToolResult, error) {
	if o.form != nil && c.Name == resultTool {
		if err := o.form.check(c.Input); err != nil {
			return ToolResult{}, renamed(err, "tool_input_validation", "The result does not fit.")
		}
		o.w.mu.Lock()
		o.result = c.Input
		o.w.mu.Unlock()
		return ToolResult{Content: []ToolContent{{Text: "Taken."}}}, nil
	}
	th := &thread{agent: o.agent, w: &agentWork{rt: o.w.rt}}
	return th.tool(o.w.ctx, conversation.Call{ID: c.ID, Name: c.Name, Input: c.Input})
}
