package svc_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/model"
	"svc.dev/svc/model/scripted"
	"svc.dev/svc/workflow"
)

func types(events []map[string]any) string {
	var all []string
	for _, e := range events {
		name := e["type"].(string)
		if m, ok := e["message"].(map[string]any); ok && strings.HasPrefix(name, "message_") {
			name += "(" + m["role"].(string) + ")"
		}
		all = append(all, name)
	}
	return strings.Join(all, ", ")
}

func on(p model.Provider) func(*svc.Config) {
	return func(c *svc.Config) { c.Model, c.ModelRetry = model.Providers{"scripted": p}.Find, time.Millisecond }
}

var thinker = &svc.Agent{Name: "t", Model: "scripted/test"}

func TestPromptInsideAWorkflowTellsItsTurns(t *testing.T) {
	n := start(t, sqlite(t), declared("summarize", func(ctx context.Context, w *svc.Work, _ struct{}) (string, error) {
		answer, err := svc.Ask(ctx, w, thinker, "Summarise.")
		return answer.Text, err
	}), on(scripted.New(scripted.Turn{scripted.Say("Do", "ne.")})))
	id := n.invoke(t, "summarize", nil)
	expect(t, "result", string(n.await(t, "summarize", id).Result), `"Done."`)
	events := n.events(t, "summarize", id)
	expect(t, "events", types(events), "run_start, operation_start, agent_start, turn_start, message_start(user), message_end(user), "+
		"message_start(assistant), text_delta, text_delta, turn, message_end(assistant), turn_messages, agent_end, operation, idle, run_end")
	for i, e := range events {
		expect(t, "index", e["eventIndex"].(float64), float64(i))
		expect(t, "version", e["v"].(float64), 3)
	}
}

func TestAFaultInsteadOfAModelFailsThePromptInsideAWorkflow(t *testing.T) {
	p := scripted.New(scripted.Turn{scripted.Say("one")}, scripted.Turn{scripted.Say("two")})
	n := start(t, sqlite(t), declared("twice", func(ctx context.Context, w *svc.Work, _ struct{}) (string, error) {
		if _, err := svc.Ask(ctx, w, thinker, "First."); err != nil {
			return "", err
		}
		answer, err := svc.Ask(ctx, w, thinker, "Second.")
		return answer.Text, err
	}), full(p, 1))
	run := n.await(t, "twice", n.invoke(t, "twice", nil))
	if run.Error == nil || run.Error.Type != "storage_quota_exceeded" {
		t.Errorf("the run is %s with %+v; want storage_quota_exceeded", run.Status, run.Error)
	}
}

func TestPromptInsideAWorkflowCallsTools(t *testing.T) {
	var calls atomic.Int32
	agent := &svc.Agent{Name: "t", Model: "scripted/test", Tools: []svc.Tool{adder(&calls)}}
	n := start(t, sqlite(t), declared("sum", func(ctx context.Context, w *svc.Work, _ struct{}) (string, error) {
		answer, err := svc.Ask(ctx, w, agent, "2 and 3")
		return answer.Text, err
	}), on(scripted.New(scripted.Turn{scripted.Call("add", sumIn{2, 3})}, scripted.Turn{scripted.Say("5")})))
	id := n.invoke(t, "sum", nil)
	expect(t, "result", string(n.await(t, "sum", id).Result), `"5"`)
	expect(t, "events", types(n.events(t, "sum", id)), "run_start, operation_start, agent_start, turn_start, message_start(user), message_end(user), "+
		"message_start(assistant), turn, message_end(assistant), tool_start, message_start(toolResult), message_end(toolResult), tool, turn_messages, "+
		"turn_start, message_start(assistant), text_delta, turn, message_end(assistant), turn_messages, agent_end, operation, idle, run_end")
}

func TestAnsweredPromptIsKept(t *testing.T) {
	var turns atomic.Int32
	provider := scripted.Choose(func(r model.Request) scripted.Turn {
		turns.Add(1)
		if len(r.Messages) == 1 {
			return scripted.Turn{scripted.Say("first")}
		}
		return scripted.Turn{scripted.Say("second")}
	})
	n := start(t, sqlite(t), declared("two", func(ctx context.Context, w *svc.Work, _ struct{}) (string, error) {
		one, err := svc.Ask(ctx, w, thinker, "one")
		if err != nil {
			return "", err
		}
		_ = w.Sleep(ctx, 100*time.Millisecond)
		two, err := svc.Ask(ctx, w, thinker, "two")
		return one.Text + " " + two.Text, err
	}), on(provider), func(c *svc.Config) { c.Park = time.Millisecond })
	id := n.invoke(t, "two", nil)
	expect(t, "result", string(n.await(t, "two", id).Result), `"first second"`)
	expect(t, "turns", turns.Load(), 2)
}

func TestResultIsGivenInTheAskedForm(t *testing.T) {
	n := start(t, sqlite(t), declared("typed", func(ctx context.Context, w *svc.Work, _ struct{}) (sumOut, error) {
		return svc.AskFor[sumOut](ctx, w, thinker, "sum")
	}), on(scripted.New(
		scripted.Turn{scripted.Say("It is five.")},
		scripted.Turn{scripted.Call("give_result", map[string]string{"sum": "five"})},
		scripted.Turn{scripted.Call("give_result", sumOut{5})},
	)))
	id := n.invoke(t, "typed", nil)
	expect(t, "result", string(n.await(t, "typed", id).Result), `{"sum":5}`)
}

func TestFailedPromptIsAnErrorOfTheWorkflow(t *testing.T) {
	n := start(t, sqlite(t), declared("failing", func(ctx context.Context, w *svc.Work, _ struct{}) (string, error) {
		answer, err := svc.Ask(ctx, w, thinker, "x")
		return answer.Text, err
	}), on(scripted.New(scripted.Turn{scripted.Fail(&model.Error{Class: model.Rejected, Message: "no"})})))
	run := n.await(t, "failing", n.invoke(t, "failing", nil))
	expect(t, "type", run.Error.Type, "operation_failed")
	expect(t, "message", run.Error.Message, "prompt failed: no")
}

// TestAToolInsideAPromptIsOnRecordBeforeItIsCalled looks at the run's events from inside the tool.
func TestAToolInsideAPromptIsOnRecordBeforeItIsCalled(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		var n *node
		var run atomic.Value
		look := svc.NewTool("look", "", func(context.Context, struct{}) (string, error) {
			return types(n.events(t, "looking", run.Load().(string))), nil
		})
		agent := &svc.Agent{Name: "t", Model: "scripted/test", Tools: []svc.Tool{look}}
		n = start(t, address, declared("looking", func(ctx context.Context, w *svc.Work, _ struct{}) (string, error) {
			run.Store(w.RunID())
			answer, err := svc.Ask(ctx, w, agent, "look")
			return answer.Text, err
		}), on(scripted.Choose(func(r model.Request) scripted.Turn {
			if last := r.Messages[len(r.Messages)-1]; last.Role == model.RoleTool {
				return scripted.Turn{scripted.Say(*last.Parts[0].Result.Content[0].Text)}
			}
			return scripted.Turn{scripted.Call("look", struct{}{})}
		})))
		ended := n.await(t, "looking", n.invoke(t, "looking", nil))
		if seen := string(ended.Result); !strings.HasSuffix(seen, `message_end(assistant), tool_start\""`) {
			t.Errorf("when the tool was called, the record was %s", seen)
		}
	})
}

// TestPromptInsideAWorkflowHeedsItsContext ends the context of prompts whose model, or tool, does not end: they fail, and fail
// alike when the function runs again.
func TestPromptInsideAWorkflowHeedsItsContext(t *testing.T) {
	hang := svc.NewTool("hang", "", func(ctx context.Context, _ struct{}) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	})
	agent := &svc.Agent{Name: "t", Model: "scripted/test", Tools: []svc.Tool{hang}}
	var begun atomic.Int32
	n := start(t, sqlite(t), declared("hasty", func(ctx context.Context, w *svc.Work, _ struct{}) ([]string, error) {
		begun.Add(1)
		var all []string
		within := func(ask func(context.Context) error) {
			ctx, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
			defer cancel()
			all = append(all, fmt.Sprint(ask(ctx)))
		}
		within(func(ctx context.Context) error { _, err := svc.Ask(ctx, w, agent, "model"); return err })
		within(func(ctx context.Context) error { _, err := svc.AskFor[sumOut](ctx, w, agent, "tool"); return err })
		_ = w.Sleep(ctx, 3*time.Second) // long enough to be parked, however busy the machine is
		answer, err := svc.Ask(ctx, w, agent, "go on")
		return append(all, answer.Text), err
	}), func(c *svc.Config) { c.Park = time.Millisecond }, on(scripted.Choose(func(r model.Request) scripted.Turn {
		switch *r.Messages[len(r.Messages)-1].Parts[0].Text {
		case "model":
			return scripted.Turn{scripted.Say("well "), scripted.Hang()}
		case "tool":
			return scripted.Turn{scripted.Call("hang", struct{}{})}
		}
		return scripted.Turn{scripted.Say("fine")}
	})))
	run := n.await(t, "hasty", n.invoke(t, "hasty", nil))
	expect(t, "result", string(run.Result), `["context deadline exceeded","context deadline exceeded","fine"]`)
	expect(t, "begun", begun.Load(), 2)
}

// TestPicturesOfToolsInsideAWorkflow are given to the model, and their bytes are not told.
func TestPicturesOfToolsInsideAWorkflow(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		var calls atomic.Int32
		agent := &svc.Agent{Name: "t", Model: "scripted/test", Tools: []svc.Tool{painter(&calls)}}
		n := start(t, address, declared("painting", func(ctx context.Context, w *svc.Work, _ struct{}) (string, error) {
			answer, err := svc.Ask(ctx, w, agent, "paint")
			return answer.Text, err
		}), on(scripted.Choose(func(r model.Request) scripted.Turn {
			if last := r.Messages[len(r.Messages)-1]; last.Role == model.RoleTool {
				return scripted.Turn{scripted.Say(string(last.Parts[0].Result.Content[0].Image.Data))}
			}
			return scripted.Turn{scripted.Call("paint", struct{}{})}
		})))
		id := n.invoke(t, "painting", nil)
		run := n.await(t, "painting", id)
		expect(t, "status", run.Status, workflow.Completed)
		if !strings.Contains(string(run.Result), "PNG painted") {
			t.Errorf("the model was given %s", run.Result)
		}
		if told := fmt.Sprint(n.events(t, "painting", id)); !strings.Contains(told, "[image data omitted from event]") {
			t.Errorf("told %s", told)
		}
	})
}
