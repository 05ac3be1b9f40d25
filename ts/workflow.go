package ts

import (
	"context"
	"encoding/json"
	"errors"

	"svc.dev/svc"
	"svc.dev/svc/internal/script"
)

// run is a workflow's run in an engine. The engine never waits for it: the script asks for a wave and goes on with other work, and
// the run's own goroutine does the wave.
type run struct {
	p    *Project
	w    *svc.Work
	act  *script.Act
	name string

	watched *attendance // nil: nobody compares it with its replay
}

// origin is whose the run is.
func (r *run) origin(ctx context.Context) (origin, error) {
	by, err := r.w.StartedBy(ctx)
	return origin{r.w.Scope(), by}, err
}

// newWorkflow is a module's workflow. A schema that cannot be checked before a run is admitted, as one that holds itself, is checked by
// the script alone.
func (p *Project) newWorkflow(name string, input json.RawMessage) (*svc.Workflow, error) {
	if string(input) == "null" {
		return svc.RawWorkflow(name, nil, p.run(name))
	}
	wf, err := svc.RawWorkflow(name, input, p.run(name))
	if err != nil {
		return svc.RawWorkflow(name, json.RawMessage(`{"type":"object"}`), p.run(name))
	}
	return wf, nil
}

// run does a workflow's run to its end, or to where another engine goes on.
func (p *Project) run(name string) func(context.Context, *svc.Work, json.RawMessage) (json.RawMessage, error) {
	return func(ctx context.Context, w *svc.Work, input json.RawMessage) (json.RawMessage, error) {
		r := &run{p: p, w: w, name: name, watched: p.config.Witness.attend(w.RunID())}
		var err error
		if r.act, err = p.working.begin(ctx, r); err != nil {
			return nil, notNow(err)
		}
		// Also when the Runtime ends this goroutine: the engine must forget the run.
		defer p.working.end(r.act)
		var given any
		if len(input) > 0 {
			given = string(input)
		}
		r.act.Call("run", name, w.RunID(), given)
		return r.follow(ctx)
	}
}

// follow does the run's waves until it has ended.
func (r *run) follow(ctx context.Context) (json.RawMessage, error) {
	for {
		select {
		case got := <-r.act.Done():
			return r.result(ctx, got)
		case wave := <-r.act.Waves():
			// What the function asked for in the turn in which it ended is not begun.
			select {
			case got := <-r.act.Done():
				return r.result(ctx, got)
			default:
			}
			if err := r.watched.wave(wave); err != nil {
				return nil, different(err)
			}
			r.act.Settle(r.wave(ctx, wave))
		case <-r.act.Engine.Dead():
			return r.lost(ctx)
		case <-ctx.Done():
			r.w.Interrupt(context.Cause(ctx)) // its cause stands already
		}
	}
}

func (r *run) result(ctx context.Context, got script.Result) (json.RawMessage, error) {
	if err := r.hold(ctx, endOf(got)); err != nil {
		return nil, err
	}
	switch {
	case got.Err != nil:
		report(ctx, r.p.config.Log, "run failed", got.Err, "workflow", r.name, "run_id", r.w.RunID())
		return nil, failure(got.Err)
	case got.None:
		return nil, nil
	}
	return json.RawMessage(got.Value), nil
}

// endOf is how a run ended, in one line.
func endOf(got script.Result) string {
	switch {
	case got.Err != nil:
		return "the error " + got.Err.Error()
	case got.None:
		return "no result"
	}
	return "the result " + got.Value
}

// lost ends a run whose own fault ended the engine. Another's fault does not: the run is taken up again from what it recorded.
func (r *run) lost(ctx context.Context) (json.RawMessage, error) {
	err := r.act.Engine.Fault(r.act.ID)
	if unavailable(err) {
		r.w.Interrupt(err)
	}
	select {
	case got := <-r.act.Done():
		return r.result(ctx, got)
	default:
		return r.result(ctx, script.Result{Err: err})
	}
}

// errUnknownAsk is an ask of a prelude that is not this one.
var errUnknownAsk = errors.New("the run asked for what there is not")
