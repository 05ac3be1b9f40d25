package ts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/fault"
	"svc.dev/svc/internal/script"
)

// The places where an agent is defined.
const (
	ofAgent    = "agent"
	ofWorkflow = "workflow"
)

// agentConfig is what an initializer answered.
type agentConfig struct {
	Name, Description, Model, Instructions, Reasoning string
	MaxAttempts                                       int
	TimeoutMs                                         float64
	Tools                                             []toolConfig
	Agents                                            []agentConfig
}

type toolConfig struct {
	Name, Description string
	Input             json.RawMessage
	TimeoutMs         float64
}

// initialized is an agent of a module as one instance has it: where it is defined, and for whom.
type initialized struct {
	p          *Project
	kind, name string
	scope, id  string
	within     *script.Act // the run that asks it; nil for an agent's own instance
}

// initializer asks a module for the agent of an instance, or of a run, whose act then has it asked.
func (p *Project) initializer(kind, name string, within *script.Act) func(ctx context.Context, scope, id string) (*svc.Agent, error) {
	return func(ctx context.Context, scope, id string) (*svc.Agent, error) {
		i := initialized{p, kind, name, scope, id, within}
		c, err := i.ask(ctx)
		if err != nil {
			return nil, err
		}
		return i.agent(c, ""), nil
	}
}

// ask calls the initializer. An engine that was lost for another's fault is no answer: the Runtime asks again.
func (i initialized) ask(ctx context.Context) (c agentConfig, err error) {
	ctx, cancel := context.WithTimeout(ctx, i.p.config.Limits.Initializer)
	defer cancel()
	act, err := i.begin(ctx, i.p.working.begin, calling{scope: i.scope})
	if err != nil {
		return c, notNow(err)
	}
	defer i.p.working.end(act)
	act.Call("agent", i.scope, i.kind, i.name, i.id)
	got, err := i.p.outcome(ctx, act)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return c, fault.New(scriptTimeout, fmt.Sprintf("The initializer of %s %s did not answer in time.", i.kind, i.name), "")
	case unavailable(err):
		return c, notNow(err)
	case err != nil:
		report(ctx, i.p.config.Log, "initializer failed", err, i.kind, i.name, "id", i.id)
		return c, notNow(err)
	}
	return c, json.Unmarshal([]byte(got.Value), &c)
}

// notNow is a failure, and no answer where the engine is its reason.
func notNow(err error) error {
	if unavailable(err) {
		return fault.NotAvailable("engine").Because(fmt.Errorf("%w: %w", svc.ErrUnavailable, err))
	}
	return failure(err)
}

// begin starts an act for the agent: inside of the run that asks it, which has its place already.
func (i initialized) begin(ctx context.Context, free func(context.Context, any) (*script.Act, error), of acting) (*script.Act, error) {
	if i.within != nil {
		return i.within.Inside(ctx, of)
	}
	return free(ctx, of)
}

// agent is a configuration as the Runtime has it; path leads to it through sub-agents.
func (i initialized) agent(c agentConfig, path string) *svc.Agent {
	a := &svc.Agent{
		Name: c.Name, Description: c.Description, Model: c.Model, Instructions: c.Instructions, Reasoning: c.Reasoning,
		MaxAttempts: c.MaxAttempts, Timeout: milliseconds(c.TimeoutMs),
	}
	if path == "" {
		a.Name = i.name
	}
	for _, t := range c.Tools {
		tool := svc.RawTool(t.Name, t.Description, t.Input, i.tool(path+t.Name))
		tool.Timeout = milliseconds(t.TimeoutMs)
		a.Tools = append(a.Tools, tool)
	}
	for _, sub := range c.Agents {
		a.Agents = append(a.Agents, i.agent(sub, path+sub.Name+"\n"))
	}
	return a
}

func milliseconds(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

// tool calls a tool, in any engine. A call that is lost with its engine is told to the model, and not made again: it may have done
// something.
func (i initialized) tool(path string) func(context.Context, json.RawMessage) (svc.ToolResult, error) {
	return func(ctx context.Context, input json.RawMessage) (svc.ToolResult, error) {
		act, err := i.begin(ctx, i.p.working.beginWhenFree, callOf(ctx, i.scope))
		if err != nil {
			return svc.ToolResult{}, failure(err)
		}
		defer i.p.working.end(act)
		act.Call("tool", i.scope, i.kind, i.name, i.id, path, string(input))
		got, err := i.p.outcome(ctx, act)
		if err != nil {
			report(ctx, i.p.config.Log, "tool failed", err, i.kind, i.name, "id", i.id, "tool", path)
			return svc.ToolResult{}, failure(err)
		}
		return svc.ToolResult{Output: json.RawMessage(got.Value)}, nil
	}
}
