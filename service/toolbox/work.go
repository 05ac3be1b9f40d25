package toolbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/fault"
	"svc.dev/svc/workflow"
)

// askAgent is the tool by which another agent is asked.
const askAgent = "ask_agent"

func (h hand) askAgent() svc.Tool {
	about := "Hand a question or a task to another agent of the workspace, and get its answer." + h.colleagues()
	return svc.AskTool(askAgent, about, func(ctx context.Context, agent string) error {
		if len(h.grant.Agents) > 0 && !granted(h.grant.Agents, agent) {
			return fault.New(fault.Forbidden, "This agent may not ask that one.", "Those that it may: "+strings.Join(h.grant.Agents, ", ")+".")
		}
		_, _, err := h.acting(ctx, prompts, "")
		return h.told(ctx, askAgent, err)
	})
}

// Bounds of what is told of an agent that may be asked.
const (
	maxAbout  = 500
	maxSchema = 1 << 10
)

// colleagues names the agents that may be asked.
func (h hand) colleagues() string {
	var told passage
	for _, p := range h.partners {
		if p.Name != h.grant.Agent && (len(h.grant.Agents) == 0 || granted(h.grant.Agents, p.Name)) {
			told.line("- %s: %s", p.Name, p.about())
		}
	}
	switch {
	case told.Len() > 0 && told.full:
		return " Agents, and there are others:\n" + told.String()
	case told.Len() > 0:
		return " Agents:\n" + told.String()
	case len(h.grant.Agents) > 0:
		return " Agents: " + strings.Join(h.grant.Agents, ", ") + "."
	}
	return ""
}

// about is what is told of an agent, in a line.
func (p Partner) about() string {
	text := cut(strings.Join(strings.Fields(p.Description), " "), maxAbout)
	switch {
	case len(p.OutputSchema) == 0:
		return text
	case len(p.OutputSchema) > maxSchema:
		return text + " It answers with a JSON object."
	}
	return text + " It answers with JSON of this schema: " + string(p.OutputSchema)
}

// How long a run is waited for, and how much longer the tool may take.
const (
	runTime  = time.Minute
	runGrace = 15 * time.Second
)

// order is what run_workflow is asked.
type order struct {
	Workflow string          `json:"workflow"`
	Input    json.RawMessage `json:"input"`
	RunID    string          `json:"runId"`
}

// orderSchema says what an order is; its input may be any JSON.
var orderSchema = json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{
"workflow":{"type":"string","description":"The name of the workflow to start."},
"input":{"description":"What the workflow is given, in the form of its schema."},
"runId":{"type":"string","description":"Instead of a workflow: a run that had not ended when it was last looked at."}}}`)

// runWorkflow repeats: the run of a call is begun once, and found again by its key.
func (h hand) runWorkflow() svc.Tool {
	t := svc.RawTool("run_workflow", "Start a workflow and wait for its result for up to a minute. What takes longer is followed later by its runId."+h.workflows(), orderSchema,
		func(ctx context.Context, raw json.RawMessage) (svc.ToolResult, error) {
			in, err := parseOrder(raw)
			if err != nil {
				return svc.ToolResult{}, err
			}
			run, err := h.run(ctx, in)
			if err != nil {
				return svc.ToolResult{}, h.told(ctx, "run_workflow", err)
			}
			output, err := json.Marshal(run)
			return svc.ToolResult{Output: output, IsError: run.Error != nil}, err
		})
	t.Timeout, t.Repeats = runTime+runGrace, true
	return t
}

func parseOrder(raw json.RawMessage) (in order, err error) {
	if json.Unmarshal(raw, &in) != nil || (in.Workflow == "") == (in.RunID == "") || in.RunID != "" && in.Input != nil {
		return in, fault.Invalid("Say either workflow, with its input, or runId.")
	}
	if string(in.Input) == "null" {
		in.Input = nil
	}
	return in, nil
}

// workflows names those that there are.
func (h hand) workflows() string {
	if h.config.Runtime == nil || h.config.Runtime() == nil {
		return ""
	}
	var all []string
	for _, f := range h.config.Runtime().Workflows() {
		if f.Route != nil {
			all = append(all, strings.TrimSpace("\n- "+f.Name+": "+f.Description+" "+schemaOf(f)))
		}
	}
	if len(all) == 0 {
		return ""
	}
	return cut(" Workflows:\n"+strings.Join(all, "\n"), maxAnswer)
}

func schemaOf(f *svc.Workflow) string {
	if s := f.InputSchema(); s != nil {
		return "Input: " + string(s)
	}
	return "It takes no input."
}

// ran is a run as a model is told of it.
type ran struct {
	RunID  string          `json:"runId"`
	Status workflow.Status `json:"status"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *runFailure     `json:"error,omitempty"`
	Note   string          `json:"note,omitempty"`
}

type runFailure struct {
	Name    string `json:"name"`
	Message string `json:"message"`
}

// run starts a run, or looks for one, and waits for its end.
func (h hand) run(ctx context.Context, in order) (ran, error) {
	call, _, err := h.acting(ctx, runs, "")
	if err != nil {
		return ran{}, err
	}
	scoped := h.config.Runtime().In(call.Scope)
	waiting, cancel := context.WithTimeout(ctx, runTime)
	defer cancel()
	if in.RunID != "" {
		at, _, err := scoped.FindRun(ctx, in.RunID)
		if err != nil {
			return ran{}, err
		}
		run, err := scoped.Await(waiting, at.Name, in.RunID)
		return h.ranTo(ctx, in.RunID, run, err)
	}
	if err := h.startable(ctx, call, in); err != nil {
		return ran{}, err
	}
	invoked, err := scoped.Invoke(waiting, in.Workflow, svc.Invocation{
		Input: in.Input, Wait: true, StartedBy: call.By, Key: fmt.Sprintf("tool %s/%s/%s/%s", call.Agent, call.Instance, call.Submission, call.ID),
	})
	if invoked.RunID == "" {
		return ran{}, err
	}
	return h.ranTo(ctx, invoked.RunID, *invoked.Run, err)
}

// startable refuses a workflow that is not for everybody, an input that it does not take, and new work where there is no room.
func (h hand) startable(ctx context.Context, call svc.Call, in order) error {
	f := h.config.Runtime().Workflow(in.Workflow)
	if f == nil || f.Route == nil {
		return fault.New(fault.WorkflowNotFound, fmt.Sprintf("No workflow named %q.", cut(in.Workflow, 100)), "Check the name.")
	}
	if err := f.CheckInput(ctx, in.Input); err != nil {
		if refusal, ok := errors.AsType[*fault.Error](err); ok {
			issues, _ := json.Marshal(refusal.Meta["issues"])
			return &fault.Error{Type: refusal.Type, Message: refusal.Message, Details: cut(string(issues), maxLine), Meta: refusal.Meta}
		}
		return err
	}
	return h.config.Admit(ctx, call.Scope)
}

// ranTo is how far a run has come. One that is waited for no longer goes on by itself.
func (h hand) ranTo(ctx context.Context, id string, run workflow.Run, err error) (ran, error) {
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return ran{}, err
	case errors.Is(err, context.DeadlineExceeded):
		return ran{RunID: id, Status: workflow.Active, Note: "It goes on by itself. Call again with this runId to wait for it."}, nil
	default:
		return ran{}, err
	}
	told := ran{RunID: id, Status: run.Status, Result: run.Result}
	if len(told.Result) > maxAnswer {
		told.Result, told.Note = nil, fmt.Sprintf("The result has %d bytes, which is too much to show here.", len(run.Result))
	}
	if run.Error != nil {
		told.Error = &runFailure{run.Error.Name, cut(run.Error.Message, maxLine)}
	}
	return told, nil
}
