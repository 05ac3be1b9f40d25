package crash_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/internal/critic"
)

// parkAfter is Config.Park of every node: a longer sleep is parked.
const parkAfter = 20 * time.Millisecond

// parked is a sleep that is parked, however long a machine takes to come to it.
const parked = 8 * parkAfter

// script is a workflow that is played to its end whatever happens.
type script struct {
	name     string
	input    string
	parallel bool   // its steps have no order among each other
	tells    string // the agent that it leaves work for, and its instance: their appends are counted too
	cancel   string // once this line is logged the run is cancelled from outside
	ends     string // status, values, error
}

// The scripts end alike whenever their process dies, and how often.
var scripts = []script{
	{name: "lines", ends: `completed {"lines":6} null`},
	{name: "steps", input: `{"order":20}`, ends: `completed {"charge":40,"mail/0":0,"mail/1":1,"pack":41,"sealed":3} null`},
	{name: "branches", parallel: true, ends: `completed {"after":6,"fetch/x":2,"fetch/y":3,"north":1,"shaky":4,"south":5} null`},
	{name: "retry", ends: `completed {"shaky":7} null`},
	{name: "refused", ends: `completed {"apologize":1} null`},
	{name: "sleepy", ends: `completed {"after":2,"before":1} null`},
	{name: "drawn", ends: `completed null null`},
	{name: "failing", ends: `errored  {"message":"failed on purpose","name":"Error"}`},
	{name: "cancelled", ends: `errored  {"message":"The run was cancelled.","name":"RunCancelled"}`},
	{name: "cancelled-asleep", cancel: "asleep", ends: `errored  {"message":"The run was cancelled.","name":"RunCancelled"}`},
	{name: "asks", ends: `completed {"after":1,"tools-twice":4,"word":3} null`},
	{name: "asks-a-team", ends: `completed {"delegate":11} null`},
	{name: "echo", input: echoed, ends: `completed ` + echoed + ` null`},
}

const echoed = `{"list":[1,null,{"a":[]}],"n":12.5,"text":"<é\u0000\"𝄞>"}`

func scriptOf(name string) script {
	for _, s := range slices.Concat(scripts, ofProject) {
		if s.name == name {
			return s
		}
	}
	panic("no script " + name)
}

// outcome is what a script returns. Tokens and Drawn are random by nature: a token names the execution of a step whose
// result was recorded.
type outcome struct {
	Values map[string]int    `json:"values,omitempty"`
	Tokens map[string]string `json:"tokens,omitempty"`
	Drawn  map[string]string `json:"drawn,omitempty"`
}

func newOutcome() outcome {
	return outcome{Values: map[string]int{}, Tokens: map[string]string{}, Drawn: map[string]string{}}
}

// done is what a step returns.
type done struct {
	Value int    `json:"value"`
	Token string `json:"token"`
}

type task func(ctx context.Context) (int, error)

func always(v int) task { return func(context.Context) (int, error) { return v, nil } }

// perform makes a step's function of a task: each execution is told to the effects file under a token of its own.
func (n *node) perform(w *svc.Work, label string, do task) func(context.Context) (done, error) {
	return func(ctx context.Context) (done, error) {
		token := n.effect(w.RunID(), label)
		w.Log("begin "+label, "in", label, "token", token, "node", n.Name)
		v, err := do(ctx)
		if err != nil {
			return done{}, fmt.Errorf("%w [%s]", err, token)
		}
		w.Log("end "+label, "in", label, "token", token, "node", n.Name)
		return done{v, token}, nil
	}
}

// effect leaves a mark outside the store, as a step does that charges a card.
func (n *node) effect(run, label string) (token string) {
	token = rand.Text()
	n.mark(run, label, token)
	return token
}

func (n *node) mark(run, label, token string) {
	line := fmt.Sprintf("%d %s %d %s %s %s\n", time.Now().UnixNano(), n.Name, os.Getpid(), run, label, token)
	if _, err := n.effects.WriteString(line); err != nil {
		panic(err)
	}
}

// seen before a label marks that the workflow was given the step's result.
const seen = "seen:"

// sealed begins the labels of steps whose results must be on record by then.
const sealed = "sealed"

var tokenInError = regexp.MustCompile(` \[([A-Z0-9]+)\]$`)

// note keeps a step's recorded value, or the token of its recorded error.
func (n *node) note(w *svc.Work, o outcome, label string, d done, err error) {
	if err == nil {
		o.Values[label], o.Tokens[label] = d.Value, d.Token
	} else if m := tokenInError.FindStringSubmatch(err.Error()); m != nil {
		o.Tokens[label] = m[1]
	}
	if token := o.Tokens[label]; token != "" {
		n.mark(w.RunID(), seen+label, token)
	}
}

func (n *node) step(ctx context.Context, w *svc.Work, o outcome, label string, do task, options ...svc.StepOption) (int, error) {
	d, err := svc.Step(ctx, w, label, n.perform(w, label, do), options...)
	n.note(w, o, label, d, err)
	return d.Value, err
}

type nothing = struct{}

func (n *node) declare() {
	n.rt.AddWorkflow(
		svc.NewWorkflow("lines", n.lines), svc.NewWorkflow("steps", n.steps), svc.NewWorkflow("branches", n.branches),
		svc.NewWorkflow("retry", n.retry), svc.NewWorkflow("refused", n.refused), svc.NewWorkflow("sleepy", n.sleepy),
		svc.NewWorkflow("drawn", n.drawn), svc.NewWorkflow("failing", n.failing), svc.NewWorkflow("cancelled", n.cancelled),
		svc.NewWorkflow("cancelled-asleep", n.cancelledAsleep), svc.NewWorkflow("echo", n.echo),
		svc.NewWorkflow("asks", n.asks), svc.NewWorkflow("asks-a-team", n.asksATeam),
		svc.NewWorkflow("march", n.march), svc.NewWorkflow("held", n.held),
		svc.NewWorkflow("deadly", n.deadly), svc.NewWorkflow("dangerous", n.dangerous), svc.NewWorkflow("gated", n.gated),
	)
}

// lines has no steps, and pauses long enough that its lines are appended one by one.
func (n *node) lines(_ context.Context, w *svc.Work, _ nothing) (outcome, error) {
	o := newOutcome()
	for i := range 4 {
		w.Log("line", "i", i)
		takes(10 * time.Millisecond)
	}
	w.Warn("careful", "error", errors.New("a small one"))
	w.Error("the last line")
	o.Values["lines"] = 6
	return o, nil
}

// steps has steps in sequence, two of one name, with lines between some of them.
func (n *node) steps(ctx context.Context, w *svc.Work, in struct {
	Order int `json:"order"`
}) (outcome, error) {
	o := newOutcome()
	w.Log("begin", "order", in.Order)
	charge, err := n.step(ctx, w, o, "charge", always(in.Order*2))
	if err != nil {
		return o, err
	}
	w.Log("charged", "amount", charge)
	w.Log("now mail it")
	if _, err := n.step(ctx, w, o, "pack", func(context.Context) (int, error) {
		takes(10 * time.Millisecond) // its first line is appended while it runs
		return charge + 1, nil
	}); err != nil {
		return o, err
	}
	for i := range 2 {
		d, err := svc.Step(ctx, w, "mail", n.perform(w, fmt.Sprintf("mail/%d", i), always(i)))
		if err != nil {
			return o, err
		}
		n.note(w, o, fmt.Sprintf("mail/%d", i), d, err)
	}
	w.Log("mailed")
	_, err = n.step(ctx, w, o, sealed, always(3), svc.Durable)
	return o, err
}

// branches runs steps side by side, two of one name, one that is tried again.
func (n *node) branches(ctx context.Context, w *svc.Work, _ nothing) (outcome, error) {
	o := newOutcome()
	w.Log("split")
	slow := func(v int, d time.Duration) task {
		return func(context.Context) (int, error) {
			takes(d)
			return v, nil
		}
	}
	labels := []string{"north", "fetch/x", "fetch/y", "shaky", "south"}
	all := []*svc.BranchOf[done]{
		svc.Branch("north", n.perform(w, "north", slow(1, 12*time.Millisecond))),
		svc.Branch("fetch", n.perform(w, "fetch/x", slow(2, 3*time.Millisecond)), svc.Keyed("x")),
		svc.Branch("fetch", n.perform(w, "fetch/y", slow(3, 0)), svc.Keyed("y")),
		svc.Branch("shaky", n.perform(w, "shaky", n.failing1st(w, "shaky", 1, 4)), svc.Retry{Delay: 8 * time.Millisecond}),
		svc.Branch("south", n.perform(w, "south", slow(5, 6*time.Millisecond))),
	}
	if err := svc.Parallel(ctx, w, all[0], all[1], all[2], all[3], all[4]); err != nil {
		return o, err
	}
	for i, b := range all {
		n.note(w, o, labels[i], b.Value, b.Err)
	}
	w.Log("joined")
	_, err := n.step(ctx, w, o, "after", always(6))
	w.Log("over")
	return o, err
}

// failing1st fails until so many failures of the step are on record: repeats after a crash do not change their number.
func (n *node) failing1st(w *svc.Work, name string, failures, v int) task {
	return func(ctx context.Context) (int, error) {
		run, err := n.rt.GetRun(ctx, w.RunID())
		if err != nil {
			return 0, err
		}
		raw, _, err := critic.EventsOf(ctx, n.rt, run)
		if err != nil {
			return 0, err
		}
		recorded := 0
		for _, e := range critic.DecodeEvents(raw) {
			if s := e.Step(); s != nil && s.Name == name && s.State == "failed" {
				recorded++
			}
		}
		if recorded < failures {
			return 0, errors.New("not yet")
		}
		return v, nil
	}
}

// retry has a step that fails twice; the second pause is parked.
func (n *node) retry(ctx context.Context, w *svc.Work, _ nothing) (outcome, error) {
	o := newOutcome()
	w.Log("try")
	_, err := n.step(ctx, w, o, "shaky", n.failing1st(w, "shaky", 2, 7), svc.Retry{Attempts: 3, Delay: 8 * time.Millisecond, Factor: float64(parked / (8 * time.Millisecond))})
	w.Log("tried")
	return o, err
}

// refused has a step that fails for good, and goes on.
func (n *node) refused(ctx context.Context, w *svc.Work, _ nothing) (outcome, error) {
	o := newOutcome()
	_, err := n.step(ctx, w, o, "order", func(context.Context) (int, error) { return 0, errors.New("out of stock") })
	if err == nil {
		return o, errors.New("the order went through")
	}
	w.Log("refused", "why", tokenInError.ReplaceAllString(err.Error(), ""))
	_, err = n.step(ctx, w, o, "apologize", always(1))
	return o, err
}

// sleepy sleeps in memory and in the store.
func (n *node) sleepy(ctx context.Context, w *svc.Work, _ nothing) (outcome, error) {
	o := newOutcome()
	if _, err := n.step(ctx, w, o, "before", always(1)); err != nil {
		return o, err
	}
	began := w.Now()
	w.Log("tired")
	if err := w.Sleep(ctx, parkAfter/4); err != nil {
		return o, err
	}
	w.Log("dozed")
	if err := w.Sleep(ctx, parked); err != nil {
		return o, err
	}
	w.Log("slept")
	if w.Now().Sub(began) < parkAfter/4+parked {
		return o, errors.New("woken too early")
	}
	if err := w.Sleep(ctx, parked); err != nil {
		return o, err
	}
	_, err := n.step(ctx, w, o, "after", always(2))
	w.Log("awake")
	return o, err
}

// drawn uses values that are random by nature: whoever sees one must see the same one.
func (n *node) drawn(ctx context.Context, w *svc.Work, _ nothing) (outcome, error) {
	o := newOutcome()
	first := fmt.Sprint(w.Random())
	w.Log("drew", "first", first)
	takes(8 * time.Millisecond) // the line is appended with the value
	at := w.Now().Format(time.RFC3339Nano)
	used, err := svc.Step(ctx, w, "use", func(context.Context) ([]string, error) {
		return []string{first, at, n.effect(w.RunID(), "use")}, nil
	})
	if err != nil {
		return o, err
	}
	second := fmt.Sprint(w.Random())
	w.Log("drew", "second", second)
	if used[0] != first || used[1] != at {
		return o, fmt.Errorf("values changed: the step used %v, now %s %s", used, first, at)
	}
	o.Tokens["use"] = used[2]
	o.Drawn["first"], o.Drawn["second"], o.Drawn["at"] = first, second, at
	return o, nil
}

// asks prompts an agent that calls tools, and once more.
func (n *node) asks(ctx context.Context, w *svc.Work, _ nothing) (outcome, error) {
	o := newOutcome()
	for _, play := range []string{"tools-twice", "word"} {
		if err := n.ask(ctx, w, o, play); err != nil {
			return o, err
		}
	}
	_, err := n.step(ctx, w, o, "after", always(1))
	return o, err
}

// asksATeam prompts an agent that hands on what it is asked.
func (n *node) asksATeam(ctx context.Context, w *svc.Work, _ nothing) (outcome, error) {
	o := newOutcome()
	return o, n.ask(ctx, w, o, "delegate")
}

func (n *node) ask(ctx context.Context, w *svc.Work, o outcome, play string) error {
	agent, err := n.rt.Agent(ctx, "talker")
	if err != nil {
		return err
	}
	answer, err := svc.Ask(ctx, w, agent, "play "+play)
	o.Values[play] = len(answer.Text)
	return err
}

// failing returns an error after it has done something.
func (n *node) failing(ctx context.Context, w *svc.Work, _ nothing) (outcome, error) {
	o := newOutcome()
	w.Log("begin")
	if _, err := n.step(ctx, w, o, "work", always(1)); err != nil {
		return o, err
	}
	w.Log("recorded", "step", "work", "token", o.Tokens["work"])
	return o, errors.New("failed on purpose")
}

// cancelled has a step that asks for the end of its own run.
func (n *node) cancelled(ctx context.Context, w *svc.Work, _ nothing) (outcome, error) {
	o := newOutcome()
	if _, err := n.step(ctx, w, o, "work", always(1)); err != nil {
		return o, err
	}
	w.Log("recorded", "step", "work", "token", o.Tokens["work"])
	_, err := n.step(ctx, w, o, "regret", func(ctx context.Context) (int, error) {
		if _, err := n.rt.CancelRun(ctx, w.RunID()); err != nil {
			return 0, err
		}
		<-ctx.Done()
		return 0, ctx.Err()
	})
	w.Log("went on") // must never be seen
	return o, err
}

// cancelledAsleep would sleep for an hour.
func (n *node) cancelledAsleep(ctx context.Context, w *svc.Work, _ nothing) (outcome, error) {
	o := newOutcome()
	if _, err := n.step(ctx, w, o, "work", always(1)); err != nil {
		return o, err
	}
	w.Log("recorded", "step", "work", "token", o.Tokens["work"])
	w.Log("asleep")
	err := w.Sleep(ctx, time.Hour)
	w.Log("went on") // must never be seen
	return o, err
}

func (n *node) echo(_ context.Context, _ *svc.Work, in map[string]any) (map[string]any, error) {
	return in, nil
}

// march takes many steps, each of them a while.
func (n *node) march(ctx context.Context, w *svc.Work, in struct {
	Steps int `json:"steps"`
	Ms    int `json:"ms"`
}) (outcome, error) {
	o := newOutcome()
	for i := range in.Steps {
		if _, err := n.step(ctx, w, o, fmt.Sprintf("step/%d", i), func(context.Context) (int, error) {
			takes(time.Duration(in.Ms) * time.Millisecond)
			return i, nil
		}); err != nil {
			return o, err
		}
	}
	return o, nil
}

// held cannot go on at the node named "a".
func (n *node) held(ctx context.Context, w *svc.Work, _ nothing) (outcome, error) {
	o := newOutcome()
	if _, err := n.step(ctx, w, o, "easy", always(1)); err != nil {
		return o, err
	}
	_, err := n.step(ctx, w, o, "hard", func(ctx context.Context) (int, error) {
		if n.Name == "a" {
			<-ctx.Done()
		}
		return 2, ctx.Err()
	})
	return o, err
}

// deadly has a step that no process survives.
func (n *node) deadly(ctx context.Context, w *svc.Work, _ nothing) (outcome, error) {
	o := newOutcome()
	if _, err := n.step(ctx, w, o, "work", always(1)); err != nil {
		return o, err
	}
	_, err := n.step(ctx, w, o, "die", func(context.Context) (int, error) {
		die()
		return 0, nil
	})
	return o, err
}

// dangerous has three steps that each take two processes along before they go through.
func (n *node) dangerous(ctx context.Context, w *svc.Work, _ nothing) (outcome, error) {
	o := newOutcome()
	for i := range 3 {
		label := fmt.Sprintf("risk/%d", i)
		if _, err := n.step(ctx, w, o, label, func(context.Context) (int, error) {
			if len(effectsOf(n.Effects, w.RunID())[label]) <= 2 {
				die()
			}
			return i, nil
		}); err != nil {
			return o, err
		}
	}
	return o, nil
}

// gated waits inside a step until the gate is open.
func (n *node) gated(ctx context.Context, w *svc.Work, _ nothing) (outcome, error) {
	o := newOutcome()
	_, err := n.step(ctx, w, o, "wait", func(ctx context.Context) (int, error) {
		for ctx.Err() == nil {
			if _, err := os.Stat(n.Gate); err == nil {
				return 1, nil
			}
			takes(5 * time.Millisecond)
		}
		return 0, ctx.Err()
	})
	return o, err
}

func raw(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	return json.RawMessage(text)
}
