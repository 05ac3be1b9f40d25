package svc_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"svc.dev/svc"
	"svc.dev/svc/memory"
	"svc.dev/svc/model"
	"svc.dev/svc/model/scripted"
)

// talkative is a model that says so many bytes each turn, counts them as one token, and calls a tool, until it has had its turns.
func talkative(turns int32, bytes int) (*scripted.Provider, svc.Tool) {
	var n atomic.Int32
	text := slices.Repeat([]string{strings.Repeat("x", 64<<10)}, max(1, bytes>>16))
	tool := svc.NewTool("more", "More.", func(context.Context, struct{}) (string, error) { return "go on", nil })
	return scripted.Choose(func(model.Request) scripted.Turn {
		if n.Add(1) > turns {
			return scripted.Turn{scripted.Say("done")}
		}
		return scripted.Turn{scripted.Say(text...), scripted.Call("more", struct{}{}), scripted.Finish(model.Finish{
			Reason: model.ToolUse, Usage: model.Usage{TotalTokens: 1},
		})}
	}), tool
}

// TestEachTurnWaitsForTheMemoryOfThoseBefore lets one submission grow while there is little memory: it is parked, says why, and goes on.
func TestEachTurnWaitsForTheMemoryOfThoseBefore(t *testing.T) {
	p, more := talkative(20, 256<<10)
	declare, configure := talking(p, func(a *svc.Agent) { a.Tools, a.Context = []svc.Tool{more}, 1<<40 })
	n := start(t, sqlite(t), declare, configure, func(c *svc.Config) { c.Memory = memory.New(16 << 20) })
	taken, err := n.Memory().Try("", memory.Bodies, 12<<20)
	if err != nil {
		t.Fatal(err)
	}
	n.prompt(t, "1", "go")
	eventually(t, "the prompt waits", func() bool {
		queue, err := n.Submissions(t.Context(), "a", "1")
		return err == nil && len(queue) == 1 && queue[0].Reason == svc.ReasonMemory
	})
	taken.Release()
	told := n.updates(t, "1", 0, 1)
	expect(t, "outcome", told[len(told)-1].Outcome, "completed")
}

// TestAConversationStaysBelowWhatItsScopeMayHave lets one submission grow beyond all there is.
func TestAConversationStaysBelowWhatItsScopeMayHave(t *testing.T) {
	p, more := talkative(20, 3<<20)
	declare, configure := talking(p, func(a *svc.Agent) { a.Tools, a.Context = []svc.Tool{more}, 1<<40 })
	n := start(t, sqlite(t), declare, configure, func(c *svc.Config) { c.Memory = memory.New(8 << 20) })
	n.prompt(t, "1", "go")
	eventually(t, "it ends", func() bool {
		queue, err := n.Submissions(t.Context(), "a", "1")
		return err == nil && len(queue) == 0
	})
	told := n.updates(t, "1", 0, 1)
	end := told[len(told)-1]
	expect(t, "outcome", end.Outcome, "failed")
	if end.Error == nil || end.Error.Type != "record_too_large" {
		t.Errorf("error: %+v", end.Error)
	}
	// A turn that was interrupted, because its lease lapsed on a machine that takes its time, is asked for again.
	if asked := len(p.Requests()); asked > 6 {
		t.Errorf("the model was asked %d times", asked)
	}
}

// TestAContextIsCountedWhateverItsProviderSays sums up what a provider counts as next to nothing.
func TestAContextIsCountedWhateverItsProviderSays(t *testing.T) {
	p, more := talkative(20, 100<<10)
	summaries := 0
	n := startAgent(t, sqlite(t), p, func(a *svc.Agent) { a.Tools = []svc.Tool{more} })
	n.prompt(t, "1", "go")
	n.updates(t, "1", 0, 1)
	for _, r := range p.Requests() {
		if len(r.Tools) == 0 {
			summaries++
		}
	}
	if summaries == 0 {
		t.Error("nothing was summed up")
	}
}
