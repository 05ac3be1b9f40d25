package svc

import (
	"cmp"
	"fmt"
	"net/http"
	"time"
)

// Agent is a conversation partner whose every word survives. Its instances are chosen by those who prompt them.
type Agent struct {
	Name         string
	Description  string
	Instructions string
	Model        string // provider/model

	Tools  []Tool
	Agents []*Agent // sub-agents that it may hand tasks to

	// Version tells definitions of one agent apart; a submission keeps the one of its first claim. Defaults to empty.
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
	// MaxTokens bounds one reply. Defaults to the provider's own bound.
	MaxTokens int
	// Context is how many tokens the model is given before what was said is summed up. Defaults to 150,000.
	Context int

	// Route guards the agent over HTTP. Defaults to nil: not served.
	Route func(http.Handler) http.Handler
	// Attachments guards the download of attachments. Defaults to nil: not served.
	Attachments func(http.Handler) http.Handler
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
	seen := map[string]bool{taskTool: len(a.Agents) > 0}
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
