package outage_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/model"
	"svc.dev/svc/model/scripted"
)

// declare adds what the contract has not: work that waits until its gate is opened, and tells when it begins and ends.
func (n *node) declare(rt *svc.Runtime) {
	hold, doze := svc.NewWorkflow("hold", n.hold), svc.NewWorkflow("doze", n.doze)
	for _, wf := range []*svc.Workflow{hold, doze} {
		wf.Route, wf.Runs = svc.Open, svc.Open
	}
	rt.AddWorkflow(hold, doze)
	rt.AddAgent(&svc.Agent{
		Name: "holder", Model: "held/any", Route: svc.Open,
		Tools: []svc.Tool{svc.NewTool("hold", "Waits.", func(ctx context.Context, in heldCall) (string, error) {
			return "waited", n.linger(ctx, in.Stream, "tool", false)
		})},
	})
}

type heldCall struct {
	Stream string `json:"stream"`
}

// linger is work in progress: it waits until its gate is open, or its context ends unless it is deaf.
func (n *node) linger(ctx context.Context, stream, label string, deaf bool) error {
	token := rand.Text()
	n.diary.enter(began, stream, label, token)
	over := ctx.Done()
	if deaf {
		over = nil
	}
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for {
		if _, err := os.Stat(n.Gate); err == nil {
			n.diary.enter(ended, stream, label, token)
			return nil
		}
		select {
		case <-over:
			n.diary.enter(quit, stream, label, token)
			return context.Cause(ctx)
		case <-look.C:
		}
	}
}

// openGate lets the work that lingers before a gate end.
func openGate(t testing.TB, s setup) {
	t.Helper()
	if err := os.WriteFile(s.Gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

type holding struct {
	Steps int  `json:"steps"`
	Deaf  bool `json:"deaf,omitempty"`
	Ask   bool `json:"ask,omitempty"`
}

// hold is a run whose steps linger, or the model that it asks.
func (n *node) hold(ctx context.Context, w *svc.Work, in holding) (string, error) {
	if in.Ask {
		if _, err := svc.Ask(ctx, w, &svc.Agent{Name: "asked", Model: "held/any"}, "model "+w.RunID()); err != nil {
			return "", err
		}
	}
	for i := range in.Steps {
		name := fmt.Sprintf("hold-%d", i)
		_, err := svc.Step(ctx, w, name, func(ctx context.Context) (string, error) {
			w.Log("at", "node", n.Name)
			return n.Name, n.linger(ctx, w.RunID(), name, in.Deaf)
		})
		if err != nil {
			return "", err
		}
	}
	return "held", nil
}

type dozing struct {
	Millis int `json:"millis"`
	Times  int `json:"times"`
}

// doze is a run that sleeps.
func (n *node) doze(ctx context.Context, w *svc.Work, in dozing) (string, error) {
	for i := range in.Times {
		n.diary.enter(dozed, w.RunID(), fmt.Sprint(i), "")
		if err := w.Sleep(ctx, time.Duration(in.Millis)*time.Millisecond); err != nil {
			return "", err
		}
		n.diary.enter(woke, w.RunID(), fmt.Sprint(i), "")
	}
	return "slept", nil
}

// heldModel does what a prompt names: "model ID" lingers itself, "tool ID" calls a tool that does, "busy ID N" wants to be
// asked again after N milliseconds. Afterwards it says so.
type heldModel struct{ n *node }

func (m heldModel) Turn(ctx context.Context, r model.Request) iter.Seq2[model.Event, error] {
	what, stream, called := asked(r.Messages)
	var turn scripted.Turn
	switch {
	case what == "tool" && !called:
		turn = scripted.Turn{scripted.Say("calling"), scripted.CallAs(model.ToolCall{
			ID: "call_" + rand.Text(), Name: "hold", Input: json.RawMessage(fmt.Sprintf(`{"stream":%q}`, stream)),
		})}
	case what == "tool":
		m.seen(stream) // perhaps it is another node that goes on here
		turn = scripted.Turn{scripted.Say("done")}
	case what == "busy":
		instance, millis, _ := strings.Cut(stream, " ")
		m.seen(instance)
		turn = scripted.Turn{scripted.Say("done")}
		if m.n.first(instance) {
			n, _ := strconv.Atoi(millis)
			turn = scripted.Turn{scripted.Fail(&model.Error{Class: model.Overloaded, Message: "busy", RetryAfter: time.Duration(n) * time.Millisecond})}
		}
	default:
		return m.lingering(ctx, stream)
	}
	return scripted.New(turn).Turn(ctx, r)
}

// seen enters that the model was asked.
func (m heldModel) seen(stream string) {
	token := rand.Text()
	m.n.diary.enter(began, stream, "model", token)
	m.n.diary.enter(ended, stream, "model", token)
}

// first reports, of all nodes to one, that something is done for the first time.
func (n *node) first(what string) bool {
	f, err := os.OpenFile(n.Gate+"."+what, os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return false
	}
	f.Close()
	return true
}

// lingering says a word, lingers, and says another.
func (m heldModel) lingering(ctx context.Context, stream string) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		if !yield(model.Event{Type: model.TextDelta, Text: "thinking "}, nil) {
			return
		}
		if err := m.n.linger(ctx, stream, "model", false); err != nil {
			yield(model.Event{}, err)
			return
		}
		for event, err := range scripted.New(scripted.Turn{scripted.Say("done")}).Turn(ctx, model.Request{}) {
			if !yield(event, err) {
				return
			}
		}
	}
}

// asked is what the last prompt wants, and whether its tool has been called since.
func asked(messages []model.Message) (what, stream string, called bool) {
	for _, m := range slices.Backward(messages) {
		if m.Role == model.RoleTool {
			called = true
		}
		if m.Role != model.RoleUser || len(m.Parts) == 0 || m.Parts[0].Text == nil {
			continue
		}
		what, stream, _ = strings.Cut(*m.Parts[0].Text, " ")
		if what == "tool" || what == "model" || what == "busy" {
			return what, stream, called
		}
	}
	return "", "", called
}
