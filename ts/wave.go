package ts

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/internal/script"
)

// wave does what a run asked for in one turn: its steps side by side, then its sleeps, which end together, then its prompts. All of it is
// answered at once, in the order of asking: so a replay needs no record of which ended first.
func (r *run) wave(ctx context.Context, asks []script.Ask) []script.Settlement {
	answers := make([]script.Settlement, len(asks))
	var steps, sleeps, prompts []int
	for i, ask := range asks {
		answers[i].ID = ask.ID
		switch ask.Kind {
		case "step":
			steps = append(steps, i)
		case "sleep":
			sleeps = append(sleeps, i)
		case "prompt":
			prompts = append(prompts, i)
		default:
			answers[i].Err = errUnknownAsk
		}
	}
	r.steps(ctx, asks, steps, answers)
	r.sleeps(ctx, asks, sleeps, answers)
	for _, i := range prompts {
		raw, err := r.prompt(ctx, asks[i])
		answer(&answers[i], raw, err)
	}
	return answers
}

// answer puts how something ended into its settlement.
func answer(s *script.Settlement, raw json.RawMessage, err error) {
	if err != nil {
		s.Err = thrown(err)
		return
	}
	if raw == nil {
		raw = json.RawMessage("null")
	}
	s.Value = string(raw)
}

// steps runs steps. One alone stands at its place in the order of steps; several are told apart by their names, and those of one name by
// their order.
func (r *run) steps(ctx context.Context, asks []script.Ask, places []int, answers []script.Settlement) {
	if len(places) == 1 {
		s := r.step(asks[places[0]])
		raw, err := svc.Step(ctx, r.w, s.name, s.do, s.options()...)
		answer(&answers[places[0]], raw, err)
		return
	}
	var all []svc.Branching
	var branches []*svc.BranchOf[json.RawMessage]
	used := map[string]int{}
	for _, i := range places {
		s := r.step(asks[i])
		if n := used[s.name]; s.Key == "" && n > 0 {
			s.Key = fmt.Sprintf("#%d", n)
		}
		used[s.name]++
		b := svc.Branch(s.name, s.do, s.options()...)
		branches, all = append(branches, b), append(all, b)
	}
	if len(all) == 0 {
		return
	}
	err := svc.Parallel(ctx, r.w, all...)
	for n, i := range places {
		b := branches[n]
		if b.Value == nil && b.Err == nil {
			b.Err = err // none of them was begun
		}
		answer(&answers[i], b.Value, b.Err)
	}
}

// sleeps waits for the shortest first, and then for what is left of the next.
func (r *run) sleeps(ctx context.Context, asks []script.Ask, places []int, answers []script.Settlement) {
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(asks[a].Args.Float(0), asks[b].Args.Float(0)) })
	var slept float64
	for n, i := range places {
		ms := asks[i].Args.Float(0)
		if r.p.config.Witness != nil {
			ms = 0 // nobody waits for the time of a comparison
		}
		if n == 0 || ms > slept {
			answer(&answers[i], nil, r.w.Sleep(ctx, milliseconds(ms-slept)))
			slept = ms
			continue
		}
		answer(&answers[i], nil, nil)
	}
}

// prompt asks the workflow's agent.
func (r *run) prompt(ctx context.Context, ask script.Ask) (json.RawMessage, error) {
	var o struct {
		Form  json.RawMessage
		Model string
	}
	if err := json.Unmarshal([]byte(ask.Args.String(1)), &o); err != nil {
		return nil, err
	}
	if string(o.Form) == "null" {
		o.Form = nil
	}
	found := r.p.initializer(ofWorkflow, r.name, r.act)
	agent := &svc.Agent{Name: r.name, For: func(ctx context.Context, scope, id string) (*svc.Agent, error) {
		made, err := found(ctx, scope, id)
		if err == nil && o.Model != "" {
			made.Model = o.Model
		}
		return made, err
	}}
	answer, result, err := svc.AskRaw(ctx, r.w, agent, ask.Args.String(0), o.Form)
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{"answer": answer, "result": result})
}

// step is a step of a run as the script asked for it.
type step struct {
	r    *run
	name string
	ask  int64 // by which the script knows its function

	Key       string
	TimeoutMs float64
	Durable   bool
	Retry     *struct {
		Attempts                int
		Delay, MaxDelay, Factor float64
	}
}

func (r *run) step(ask script.Ask) *step {
	s := &step{r: r, name: ask.Args.String(0), ask: ask.ID}
	if ask.Args.Has(1) {
		_ = json.Unmarshal([]byte(ask.Args.String(1)), s) // written by the prelude
	}
	return s
}

func (s *step) options() []svc.StepOption {
	var all []svc.StepOption
	if s.Key != "" {
		all = append(all, svc.Keyed(s.Key))
	}
	if s.Durable {
		all = append(all, svc.Durable)
	}
	if t := s.Retry; t != nil {
		all = append(all, svc.Retry{Attempts: t.Attempts, Delay: milliseconds(t.Delay), Max: milliseconds(t.MaxDelay), Factor: t.Factor})
	}
	return all
}

// do makes one attempt in the run's engine, as an act of its own: so a limit knows that the step was it.
func (s *step) do(ctx context.Context) (json.RawMessage, error) {
	if s.TimeoutMs > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, milliseconds(s.TimeoutMs), s.late())
		defer cancel()
	}
	r := s.r
	act, err := r.act.Inside(ctx, r)
	if err != nil {
		r.w.Interrupt(err)
	}
	defer r.p.working.end(act)
	act.Call("step", r.act.ID, s.ask, svc.Attempt(ctx))
	got, err := r.p.outcome(ctx, act)
	switch {
	case err == nil:
		return json.RawMessage(got.Value), nil
	case unavailable(err):
		r.w.Interrupt(err)
	case ctx.Err() != nil:
		return nil, err
	}
	report(ctx, r.p.config.Log, "step failed", err, "workflow", r.name, "run_id", r.w.RunID(), "step", s.name)
	return nil, failure(err)
}

func (s *step) late() error {
	return &svc.StepError{Name: "TimeoutError", Message: fmt.Sprintf("The step did not end within %s.", milliseconds(s.TimeoutMs).Round(time.Millisecond))}
}

var errNoRun = errors.New("there is no run here")
