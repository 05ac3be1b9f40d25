package engine

import (
	"context"

	"svc.dev/svc"
	"svc.dev/svc/channel/github"
	"svc.dev/svc/iso"
	"svc.dev/svc/service/agent"
)

// The names of what every workspace has.
const (
	Central      = "central"
	Verification = "workspace-verification"
)

// BuiltIn are the agents that every workspace has: the central one. They are not declared in code, for a workspace may change what
// they say and by which model; the runtime finds them by svc.Config.Resolve.
func BuiltIn() []agent.Definition {
	return []agent.Definition{{
		Name: Central, Settings: agent.Settings{
			Description: "The main chat of a workspace.", Exposed: true, Projects: []string{"*"},
			Tools: []string{"list_files", "read_file", "write_file", "edit_file", "search_files", "ask_agent", "run_workflow"},
		},
		Instructions: "You are the central agent of a workspace. Answer briefly and say what you do not know.",
	}}
}

// Declare gives a runtime what every workspace has beside its agents: the workflow that verifies who was let in, and the channel of
// GitHub.
func Declare(rt *svc.Runtime) {
	rt.AddWorkflow(svc.NewWorkflow(Verification, verify))
	rt.AddChannel(github.New(gitHub(rt, nil)))
}

// verified is what the workflow reports: that nothing was looked at, and when.
type verified struct {
	FilesRead int        `json:"filesRead"`
	Mutated   bool       `json:"mutated"`
	CheckedAt iso.Moment `json:"checkedAt"`
}

// verify takes nothing, reads no file and changes nothing: that it runs at all is the proof. Nobody can ask for it but the
// gateway, and what it is told of whom was let in comes from the guard alone.
func verify(_ context.Context, w *svc.Work, _ struct{}) (verified, error) {
	return verified{CheckedAt: iso.At(w.Now())}, nil
}
