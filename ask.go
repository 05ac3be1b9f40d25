package svc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

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

// Ask prompts an agent from a workflow and waits for its answer, or for the end of ctx. It is a step: once answered, it is
// read and not asked again; interrupted, it goes on with what is recorded, and a tool that was called is not called again. The
// prompts of one run are one conversation, which no other stream shows.
func Ask(ctx context.Context, w *Work, agent *Agent, prompt string) (Answer, error) {
	done, err := w.prompt(ctx, agent, prompt, nil)
	return done.Answer, err
}

// AskFor is Ask for a result of a type: the model must give it in the form of its JSON Schema.
func AskFor[T any](ctx context.Context, w *Work, agent *Agent, prompt string) (T, error) {
	var v T
	done, err := w.prompt(ctx, agent, prompt, schemaOf[T]())
	if err != nil {
		return v, err
	}
	return v, decodeInput(done.Result, &v)
}

// asked is a finished prompt as replay reads it.
type asked struct {
	Answer Answer          `json:"answer"`
	Result json.RawMessage `json:"result,omitempty"`
}

// prompt reads the recorded answer, or gets one.
func (w *Work) prompt(ctx context.Context, agent *Agent, prompt string, form *schema) (done asked, err error) {
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
func (w *Work) operation(nth int, agent *Agent, prompt string, form *schema) (*operation, error) {
	o := &operation{w: w, id: w.rt.ids.next("op_", w.rt.now()), began: millis(w.rt.now())}
	o.model.Provider, o.model.ID, _ = model.Name(agent.Model) // a turn says what is wrong with it
	if err := w.remember(); err != nil {
		return o, err
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
		w: w.dialogue, agent: agent, t: w.dialogue.state.Root(),
		submission: Submission{ID: fmt.Sprintf("ask_%d", nth), Kind: Direct}, input: input{Kind: conversation.KindUser, Body: prompt},
	}
	if form != nil {
		giving := *agent
		giving.Tools = append(slices.Clone(agent.Tools), resultIn(form))
		o.th.agent, o.th.gives = &giving, resultTool
	}
	return o, nil
}

// resultIn takes the model's result.
func resultIn(form *schema) Tool {
	return RawTool(resultTool, "Give your final result.", form.source, func(_ context.Context, in json.RawMessage) (ToolResult, error) {
		if err := form.check(in); err != nil {
			return ToolResult{}, renamed(err, toolInputValidation, "The result does not fit.")
		}
		return ToolResult{Output: in}, nil
	})
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
	for reminders := 0; ; reminders++ {
		err := o.th.answer(ctx)
		switch {
		case err != nil && (w.ctx.Err() != nil || leaves(err)):
			return err
		case err != nil:
			records, _ := o.th.unresolved("The call was ended with its prompt.")
			return errors.Join(err, o.th.w.write(records...))
		case o.th.gives == "" || o.th.gave() != nil:
			return nil
		case reminders == maxReminders:
			return fault.New(operationFailed, "prompt failed: the model did not give its result in the asked form", "")
		}
		if err := o.th.w.write(o.th.asking("Give your result by calling " + resultTool + ".")); err != nil {
			return err
		}
	}
}

func (o *operation) answer() Answer {
	return Answer{Text: o.th.t.Final(), Usage: o.w.usage[o.th.submission.ID], Model: o.model}
}

// memory is how the prompt ended, as replay reads it.
func (o *operation) memory(nth int, err error) workflow.Memory {
	if err == nil {
		value, encodeErr := stream.Encode(asked{Answer: o.answer(), Result: o.th.gave()})
		if encodeErr == nil && len(value) <= maxResult {
			return workflow.Asked(nth, value)
		}
		err = tooLarge()
	}
	return workflow.AskFailed(nth, recordedError(err))
}
