package engine

import (
	"context"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/channel/github"
	"svc.dev/svc/model"
	"svc.dev/svc/model/scripted"
)

// The names of what every workspace has.
const (
	Central      = "central"
	Verification = "workspace-verification"
)

// Models are the providers that need no key.
var Models = model.Providers{"scripted": scripted.Words()}

// Declare gives a runtime what every workspace has: the central agent, on the model of that name, the workflow that
// verifies who was let in, and the channel of GitHub.
func Declare(rt *svc.Runtime, model string) {
	rt.AddAgent(&svc.Agent{
		Name: Central, Description: "The main chat of a workspace.", Model: model,
		Instructions: "You are the central agent of a workspace. Answer briefly and say what you do not know.",
		Route:        svc.Open, Attachments: svc.Open,
	})
	w := svc.NewWorkflow(Verification, verify)
	w.Route, w.Runs = svc.Open, svc.Open
	rt.AddWorkflow(w)
	rt.AddChannel(github.New(gitHub(rt, nil)))
}

// accepted is what the guard let pass, and the result of verifying it.
type accepted struct {
	Account   string `json:"account"`
	AccountID string `json:"accountId"`
	Actor     string `json:"actor"`
	Scope     string `json:"scope"`
	Authority string `json:"authority"`
}

// verified is what the workflow reports: what was accepted, and that nothing was looked at.
type verified struct {
	accepted
	FilesRead int       `json:"filesRead"`
	Mutated   bool      `json:"mutated"`
	CheckedAt time.Time `json:"checkedAt"`
}

// verify reads no file and changes nothing: that it runs at all is the proof.
func verify(_ context.Context, w *svc.Work, in accepted) (verified, error) {
	return verified{accepted: in, CheckedAt: w.Now().UTC()}, nil
}
