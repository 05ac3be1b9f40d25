package svc

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"svc.dev/svc/conversation"
	"svc.dev/svc/internal/schema"
)

// Agent is a conversation partner whose every word survives. Its instances are chosen by those who prompt them.
type Agent struct {
	Name         string
	Description  string
	Instructions string
	Model        string // provider/model

	Tools  []Tool
	Agents []*Agent // sub-agents that it may hand tasks to

	// Version tells definitions of one agent apart; a submission keeps the one of its first claim, but for an agent that was added in
	// code: it answers as this program has it. Defaults to empty.
	Version string
	// Label is the version as readers see it, in agentVersion. Defaults to Version.
	Label string
	// Retired: it takes no more messages, as if there were none of its name. What it was given before is worked on and read, and can
	// be aborted. Defaults to false.
	Retired bool
	// MaxAttempts is how often work on a submission may be interrupted before it fails. Defaults to 10.
	MaxAttempts int
	// Timeout is how long a submission may take from its first claim. Defaults to 1 hour.
	Timeout time.Duration
	// Reasoning is how hard the model thinks: low, medium or high. Defaults to not at all.
	Reasoning string
	// Output is the form of its answers: each ends with a value that fits, which the part give_result of the last message shows as its
	// output, and which the agents that ask it are given. Defaults to nil: its answers are text.
	Output *Output
	// MaxTokens bounds one reply. Defaults to the provider's own bound.
	MaxTokens int
	// Context is how many tokens the model is given before what was said is summed up. Defaults to 150,000.
	Context int

	// For makes the agent of one instance, or of a run that asks it, by the id of either. It is asked at each claim of a submission, and
	// at each prompt of a run. An error is what the prompt fails with, but for ErrUnavailable: then it waits, and For is asked again. Of what
	// For makes, Name, Version, Label and the guards do not count: they are those of this agent. Defaults to nil: all instances have this one.
	For func(ctx context.Context, scope, id string) (*Agent, error)

	// Route guards the agent over HTTP. Defaults to nil: not served.
	Route func(http.Handler) http.Handler
	// Attachments guards the download of attachments. Defaults to nil: not served.
	Attachments func(http.Handler) http.Handler
}

// Output is the form of an agent's answers, a JSON Schema of an object.
type Output struct{ form *schema.Schema }

// OutputOf is the form of a Go type. It panics for one that is no object in JSON.
func OutputOf[T any]() *Output {
	form := schema.Of[T]()
	if !form.OfObject() {
		panic(fmt.Sprintf("svc: %T is no object in JSON", *new(T)))
	}
	return &Output{form}
}

// ParseOutput is a form that is not known when the program is written. The error is a sentence for whoever wrote it.
func ParseOutput(source json.RawMessage) (*Output, error) {
	form, err := schema.Parse(source)
	if err != nil {
		return nil, err
	}
	return &Output{form}, nil
}

// Schema is the JSON Schema of the answers.
func (o *Output) Schema() json.RawMessage { return o.form.Source }

// tool takes the model's result. It repeats: a call that is on record gives its result whoever goes on.
func (o *Output) tool() Tool {
	t := RawTool(conversation.ResultTool, "Give your final result. Nothing else that you say is taken for it.", o.form.Source,
		func(ctx context.Context, in json.RawMessage) (ToolResult, error) {
			if err := o.form.Check(context.WithoutCancel(ctx), in); err != nil {
				return ToolResult{}, renamed(err, toolInputValidation, "The result does not fit.")
			}
			return ToolResult{Output: in}, nil
		})
	t.Repeats = true
	return t
}

// maxShown is how many bytes of a schema the agents are shown that may ask for its answers.
const maxShown = 4 << 10

// told is what the agents that may ask are told of the form.
func (o *Output) told() string {
	switch {
	case o == nil:
		return ""
	case len(o.form.Source) > maxShown:
		return " It answers with a JSON object."
	}
	return " It answers with JSON of this schema: " + string(o.form.Source)
}

// giving is the agent with the tool by which it gives its answer in a form; without a form it is the agent as it is.
func (a *Agent) giving(form *Output) *Agent {
	if form == nil {
		return a
	}
	giving := *a
	giving.Tools = append(slices.Clone(a.Tools), form.tool())
	return &giving
}

// madeFor is the agent of the instance or run whose stream it is.
func (rt *Runtime) madeFor(ctx context.Context, of Stream, a *Agent) (made *Agent, err error) {
	if a.For == nil {
		return a, nil
	}
	defer rt.survive(of, "make agent", &err)
	found, err := a.For(ctx, of.Scope, of.ID)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("make agent: %w", err)
	}
	if found == nil {
		return nil, fmt.Errorf("make agent %q: For made none", a.Name)
	}
	made = new(*found)
	made.Name, made.Version, made.Label, made.For = a.Name, a.Version, a.Label, nil
	if err := made.validate(); err != nil {
		return nil, fmt.Errorf("make agent: %w", err)
	}
	return made, nil
}

const (
	defaultTimeout = time.Hour
	defaultContext = 150_000
	maxDepth       = 4
)

func (a *Agent) timeout() time.Duration { return cmp.Or(max(a.Timeout, 0), defaultTimeout) }

func (a *Agent) context() int { return cmp.Or(max(a.Context, 0), defaultContext) }

func (a *Agent) maxAttempts(rt *Runtime) int {
	return cmp.Or(max(a.MaxAttempts, 0), rt.config.MaxAttempts)
}

func (a *Agent) tool(name string) (Tool, bool) {
	for _, t := range a.Tools {
		if t.Name == name {
			return t, true
		}
	}
	return Tool{}, false
}

func (a *Agent) validate() error {
	if err := validateName("agent", a.Name); err != nil {
		return err
	}
	seen := map[string]bool{taskTool: len(a.Agents) > 0, conversation.ResultTool: a.Output != nil}
	for _, t := range a.Tools {
		if seen[t.Name] {
			return fmt.Errorf("agent %q has two tools named %q", a.Name, t.Name)
		}
		seen[t.Name] = true
	}
	for _, sub := range a.Agents {
		if err := validateName("agent", sub.Name); err != nil {
			return err
		}
	}
	return nil
}

// AddAgent declares agents, before Run. It panics for one that could not be served.
func (rt *Runtime) AddAgent(agents ...*Agent) {
	for _, a := range agents {
		declare(rt.agents, "agent", a.Name, a, a.validate())
	}
}
