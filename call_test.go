package svc_test

import (
	"context"
	"encoding/json"
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

// noting is a tool that notes what it is called for.
type noting struct {
	mu    sync.Mutex
	calls []svc.Call
}

func (n *noting) tool() svc.Tool {
	return svc.NewTool("note", "Notes.", func(ctx context.Context, _ struct{}) (string, error) {
		call, ok := svc.CallOf(ctx)
		if !ok {
			return "", errors.New("no call")
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		n.calls = append(n.calls, call)
		return "noted", nil
	})
}

func (n *noting) all() []svc.Call {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.calls
}

// TestToolLearnsWhatItIsCalledFor calls a tool by an agent, and by a sub-agent of it.
func TestToolLearnsWhatItIsCalledFor(t *testing.T) {
	var n noting
	node := startAgent(t, sqlite(t), scripted.Choose(func(r model.Request) scripted.Turn {
		sub := r.System == "You help."
		switch {
		case len(r.Messages) == 1 && sub:
			return scripted.Turn{scripted.Call("note", struct{}{})}
		case len(r.Messages) == 1:
			return scripted.Turn{scripted.Call("note", struct{}{}), scripted.Call("task", map[string]string{"agent": "helper", "prompt": "help"})}
		}
		return scripted.Turn{scripted.Say("done")}
	}), func(a *svc.Agent) {
		a.Tools = []svc.Tool{n.tool()}
		a.Agents = []*svc.Agent{{Name: "helper", Instructions: "You help.", Model: "scripted/test", Tools: a.Tools}}
	})
	p, err := node.Prompt(t.Context(), "a", "1", svc.Prompt{Message: conversation.Message{Kind: "user", Body: "go"}, By: "ada"})
	if err != nil {
		t.Fatal(err)
	}
	node.updates(t, "1", 0, 1)
	expect(t, "calls", len(n.all()), 2)
	agents, ids := map[string]bool{}, map[string]bool{}
	for _, c := range n.all() {
		agents[c.Agent], ids[c.ID] = true, true
		expect(t, "whose", c.By, "ada")
		expect(t, "instance", c.Instance, "1")
		expect(t, "submission", c.Submission, p.SubmissionID)
	}
	expect(t, "agents", agents["a"] && agents["helper"], true)
	expect(t, "ids", len(ids), 2)
	if _, ok := svc.CallOf(t.Context()); ok {
		t.Error("a context of no call has one")
	}
}

// TestToolOfARunIsCalledForWhoeverStartedIt asks an agent from a workflow.
func TestToolOfARunIsCalledForWhoeverStartedIt(t *testing.T) {
	var n noting
	agent := &svc.Agent{Name: "clerk", Model: "scripted/test", Tools: []svc.Tool{n.tool()}}
	node := start(t, sqlite(t), func(rt *svc.Runtime) {
		rt.AddWorkflow(svc.NewWorkflow("w", func(ctx context.Context, w *svc.Work, _ struct{}) (string, error) {
			answer, err := svc.Ask(ctx, w, agent, "go")
			return answer.Text, err
		}))
	}, func(c *svc.Config) {
		c.Model = model.Providers{"scripted": scripted.New(
			scripted.Turn{scripted.Call("note", struct{}{})}, scripted.Turn{scripted.Say("done")})}.Find
	})
	invoked, err := node.Invoke(t.Context(), "w", svc.Invocation{Wait: true, StartedBy: "ada"})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "result", string(invoked.Run.Result), `"done"`)
	expect(t, "calls", len(n.all()), 1)
	c := n.all()[0]
	expect(t, "whose", c.By, "ada")
	expect(t, "instance", c.Instance, invoked.RunID)
	expect(t, "agent", c.Agent, "clerk")
}

// TestToolThatMisbehavesEndsAsAResult hangs, panics, and answers with more than can be kept.
func TestToolThatMisbehavesEndsAsAResult(t *testing.T) {
	forever := make(chan struct{})
	t.Cleanup(func() { close(forever) })
	tool := func(name string, fn func(context.Context) (svc.ToolResult, error)) svc.Tool {
		return svc.RawTool(name, name, json.RawMessage(`{"type":"object"}`), func(ctx context.Context, _ json.RawMessage) (svc.ToolResult, error) { return fn(ctx) })
	}
	huge := strings.Repeat("x", 100<<20)
	deaf := tool("deaf", func(context.Context) (svc.ToolResult, error) { <-forever; return svc.ToolResult{}, nil })
	deaf.Timeout = 10 * time.Millisecond
	polite := tool("polite", func(ctx context.Context) (svc.ToolResult, error) { <-ctx.Done(); return svc.ToolResult{}, ctx.Err() })
	polite.Timeout = 10 * time.Millisecond
	tools := []svc.Tool{
		deaf, polite,
		tool("panics", func(context.Context) (svc.ToolResult, error) { panic("on purpose") }),
		tool("shouts", func(context.Context) (svc.ToolResult, error) {
			return svc.ToolResult{Content: []svc.ToolContent{{Text: huge}}}, nil
		}),
		tool("paints", func(context.Context) (svc.ToolResult, error) {
			return svc.ToolResult{Content: []svc.ToolContent{{MimeType: "image/png", Data: []byte(huge)}}}, nil
		}),
		tool("curses", func(context.Context) (svc.ToolResult, error) { return svc.ToolResult{}, errors.New(huge) }),
	}
	var calls scripted.Turn
	for _, one := range tools {
		calls = append(calls, scripted.Call(one.Name, struct{}{}))
	}
	n := startAgent(t, sqlite(t), scripted.New(calls, scripted.Turn{scripted.Say("I see")}), func(a *svc.Agent) { a.Tools = tools })
	n.prompt(t, "1", "go")
	said := map[string]string{}
	names := map[string]string{}
	for _, c := range n.updates(t, "1", 0, 1) {
		switch c.Type {
		case "tool-input":
			names[c.ToolCallID] = c.ToolName
		case "tool-output-error":
			said[names[c.ToolCallID]] = c.ErrorText
		case "submission-settled":
			expect(t, "outcome", c.Outcome, "completed")
		}
	}
	for name, want := range map[string]string{
		"deaf": "the tool took longer than 10ms", "polite": "the tool took longer than 10ms", "panics": "the tool failed inside",
		"shouts": "The output is too large to be recorded.", "paints": "the images of the result are larger than 16 MiB",
	} {
		expect(t, name, said[name], want)
	}
	if got := said["curses"]; len(got) == 0 || len(got) > 65<<10 {
		t.Errorf("curses: %d bytes", len(got))
	}
}

// colleagues declares an agent that may ask all others, and others that do as they are told.
func colleagues(n *noting, may func(context.Context, string) error) func(*svc.Runtime) {
	ask := svc.AskTool("ask_agent", "Asks.", may)
	return func(rt *svc.Runtime) {
		for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
			rt.AddAgent(&svc.Agent{Name: name, Instructions: name, Model: "scripted/test", Tools: []svc.Tool{ask, n.tool()}})
		}
	}
}

// chain lets each agent ask the next of a list, and the last one answer.
func chain(names ...string) model.Provider {
	return scripted.Choose(func(r model.Request) scripted.Turn {
		last := r.Messages[len(r.Messages)-1]
		if last.Role == model.RoleTool {
			return scripted.Turn{scripted.Say(r.System + " heard: " + *last.Parts[0].Result.Content[0].Text)}
		}
		for i, name := range names[:len(names)-1] {
			if r.System == name && len(r.Messages) == 1 {
				return scripted.Turn{scripted.Call("ask_agent", map[string]string{"agent": names[i+1], "prompt": "go on"})}
			}
		}
		return scripted.Turn{scripted.Say("it is " + r.System)}
	})
}

func TestAgentsAskEachOtherWithinBounds(t *testing.T) {
	all := func(context.Context, string) error { return nil }
	for _, c := range []struct {
		name, want string
		chain      []string
		may        func(context.Context, string) error
	}{
		{"one", "a heard: it is b", []string{"a", "b"}, all},
		{"three", "a heard: b heard: c heard: it is d", []string{"a", "b", "c", "d"}, all},
		{"itself", `a heard: The agent "a" waits for this answer itself.`, []string{"a", "a"}, all},
		{"in a circle", `a heard: b heard: The agent "a" waits for this answer itself.`, []string{"a", "b", "a"}, all},
		{"too deep", "a heard: b heard: c heard: d heard: e heard: Tasks go at most 4 deep.", []string{"a", "b", "c", "d", "e", "f"}, all},
		{"nobody", `a heard: No agent named "nobody". Check the name.`, []string{"a", "nobody"}, all},
		{"refused", "a heard: not you", []string{"a", "b"}, func(context.Context, string) error { return errors.New("not you") }},
		{"a question that breaks", "a heard: the tool failed inside", []string{"a", "b"}, func(context.Context, string) error { panic("on purpose") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			var n noting
			node := start(t, sqlite(t), colleagues(&n, c.may), func(config *svc.Config) {
				config.Model = model.Providers{"scripted": chain(c.chain...)}.Find
			})
			node.prompt(t, "1", "go")
			told := retold(node.updates(t, "1", 0, 1))
			if !strings.Contains(told, "| "+c.want+" | completed | settled completed") {
				t.Errorf("told: %s, want %q", told, c.want)
			}
		})
	}
}

// TestAskedAgentGoesOnWithItsVersion stops a node while an agent is asked. Another goes on: the version
// that began answers though there is a newer one, and what it had called is not called again.
func TestAskedAgentGoesOnWithItsVersion(t *testing.T) {
	address := sqlite(t)
	var newest atomic.Pointer[string]
	version := "1"
	newest.Store(&version)
	var begun atomic.Int32
	var versions sync.Map
	ask := svc.AskTool("ask_agent", "Asks.", func(context.Context, string) error { begun.Add(1); return nil })
	var notes noting
	resolve := func(_ context.Context, _, name, version string) (*svc.Agent, error) {
		if name != "stored" {
			return nil, nil
		}
		if version == "" {
			version = *newest.Load()
		}
		return &svc.Agent{Name: name, Version: version, Instructions: "stored " + version, Model: "scripted/test", Tools: []svc.Tool{notes.tool()}}, nil
	}
	hangs := atomic.Bool{}
	hangs.Store(true)
	script := scripted.Choose(func(r model.Request) scripted.Turn {
		last := r.Messages[len(r.Messages)-1]
		stored := strings.HasPrefix(r.System, "stored ")
		if stored {
			versions.Store(r.System, true)
		}
		switch {
		case stored && len(r.Messages) == 1:
			return scripted.Turn{scripted.Call("note", struct{}{})}
		case stored && hangs.Load():
			return scripted.Turn{scripted.Hang()}
		case stored:
			return scripted.Turn{scripted.Say("answered by " + r.System)}
		case last.Role == model.RoleTool:
			return scripted.Turn{scripted.Say("done")}
		}
		return scripted.Turn{scripted.Call("ask_agent", map[string]string{"agent": "stored", "prompt": "well?"})}
	})
	declare, config := talking(script, func(a *svc.Agent) { a.Tools = []svc.Tool{ask} })
	resolving := func(c *svc.Config) { c.Resolve = resolve; c.StopTimeout = 50 * time.Millisecond }
	first := start(t, address, declare, config, resolving)
	first.prompt(t, "1", "go")
	eventually(t, "the agent is asked", func() bool { return len(notes.all()) == 1 })
	first.stop()
	hangs.Store(false)
	two := "2"
	newest.Store(&two)
	second := start(t, address, declare, config, resolving)
	told := retold(second.updates(t, "1", 0, 1))
	if !strings.Contains(told, `output "answered by stored 1"`) || !strings.HasSuffix(told, "settled completed") {
		t.Errorf("told: %s", told)
	}
	expect(t, "judged", begun.Load(), 2) // each holder asks whether it may
	expect(t, "notes", len(notes.all()), 1)
	if _, ok := versions.Load("stored 2"); ok {
		t.Error("another version went on")
	}
}

// TestInterruptedCallIsMadeAgainOnlyIfItsToolRepeats leaves two calls behind with the first node.
func TestInterruptedCallIsMadeAgainOnlyIfItsToolRepeats(t *testing.T) {
	address := sqlite(t)
	var once, often, stays atomic.Int32
	stays.Store(1)
	tool := func(name string, calls *atomic.Int32) svc.Tool {
		return svc.NewTool(name, name, func(ctx context.Context, _ struct{}) (string, error) {
			calls.Add(1)
			if stays.Load() == 1 {
				<-ctx.Done()
				return "", ctx.Err()
			}
			call, _ := svc.CallOf(ctx)
			return call.ID, nil
		})
	}
	repeats := tool("repeats", &often)
	repeats.Repeats = true
	change := func(a *svc.Agent) { a.Tools = []svc.Tool{tool("once", &once), repeats} }
	declare, config := talking(scripted.New(scripted.Turn{scripted.Call("once", struct{}{}), scripted.Call("repeats", struct{}{})}), change)
	first := start(t, address, declare, config, func(c *svc.Config) { c.StopTimeout = 50 * time.Millisecond })
	first.prompt(t, "1", "go")
	eventually(t, "both are called", func() bool { return once.Load() == 1 && often.Load() == 1 })
	first.stop()
	stays.Store(0)
	second := startAgent(t, address, scripted.New(scripted.Turn{scripted.Say("done")}), change)
	ids := map[string]string{}
	outputs := map[string]string{}
	for _, c := range second.updates(t, "1", 0, 1) {
		switch c.Type {
		case "tool-input":
			ids[c.ToolName] = c.ToolCallID
		case "tool-output":
			outputs[c.ToolCallID] = string(c.Output)
		}
	}
	expect(t, "once", once.Load(), 1)
	expect(t, "repeats", often.Load(), 2)
	if got := outputs[ids["repeats"]]; !strings.HasSuffix(got, "/"+ids["repeats"]+`"`) {
		t.Errorf("its call: %s", got)
	}
	expect(t, "the other's output", outputs[ids["once"]], "")
}

// starts is a tool that starts a workflow and waits for it, each call once.
func starts(rt func() *svc.Runtime) svc.Tool {
	t := svc.NewTool("start", "Starts.", func(ctx context.Context, _ struct{}) (string, error) {
		call, _ := svc.CallOf(ctx)
		invoked, err := rt().Invoke(ctx, "w", svc.Invocation{Key: call.ID, Wait: true})
		if err != nil {
			return "", err
		}
		return invoked.RunID + " " + string(invoked.Run.Result), nil
	})
	t.Repeats = true
	return t
}

// TestACallThatRepeatsIsLeftToTheNextNode stops a node while a tool waits for a run. No result is recorded of what did not end: the
// next node makes the call again, and it finds the run that it began.
func TestACallThatRepeatsIsLeftToTheNextNode(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		var begun atomic.Int32
		var rt atomic.Pointer[svc.Runtime]
		script := scripted.New(scripted.Turn{scripted.Call("start", struct{}{})}, scripted.Turn{scripted.Say("done")})
		declare, config := talking(script, func(a *svc.Agent) { a.Tools = []svc.Tool{starts(rt.Load)} })
		both := func(r *svc.Runtime) {
			declare(r)
			rt.Store(r)
			r.AddWorkflow(svc.NewWorkflow("w", func(ctx context.Context, w *svc.Work, _ struct{}) (int, error) {
				begun.Add(1)
				return 42, w.Sleep(ctx, time.Second)
			}))
		}
		first := start(t, address, both, config)
		first.prompt(t, "1", "go")
		eventually(t, "the run begins", func() bool { return begun.Load() == 1 })
		first.stop()
		second := start(t, address, both, config)
		told := retold(second.updates(t, "1", 0, 1))
		runs, err := second.ListRuns(t.Context(), svc.RunFilter{Limit: 10})
		if err != nil || len(runs.Runs) != 1 {
			t.Fatalf("runs: %+v, %v", runs, err)
		}
		if want := `output "` + runs.Runs[0].RunID + ` 42"`; !strings.Contains(told, want) || !strings.HasSuffix(told, "settled completed") {
			t.Errorf("told: %s, want %s", told, want)
		}
	})
}

// TestACallThatRepeatsIsMadeAgainWhenItIsAnswered meets what is not available, twice. Another tool's call ends with that.
func TestACallThatRepeatsIsMadeAgainWhenItIsAnswered(t *testing.T) {
	var often, once atomic.Int32
	tool := func(name string, calls *atomic.Int32) svc.Tool {
		return svc.NewTool(name, name, func(context.Context, struct{}) (string, error) {
			if calls.Add(1) <= 2 {
				return "", fault.NotAvailable("busy").Because(svc.ErrUnavailable)
			}
			return "done", nil
		})
	}
	repeats := tool("repeats", &often)
	repeats.Repeats = true
	n := startAgent(t, sqlite(t), scripted.New(
		scripted.Turn{scripted.Call("once", struct{}{}), scripted.Call("repeats", struct{}{})}, scripted.Turn{scripted.Say("well")},
	), func(a *svc.Agent) { a.Tools = []svc.Tool{tool("once", &once), repeats} })
	n.prompt(t, "1", "go")
	told := retold(n.updates(t, "1", 0, 1))
	if !strings.Contains(told, `error What the tool needs is not available now.`) || !strings.Contains(told, `output "done"`) {
		t.Errorf("told: %s", told)
	}
	expect(t, "once", once.Load(), 1)
	expect(t, "repeats", often.Load(), 3)
}

// busiest counts those that are at something, and how many were at most. The first of them wait until so many are.
type busiest struct {
	now, most, all atomic.Int32
	full           chan struct{} // closed when nobody waits any more
}

func (b *busiest) tool() svc.Tool {
	return svc.NewTool("work", "Works.", func(ctx context.Context, _ struct{}) (string, error) {
		b.all.Add(1)
		now := b.now.Add(1)
		defer b.now.Add(-1)
		for most := b.most.Load(); now > most && !b.most.CompareAndSwap(most, now); most = b.most.Load() {
		}
		select {
		case <-b.full:
			return "done", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
}

// times is a turn that does one thing again and again.
func times(n int, step func(i int) scripted.Step) (turn scripted.Turn) {
	for i := range n {
		turn = append(turn, step(i))
	}
	return turn
}

// TestAReplyCallsFewToolsAtOnceAndNotTooMany gets a thousand calls in one reply. Each has a result.
func TestAReplyCallsFewToolsAtOnceAndNotTooMany(t *testing.T) {
	b := busiest{full: make(chan struct{})}
	n := startAgent(t, sqlite(t), scripted.New(
		times(1000, func(int) scripted.Step { return scripted.Call("work", struct{}{}) }), scripted.Turn{scripted.Say("I see")},
	), func(a *svc.Agent) { a.Tools = []svc.Tool{b.tool()} })
	n.prompt(t, "1", "go")
	eventually(t, "eight are at work", func() bool { return b.now.Load() == 8 })
	close(b.full)
	done, refused := 0, 0
	for _, c := range n.updates(t, "1", 0, 1) {
		switch {
		case c.Type == "tool-output":
			done++
		case c.Type == "tool-output-error" && c.ErrorText == "The call was not made: a reply makes at most 128.":
			refused++
		case c.Type == "submission-settled":
			expect(t, "outcome", c.Outcome, "completed")
		}
	}
	expect(t, "done", done, 128)
	expect(t, "refused", refused, 872)
	expect(t, "at once", b.most.Load(), 8)
	expect(t, "calls", b.all.Load(), 128)
}

// TestOneAnswerTakesFewTasks lets an agent ask seventy times, and those that it asks work: together they are not more at once than one
// would be.
func TestOneAnswerTakesFewTasks(t *testing.T) {
	b := busiest{full: make(chan struct{})}
	script := scripted.Choose(func(r model.Request) scripted.Turn {
		switch {
		case len(r.Messages) > 1:
			return scripted.Turn{scripted.Say("done")}
		case r.System == "You help.":
			return times(3, func(int) scripted.Step { return scripted.Call("work", struct{}{}) })
		}
		return times(70, func(int) scripted.Step {
			return scripted.Call("task", map[string]string{"agent": "helper", "prompt": "help"})
		})
	})
	n := startAgent(t, sqlite(t), script, func(a *svc.Agent) {
		a.Agents = []*svc.Agent{{Name: "helper", Instructions: "You help.", Model: "scripted/test", Tools: []svc.Tool{b.tool()}}}
	})
	n.prompt(t, "1", "go")
	eventually(t, "eight are at work", func() bool { return b.now.Load() == 8 })
	close(b.full)
	told := retold(n.updates(t, "1", 0, 1))
	expect(t, "answered", strings.Count(told, `output "done"`), 64)
	expect(t, "refused", strings.Count(told, "error One answer takes at most 64 tasks."), 6)
	expect(t, "at once", b.most.Load(), 8)
	expect(t, "calls", b.all.Load(), 3*64)

	// The next answer has as many.
	n.prompt(t, "1", "again")
	told = retold(n.updates(t, "1", 0, 2))
	expect(t, "settled", strings.HasSuffix(told, "settled completed"), true)
}

// TestCallsAreToldApartWhateverTheirModelCallsThem names every call 0, in two replies and twice in one: each starts a run of its own.
func TestCallsAreToldApartWhateverTheirModelCallsThem(t *testing.T) {
	var rt atomic.Pointer[svc.Runtime]
	zero := scripted.CallAs(model.ToolCall{ID: "0", Name: "start", Input: json.RawMessage(`{}`)})
	odd := scripted.CallAs(model.ToolCall{ID: strings.Repeat("x", 1<<20), Name: "start", Input: json.RawMessage(`{}`)})
	declare, config := talking(scripted.New(
		scripted.Turn{zero}, scripted.Turn{zero, zero, odd, odd}, scripted.Turn{scripted.Say("done")},
	), func(a *svc.Agent) { a.Tools = []svc.Tool{starts(rt.Load)} })
	n := start(t, sqlite(t), func(r *svc.Runtime) {
		declare(r)
		rt.Store(r)
		r.AddWorkflow(svc.NewWorkflow("w", func(context.Context, *svc.Work, struct{}) (int, error) { return 42, nil }))
	}, config)
	n.prompt(t, "1", "go")
	outputs, ids := map[string]bool{}, map[string]bool{}
	for _, c := range n.updates(t, "1", 0, 1) {
		if c.Type == "tool-output" {
			outputs[string(c.Output)] = true
			ids[c.ToolCallID] = len(c.ToolCallID) <= 256
		}
	}
	expect(t, "results", len(outputs), 5)
	expect(t, "ids", len(ids), 4) // two replies begin with 0
	for id, short := range ids {
		if !short {
			t.Errorf("an id of %d bytes", len(id))
		}
	}
	runs, err := n.ListRuns(t.Context(), svc.RunFilter{})
	if err != nil || len(runs.Runs) != 5 {
		t.Errorf("%d runs, %v", len(runs.Runs), err)
	}
}

// TestAnAskedAgentIsWaitedFor stops a node while an agent is asked, and takes the version away that it began with: the prompt waits
// until it is found again.
func TestAnAskedAgentIsWaitedFor(t *testing.T) {
	address := sqlite(t)
	var gone, hangs atomic.Bool
	hangs.Store(true)
	var asked atomic.Int32
	ask := svc.AskTool("ask_agent", "Asks.", func(context.Context, string) error { return nil })
	script := scripted.Choose(func(r model.Request) scripted.Turn {
		switch {
		case r.System == "stored" && hangs.Load():
			asked.Add(1)
			return scripted.Turn{scripted.Hang()}
		case r.System == "stored":
			return scripted.Turn{scripted.Say("found")}
		case len(r.Messages) > 1:
			return scripted.Turn{scripted.Say("done")}
		}
		return scripted.Turn{scripted.Call("ask_agent", map[string]string{"agent": "stored", "prompt": "well?"})}
	})
	declare, config := talking(script, func(a *svc.Agent) { a.Tools = []svc.Tool{ask} })
	resolving := func(c *svc.Config) {
		c.StopTimeout = 50 * time.Millisecond
		c.Resolve = func(_ context.Context, _, name, version string) (*svc.Agent, error) {
			if name != "stored" || gone.Load() {
				return nil, nil
			}
			return &svc.Agent{Name: name, Version: "1", Instructions: name, Model: "scripted/test"}, nil
		}
	}
	first := start(t, address, declare, config, resolving)
	first.prompt(t, "1", "go")
	eventually(t, "the agent is asked", func() bool { return asked.Load() == 1 })
	first.stop()
	hangs.Store(false)
	gone.Store(true)
	second := start(t, address, declare, config, resolving)
	eventually(t, "the prompt waits", func() bool {
		queue, err := second.Submissions(t.Context(), "a", "1")
		return err == nil && len(queue) == 1 && queue[0].Reason == svc.ReasonDefinition
	})
	gone.Store(false)
	told := retold(second.updates(t, "1", 0, 1))
	if !strings.Contains(told, `output "found"`) || !strings.HasSuffix(told, "settled completed") {
		t.Errorf("told: %s", told)
	}
}

// TestARunThatIsWaitedForHasAWorker starts runs by a tool, twice at once, and by a step, where there is one worker.
func TestARunThatIsWaitedForHasAWorker(t *testing.T) {
	var rt atomic.Pointer[svc.Runtime]
	call := scripted.Call("start", struct{}{})
	declare, config := talking(scripted.New(scripted.Turn{call, call}, scripted.Turn{scripted.Say("done")}), func(a *svc.Agent) {
		a.Tools = []svc.Tool{starts(rt.Load)}
	})
	n := start(t, sqlite(t), func(r *svc.Runtime) {
		declare(r)
		rt.Store(r)
		r.AddWorkflow(svc.NewWorkflow("w", func(context.Context, *svc.Work, struct{}) (int, error) { return 42, nil }))
		r.AddWorkflow(svc.NewWorkflow("outer", func(ctx context.Context, w *svc.Work, _ struct{}) (string, error) {
			return svc.Step(ctx, w, "inner", func(ctx context.Context) (string, error) {
				invoked, err := r.Invoke(ctx, "w", svc.Invocation{Wait: true})
				if err != nil {
					return "", err
				}
				return string(invoked.Run.Result), nil
			})
		}))
	}, config, func(c *svc.Config) { c.Workers = 1 })
	n.prompt(t, "1", "go")
	told := retold(n.updates(t, "1", 0, 1))
	expect(t, "results", strings.Count(told, ` 42"`), 2)
	expect(t, "result", string(n.await(t, "outer", n.invoke(t, "outer", nil)).Result), `"42"`)
	eventually(t, "all is done", func() bool { return n.Working() == 0 })
	expect(t, "result of one more", string(n.await(t, "w", n.invoke(t, "w", nil)).Result), "42")
}
