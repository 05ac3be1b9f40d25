package ts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"svc.dev/svc"
	"svc.dev/svc/conversation"
	"svc.dev/svc/fault"
	"svc.dev/svc/internal/script"
	"svc.dev/svc/iso"
	"svc.dev/svc/workflow"
)

// inquiry is what a script asks of the Runtime, for whom.
type inquiry func(ctx context.Context, of origin, args script.Args) (any, error)

// asked lets an act ask, in its own scope. The answer crosses as JSON.
func asked(c script.Call, answer inquiry) func(context.Context) (any, error) {
	return func(ctx context.Context) (any, error) {
		var asker acting
		if c.Act != nil {
			asker, _ = c.Act.Data.(acting)
		}
		if asker == nil {
			return nil, errors.New("modules cannot ask while they are loaded: ask inside of a handler")
		}
		of, err := asker.origin(ctx)
		if err != nil {
			return nil, thrown(err)
		}
		got, err := answer(ctx, of, c.Args)
		if err != nil {
			return nil, thrown(err)
		}
		text, err := json.Marshal(got)
		return string(text), err
	}
}

func (p *Project) admit(ctx context.Context, of origin) error {
	if p.config.Admit == nil {
		return nil
	}
	return p.config.Admit(ctx, of.scope)
}

func (p *Project) dispatch(ctx context.Context, of origin, args script.Args) (any, error) {
	if err := p.admit(ctx, of); err != nil {
		return nil, err
	}
	message, err := conversation.ParseMessage(ctx, json.RawMessage(args.String(2)))
	if err != nil {
		return nil, err
	}
	got, err := p.rt.In(of.scope).Dispatch(ctx, args.String(0), args.String(1), svc.Prompt{Message: message, Key: args.String(3), By: of.by})
	return map[string]string{"dispatchId": got.SubmissionID, "acceptedAt": iso.Format(got.AdmittedAt)}, err
}

func (p *Project) invoke(ctx context.Context, of origin, args script.Args) (any, error) {
	in := svc.Invocation{Key: args.String(2), StartedBy: of.by}
	if args.Has(1) {
		in.Input = json.RawMessage(args.String(1))
	}
	wf := p.rt.Workflow(args.String(0))
	if wf == nil {
		return nil, fault.New("workflow_not_discovered", fmt.Sprintf("No workflow named %q.", args.String(0)), "Check the name.")
	}
	if err := wf.CheckInput(ctx, in.Input); err != nil {
		return nil, err
	}
	if err := p.admit(ctx, of); err != nil {
		return nil, err
	}
	got, err := p.rt.In(of.scope).Invoke(ctx, wf.Name, in)
	return map[string]string{"runId": got.RunID}, err
}

func (p *Project) listRuns(ctx context.Context, of origin, args script.Args) (any, error) {
	var filter struct {
		Status       workflow.Status
		WorkflowName string
		Limit        int
		Cursor       string
	}
	if err := json.Unmarshal([]byte(args.String(0)), &filter); err != nil {
		return nil, fault.Invalid("listRuns: %v", err)
	}
	return p.rt.In(of.scope).ListRuns(ctx, svc.RunFilter{Status: filter.Status, Workflow: filter.WorkflowName, Limit: filter.Limit, Cursor: filter.Cursor})
}

// getRun is null for a run that there is not.
func (p *Project) getRun(ctx context.Context, of origin, args script.Args) (any, error) {
	run, err := p.rt.In(of.scope).GetRun(ctx, args.String(0))
	if fault.Is(err, fault.RunNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("getRun: %w", err)
	}
	return run, nil
}

func (p *Project) listAgents(context.Context, origin, script.Args) (any, error) {
	return p.rt.ListAgents(), nil
}
