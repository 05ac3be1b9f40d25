package svc

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

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
		about += "\n- " + a.Name + ": " + a.Description + a.Output.told()
	}
	return model.Tool{Name: taskTool, Description: about, Input: askSchema(names)}
}

// Bounds of what one reply, and one submission, can have done: the model's words are written by whoever serves it.
const (
	maxCalls  = 128 // of a reply
	atOnce    = 8   // turns and calls, those of sub-agents too
	maxPassed = 64  // tasks that one submission hands on, those that its sub-agents hand on too
)

// callTools brings every call of the last reply to an outcome and commits them together. A call that an earlier holder of
// the stream made is not made again: it is reported as interrupted, unless its outcome is recorded, it asks an agent, which goes
// on, or its tool repeats.
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
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i, call := range calls {
		switch {
		case recorded[i]:
		case i >= maxCalls:
			outcomes[i] = refusedCall(call, fmt.Sprintf("The call was not made: a reply makes at most %d.", maxCalls))
		default:
			group.Go(func() error {
				defer th.w.rt.survive(th.w.job.lease.Stream, "call tool", &left[i])
				outcomes[i], attachments[i], left[i] = th.call(ctx, caller, call)
				if left[i] == nil && ctx.Err() == nil && len(calls) > 1 {
					_ = th.record1(conversation.ToolOutcome, func(r *conversation.Record) { r.Outcome = &outcomes[i] }, attachments[i])
				}
				return nil
			})
		}
	}
	_ = group.Wait()
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
	// It may have waited for those before it.
	if th.w.job.lapsed() || ctx.Err() != nil {
		return conversation.Outcome{}, nil, cmp.Or(context.Cause(ctx), errLapsed)
	}
	began := th.w.now()
	child, _ := th.w.child(th.t, call.ID)
	tool, known := th.agent.tool(call.Name)
	var result ToolResult
	var err error
	switch {
	case tool.asks != nil, call.Name == taskTool && len(th.agent.Agents) > 0:
		// What is asked stands in the log before anybody hears it: without a child nothing has begun.
		if result, err = th.task(ctx, tool, caller, call, child); leaves(err) {
			return conversation.Outcome{}, nil, err
		}
	case !tool.Repeats && !th.w.isMine(callID(caller, call.ID)):
		return interrupted(call, child), nil, nil
	case !known:
		err = fmt.Errorf("there is no tool named %q", call.Name)
	default:
		result, err = th.within(ctx, tool, caller, call, func(ctx context.Context) (ToolResult, error) { return tool.call(ctx, call.Input) })
	}
	if tool.Repeats && passes(err) {
		return conversation.Outcome{}, nil, th.later(err)
	}
	if err == nil {
		err = result.check()
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

// later leaves a call that may be made again, by this node or another: what it began goes on, and is found by its id.
func (th *thread) later(err error) error {
	if th.w.job.crew.stopping() {
		return errDraining
	}
	return err
}

// toolError is what the model, and whoever reads, is told of a tool's failure.
func toolError(err error) string {
	text := err.Error()
	f := asFault(err)
	switch {
	case passes(err):
		return "What the tool needs is not available now."
	case f != nil && f.Details != "":
		text = f.Message + " " + f.Details
	case f != nil:
		text = f.Message
	}
	if len(text) > maxMessage {
		return strings.ToValidUTF8(text[:maxMessage], "") + "…"
	}
	return text
}

// maxImages is how many bytes the images of one result may have.
const maxImages = 16 << 20

// check refuses images that are more than a conversation should keep.
func (r ToolResult) check() error {
	size := 0
	for _, c := range r.Content {
		size += len(c.Data)
	}
	if size > maxImages {
		return fmt.Errorf("the images of the result are larger than %d MiB", maxImages>>20)
	}
	return nil
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

// lateGrace is how long a tool may take to end when its time is over.
const lateGrace = time.Second

// within does what a tool does in the tool's time. A panic is its error, and what does not end is left behind.
func (th *thread) within(ctx context.Context, t Tool, caller string, call conversation.Call, do func(context.Context) (ToolResult, error)) (ToolResult, error) {
	if err := th.w.busy.Acquire(ctx, 1); err != nil {
		return ToolResult{}, err
	}
	defer th.w.busy.Release(1)
	ctx, cancel := context.WithTimeout(WithCall(th.w.job.atWork(ctx), th.callOf(caller, call)), t.timeout())
	defer cancel()
	var result ToolResult
	var err error
	ended, returned := make(chan struct{}), false
	go func() {
		defer close(ended)
		defer func() {
			if p := recover(); p != nil {
				th.log().Error("tool panicked", "tool", call.Name, "error", p, "stack", string(debug.Stack()))
				err, returned = errors.New("the tool failed inside"), true
			}
		}()
		result, err = do(ctx)
		returned = true
	}()
	late := fmt.Errorf("the tool took longer than %s", t.timeout())
	if !awaits(ctx, ended) {
		th.log().Warn("tool did not stop", "tool", call.Name)
		return ToolResult{}, late
	}
	if !returned {
		runtime.Goexit() // as the tool did: the run does not go on here
	}
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = late
	}
	return result, err
}

// awaits reports whether a tool has ended, within its context or a moment later.
func awaits(ctx context.Context, ended <-chan struct{}) bool {
	select {
	case <-ended:
		return true
	case <-ctx.Done():
	}
	after := lateGrace
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		after = grace(ctx)
	}
	late := time.NewTimer(after)
	defer late.Stop()
	select {
	case <-ended:
		return true
	case <-late.C:
		return false
	}
}

// callOf is what a tool is called for.
func (th *thread) callOf(caller string, call conversation.Call) Call {
	c := th.origin
	c.Scope, c.Instance = th.w.job.lease.Stream.Scope, th.w.job.lease.Stream.ID
	c.Agent, c.ID = th.agent.Name, callID(caller, call.ID)
	return c
}

// callID tells a call apart from all others: models count anew in each reply.
func callID(caller, call string) string { return caller + "/" + call }

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

// task hands a prompt to a sub-agent, or to another agent of the scope, and waits for its answer. That conversation is part of
// the same stream: what it has recorded is there when the stream is claimed again.
func (th *thread) task(ctx context.Context, tool Tool, caller string, call conversation.Call, child string) (ToolResult, error) {
	var in struct{ Agent, Prompt string }
	if err := json.Unmarshal(call.Input, &in); err != nil {
		return ToolResult{}, fault.New(toolInputValidation, "The task is not an object of agent and prompt.", "")
	}
	if th.depth+1 > maxDepth {
		return ToolResult{}, fault.New("delegation_depth_exceeded", fmt.Sprintf("Tasks go at most %d deep.", maxDepth), "")
	}
	if child != "" && th.w.thread(child).Agent != in.Agent {
		return ToolResult{}, fault.New(toolInputValidation, "The call has asked another agent.", "")
	}
	agent, err := th.partner(ctx, tool, caller, call, in.Agent, child)
	if err != nil {
		return ToolResult{}, err
	}
	if child == "" {
		if child, err = th.beginTask(call, agent, in.Prompt); err != nil {
			return ToolResult{}, err
		}
	}
	sub := &thread{
		w: th.w, agent: agent.giving(agent.Output), gives: agent.Output != nil, t: th.w.thread(child), session: child, depth: th.depth + 1,
		origin: th.origin, waiting: append(slices.Clone(th.waiting), th.agent.Name),
	}
	if err := sub.answer(ctx); err != nil {
		return ToolResult{}, err
	}
	if sub.gives {
		return ToolResult{Output: sub.result()}, nil
	}
	return ToolResult{Content: []ToolContent{{Text: sub.t.Final()}}}, nil
}

// partner finds the agent that a prompt is handed to. One whose conversation has begun is the version that began it, and is waited
// for.
func (th *thread) partner(ctx context.Context, tool Tool, caller string, call conversation.Call, name, child string) (*Agent, error) {
	if tool.asks == nil {
		i := slices.IndexFunc(th.agent.Agents, func(a *Agent) bool { return a.Name == name })
		if i < 0 {
			return nil, fault.New("subagent_not_declared", fmt.Sprintf("No sub-agent named %q.", name), "")
		}
		return th.agent.Agents[i], nil
	}
	if err := th.mayAsk(ctx, tool, caller, call, name); err != nil {
		return nil, err
	}
	var version string
	if child != "" {
		version, _ = th.w.thread(child).Terms("")
	}
	agent, err := th.w.rt.agent(ctx, th.w.job.lease.Stream.Scope, name, version)
	switch {
	case err != nil:
		return nil, err
	case agent == nil && version != "":
		return nil, th.w.undefined()
	case agent == nil, agent.Retired && child == "":
		return nil, fault.New(fault.AgentNotFound, fmt.Sprintf("No agent named %q.", name), "Check the name.")
	}
	return th.w.rt.madeFor(ctx, th.w.job.lease.Stream, agent)
}

// mayAsk refuses to ask an agent that waits for the answer, and those that the tool does not let be asked.
func (th *thread) mayAsk(ctx context.Context, tool Tool, caller string, call conversation.Call, name string) error {
	if name == th.agent.Name || slices.Contains(th.waiting, name) {
		return fault.New("delegation_cycle", fmt.Sprintf("The agent %q waits for this answer itself.", name), "")
	}
	_, err := th.within(ctx, tool, caller, call, func(ctx context.Context) (ToolResult, error) { return ToolResult{}, tool.asks(ctx, name) })
	return err
}

// beginTask puts on record what is asked, and of whom.
func (th *thread) beginTask(call conversation.Call, agent *Agent, prompt string) (string, error) {
	th.w.passing.Lock()
	defer th.w.passing.Unlock()
	if th.w.passed() >= maxPassed {
		return "", fault.New("delegation_count_exceeded", fmt.Sprintf("One answer takes at most %d tasks.", maxPassed), "")
	}
	id := th.w.rt.ids.next("conv_", th.w.now())
	created := conversation.Record{
		Type: conversation.Created, Conversation: id, Session: id, At: millis(th.w.now()),
		Kind: conversation.KindTask, Agent: agent.Name, Text: prompt, Version: agent.Version,
	}
	retained := th.record(conversation.ChildRetained)
	retained.Call, retained.Child = &call, id
	return id, th.w.commitWith(Commit{}, created, retained)
}
