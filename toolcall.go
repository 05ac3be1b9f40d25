package svc

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"

	"svc.dev/svc/conversation"
	"svc.dev/svc/fault"
	"svc.dev/svc/model"
	"svc.dev/svc/stream"
)

// taskTool is the tool by which an agent hands a task to a sub-agent.
const taskTool = "task"

// tools are what the model may call.
func (th *thread) tools() []model.Tool {
	var tools []model.Tool
	for _, t := range th.agent.Tools {
		tools = append(tools, model.Tool{Name: t.Name, Description: t.Description, Input: t.schema})
	}
	if len(th.agent.Agents) > 0 {
		tools = append(tools, th.taskTool())
	}
	return tools
}

func (th *thread) taskTool() model.Tool {
	names := []string{}
	about := "Hand a task to another agent and get its answer. Agents:"
	for _, a := range th.agent.Agents {
		names = append(names, a.Name)
		about += "\n- " + a.Name + ": " + a.Description
	}
	schema, _ := stream.Encode(map[string]any{
		"type": "object", "additionalProperties": false, "required": []string{"agent", "prompt"},
		"properties": map[string]any{
			"agent":  map[string]any{"type": "string", "enum": names},
			"prompt": map[string]any{"type": "string", "description": "All that the agent needs to know; it sees nothing else."},
		},
	})
	return model.Tool{Name: taskTool, Description: about, Input: schema}
}

// callTools brings every call of the last reply to an outcome and commits them together. A call that an earlier holder of
// the stream made is not made again: it is reported as interrupted, unless its outcome or a sub-agent's work is recorded.
func (th *thread) callTools(ctx context.Context) error {
	// The calls are on record before any of them is made: a crash must show that they were asked for.
	if err := th.w.commit(); err != nil {
		return err
	}
	// That took time: no tool is called by whoever may no longer have the stream.
	if th.w.job.lapsed() {
		return errLapsed
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	calls, caller := th.t.Calls()
	outcomes := make([]conversation.Outcome, len(calls))
	attachments := make([][]Attachment, len(calls))
	recorded := make([]bool, len(calls))
	left := make([]error, len(calls))
	for i, call := range calls {
		outcomes[i], recorded[i] = th.t.Outcome(call.ID)
	}
	var group sync.WaitGroup
	for i, call := range calls {
		if recorded[i] {
			continue
		}
		group.Go(func() {
			defer th.w.rt.survive(th.w.job.lease.Stream, "call tool", &left[i])
			outcomes[i], attachments[i], left[i] = th.call(ctx, caller, call)
			if left[i] == nil && ctx.Err() == nil && len(calls) > 1 {
				_ = th.record1(conversation.ToolOutcome, func(r *conversation.Record) { r.Outcome = &outcomes[i] }, attachments[i])
			}
		})
	}
	group.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := cmp.Or(left...); err != nil {
		return err
	}
	return th.record1(conversation.ResultsCommitted, func(r *conversation.Record) { r.Message, r.Outcomes = caller, outcomes },
		slices.Concat(attachments...))
}

// record1 makes one record durable, with the attachments that it names.
func (th *thread) record1(t conversation.Type, set func(*conversation.Record), blobs []Attachment) error {
	r := th.record(t)
	set(&r)
	return th.w.commitWith(Commit{Blobs: blobs}, r)
}

// call is one call's outcome: the tool's own, or the reason why it has none. The error is why it has none yet.
func (th *thread) call(ctx context.Context, caller string, call conversation.Call) (conversation.Outcome, []Attachment, error) {
	began := th.w.now()
	child, resumed := th.w.child(th.t, call.ID)
	var result ToolResult
	var err error
	switch {
	case call.Name == taskTool && len(th.agent.Agents) > 0 && (resumed || th.w.isMine(call.ID)):
		if result, err = th.task(ctx, call, child); leaves(err) {
			return conversation.Outcome{}, nil, err
		}
	case !th.w.isMine(call.ID):
		return interrupted(call, child), nil, nil
	default:
		result, err = th.tool(ctx, call)
	}
	ms := millis(th.w.now()) - millis(began)
	outcome := conversation.Outcome{Call: call.ID, Name: call.Name, DurationMs: &ms}
	if err != nil {
		outcome.IsError, outcome.Content = true, []conversation.Block{conversation.TextBlock(toolError(err))}
		return outcome, nil, nil
	}
	outcome.IsError, outcome.Output = result.IsError, result.Output
	blobs, err := th.content(ctx, caller, call, result, &outcome)
	if err != nil {
		return outcome, nil, err
	}
	if tooMuch(outcome) {
		outcome.IsError, outcome.Output = true, nil
		outcome.Content, blobs = []conversation.Block{conversation.TextBlock("The output is too large to be recorded.")}, nil
	}
	return outcome, blobs, nil
}

// toolError is what the model, and whoever reads, is told of a tool's failure.
func toolError(err error) string {
	if passes(err) {
		return "What the tool needs is not available now."
	}
	if f := asFault(err); f != nil {
		if f.Details != "" {
			return f.Message + " " + f.Details
		}
		return f.Message
	}
	return err.Error()
}

func tooMuch(o conversation.Outcome) bool {
	size := len(o.Output)
	for _, b := range o.Content {
		size += len(b.Text)
	}
	return size > maxResult
}

func interrupted(call conversation.Call, child string) conversation.Outcome {
	text, _ := stream.Encode(struct {
		Type    string `json:"type"`
		Message string `json:"message"`
		Child   string `json:"childConversationId,omitempty"`
	}{"interrupted", "The call was interrupted before its result was recorded. It may or may not have taken effect.", child})
	return refusedCall(call, string(text))
}

// tool calls a tool within its time; a panic is its error.
func (th *thread) tool(ctx context.Context, call conversation.Call) (result ToolResult, err error) {
	i := slices.IndexFunc(th.agent.Tools, func(t Tool) bool { return t.Name == call.Name })
	if i < 0 {
		return ToolResult{}, fmt.Errorf("there is no tool named %q", call.Name)
	}
	t := th.agent.Tools[i]
	ctx, cancel := context.WithTimeout(ctx, t.timeout())
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			th.log().Error("tool panicked", "tool", call.Name, "error", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("the tool failed inside")
		}
	}()
	result, err = t.call(ctx, call.Input)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) && err != nil {
		err = fmt.Errorf("the tool took longer than %s", t.timeout())
	}
	return result, err
}

// content keeps the images of a result and names them.
func (th *thread) content(ctx context.Context, caller string, call conversation.Call, result ToolResult, o *conversation.Outcome) ([]Attachment, error) {
	var blobs []Attachment
	for i, c := range result.Content {
		if c.Data == nil {
			o.Content = append(o.Content, conversation.TextBlock(c.Text))
			continue
		}
		blob, err := th.keep(ctx, c.Data)
		if err != nil {
			return nil, err
		}
		a := Attachment{ID: conversation.ToolImageID(caller, call.ID, i), Blob: blob, MimeType: c.MimeType}
		file := fileOf(a)
		blobs = append(blobs, a)
		o.Content = append(o.Content, conversation.Block{Type: "attachment", Attachment: &file})
	}
	return blobs, nil
}

// keep stores what a tool gave. The tool is not called again, so a store that does not answer is waited for.
func (th *thread) keep(ctx context.Context, data []byte) (Blob, error) {
	for {
		blob, err := th.w.rt.put(ctx, th.w.job.lease.Stream.Scope, data)
		if err == nil || ctx.Err() != nil {
			return blob, err
		}
		th.log().Warn("keep image", "error", err)
		_ = pause(ctx, failurePause)
	}
}

// task hands a prompt to a sub-agent and waits for its answer. The sub-agent's conversation is part of the same stream: what
// it has recorded is there when the stream is claimed again.
func (th *thread) task(ctx context.Context, call conversation.Call, child string) (ToolResult, error) {
	var in struct{ Agent, Prompt string }
	if err := json.Unmarshal(call.Input, &in); err != nil {
		return ToolResult{}, fault.New(toolInputValidation, "The task is not an object of agent and prompt.", "")
	}
	i := slices.IndexFunc(th.agent.Agents, func(a *Agent) bool { return a.Name == in.Agent })
	if i < 0 {
		return ToolResult{}, fault.New("subagent_not_declared", fmt.Sprintf("No sub-agent named %q.", in.Agent), "")
	}
	agent := th.agent.Agents[i]
	if th.depth+1 > maxDepth {
		return ToolResult{}, fault.New("delegation_depth_exceeded", fmt.Sprintf("Tasks go at most %d deep.", maxDepth), "")
	}
	if child == "" {
		var err error
		if child, err = th.beginTask(call, agent.Name, in.Prompt); err != nil {
			return ToolResult{}, err
		}
	}
	sub := &thread{w: th.w, agent: agent, t: th.w.thread(child), session: child, depth: th.depth + 1}
	if err := sub.answer(ctx); err != nil {
		return ToolResult{}, err
	}
	return ToolResult{Content: []ToolContent{{Text: sub.t.Final()}}}, nil
}

func (th *thread) beginTask(call conversation.Call, agent, prompt string) (string, error) {
	id := th.w.rt.ids.next("conv_", th.w.now())
	created := conversation.Record{
		Type: conversation.Created, Conversation: id, Session: id, At: millis(th.w.now()),
		Kind: conversation.KindTask, Agent: agent, Text: prompt,
	}
	retained := th.record(conversation.ChildRetained)
	retained.Call, retained.Child = &call, id
	return id, th.w.commitWith(Commit{}, created, retained)
}
