package svc_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/conversation"
	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/model"
	"svc.dev/svc/model/scripted"
)

// definitions are versions of one agent, found by Resolve.
type definitions struct {
	mu      sync.Mutex
	newest  string
	missing map[string]bool
	retired bool
	label   string
}

func (d *definitions) change(fn func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	fn()
}

func (d *definitions) resolve(_ context.Context, _, name, version string) (*svc.Agent, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if version == "" {
		version = d.newest
	}
	if d.missing[version] || name != "a" {
		return nil, nil
	}
	return &svc.Agent{Name: "a", Instructions: "As " + version, Model: "scripted/test", Version: version, Label: d.label, Retired: d.retired}, nil
}

// startResolved is a node that finds its agent by Resolve alone.
func startResolved(t *testing.T, address string, d *definitions, p model.Provider) *node {
	t.Helper()
	_, configure := talking(p)
	return start(t, address, func(*svc.Runtime) {}, configure, func(c *svc.Config) {
		c.Resolve, c.Park, c.ModelRetry = d.resolve, time.Nanosecond, 20*time.Millisecond
	})
}

// TestWorkWaitsForTheVersionThatItBeganWith takes the version of a reply away while its model is asked, and puts another in its place.
func TestWorkWaitsForTheVersionThatItBeganWith(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, address string) {
		d := &definitions{newest: "v1", missing: map[string]bool{}}
		var asked atomic.Int64
		p := scripted.Choose(func(model.Request) scripted.Turn {
			if asked.Add(1) > 1 {
				return scripted.Turn{scripted.Say("done")}
			}
			d.change(func() { d.newest, d.missing["v1"] = "v2", true })
			return scripted.Turn{scripted.Fail(&model.Error{Class: model.Network, Message: "cut"})}
		})
		n := startResolved(t, address, d, p)
		n.prompt(t, "42", "hi")
		eventually(t, "it waits for its definition", func() bool {
			queue, err := n.Submissions(t.Context(), "a", "42")
			return err == nil && len(queue) == 1 && queue[0].State == svc.StateParked && queue[0].Reason == svc.ReasonDefinition
		})
		expect(t, "asked", asked.Load(), 1)
		n.prompt(t, "43", "hi") // others are worked on by what there is
		n.updates(t, "43", 0, 1)
		d.change(func() { d.missing["v1"] = false })
		expect(t, "updates", retold(n.updates(t, "42", 0, 1)), "user(hi) | started | done | completed | settled completed")
		for _, r := range p.Requests() {
			if want := map[bool]string{true: "As v1", false: "As v2"}[r.Affinity == p.Requests()[0].Affinity]; r.System != want {
				t.Errorf("the model was told %q, want %q", r.System, want)
			}
		}
		if got := n.history(t, "42"); strings.Count(got, `"agentVersion":"v1"`) != 2 {
			t.Errorf("history says %s", got)
		}
	})
}

// TestReadersSeeTheLabelOfAVersion has a version that only Resolve understands.
func TestReadersSeeTheLabelOfAVersion(t *testing.T) {
	d := &definitions{newest: "kept-elsewhere-3", label: "3"}
	n := startResolved(t, sqlite(t), d, scripted.Choose(func(model.Request) scripted.Turn { return scripted.Turn{scripted.Say("done")} }))
	n.prompt(t, "42", "hi")
	n.updates(t, "42", 0, 1)
	f := n.Follow(n.AgentStream("a", "42"))
	defer f.Close()
	page, err := f.Page(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for what, got := range map[string]string{"history": n.history(t, "42"), "updates": string(page.JSON())} {
		if strings.Count(got, `"agentVersion":"3"`) != 2 || strings.Contains(got, "elsewhere") {
			t.Errorf("%s says %s", what, got)
		}
	}
}

// TestARetiredAgentFinishesWhatItWasGiven retires an agent while one prompt is worked on and another waits behind it.
func TestARetiredAgentFinishesWhatItWasGiven(t *testing.T) {
	d := &definitions{newest: "v1", missing: map[string]bool{}}
	begun, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	p := scripted.Choose(func(model.Request) scripted.Turn {
		once.Do(func() { close(begun) })
		<-goOn
		return scripted.Turn{scripted.Say("done")}
	})
	n := startResolved(t, sqlite(t), d, p)
	n.prompt(t, "42", "one")
	n.prompt(t, "42", "two")
	<-begun
	d.change(func() { d.retired = true })
	_, err := n.Prompt(t.Context(), "a", "42", svc.Prompt{Message: conversation.Message{Kind: "user", Body: "three"}})
	if !fault.Is(err, fault.AgentNotFound) {
		t.Errorf("a prompt to it: %v", err)
	}
	if _, err := n.Dispatch(t.Context(), "a", "43", svc.Prompt{Message: conversation.Message{Kind: "user", Body: "three"}}); !fault.Is(err, fault.AgentNotFound) {
		t.Errorf("a dispatch to it: %v", err)
	}
	close(goOn)
	expect(t, "updates", retold(n.updates(t, "42", 0, 2)),
		"user(one) | started | done | completed | settled completed | user(two) | started | done | completed | settled completed")
}

// hasty is a store whose clock is ahead.
type hasty struct {
	svc.Store
	by time.Duration
}

func (h hasty) Claim(ctx context.Context, o svc.Owner, n int) (svc.Claimed, error) {
	c, err := h.Store.Claim(ctx, o, n)
	c.Now = c.Now.Add(h.by)
	return c, err
}

func (h hasty) Renew(ctx context.Context, o svc.Owner, held []svc.Lease) (svc.Renewed, error) {
	r, err := h.Store.Renew(ctx, o, held)
	r.Now = r.Now.Add(h.by)
	return r, err
}

// TestWorkDoesNotWaitForEverForItsAgent lets nobody answer which agent a prompt is for: it waits, and a day later it fails.
func TestWorkDoesNotWaitForEverForItsAgent(t *testing.T) {
	address := sqlite(t)
	var asked atomic.Int64
	_, configure := talking(scripted.New())
	resolving := func(c *svc.Config) {
		c.Resolve = func(_ context.Context, _, name, _ string) (*svc.Agent, error) {
			if asked.Add(1) > 1 {
				return nil, errors.New("no answer")
			}
			return &svc.Agent{Name: name, Model: "scripted/test"}, nil
		}
	}
	first := start(t, address, func(*svc.Runtime) {}, configure, resolving)
	first.prompt(t, "42", "hi")
	eventually(t, "it waits", func() bool {
		queue, err := first.Submissions(t.Context(), "a", "42")
		return err == nil && len(queue) == 1 && queue[0].Reason == svc.ReasonInterrupted
	})
	first.stop()
	second := start(t, address, func(*svc.Runtime) {}, configure, resolving, func(c *svc.Config) { c.Store = hasty{c.Store, 25 * time.Hour} })
	told := second.updates(t, "42", 0, 1)
	end := told[len(told)-1]
	if end.Outcome != "failed" || end.Error == nil || end.Error.Type != "submission_timeout" {
		t.Errorf("end: %+v", end)
	}
}
