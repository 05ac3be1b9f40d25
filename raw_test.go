package svc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/model"
	"svc.dev/svc/model/scripted"
	"svc.dev/svc/workflow"
)

// rawDeclared makes start declare one workflow by the JSON Schema of its input.
func rawDeclared(t *testing.T, name, input string, fn func(context.Context, *svc.Work, json.RawMessage) (json.RawMessage, error)) func(*svc.Runtime) {
	t.Helper()
	var schema json.RawMessage
	if input != "" {
		schema = json.RawMessage(input)
	}
	wf, err := svc.RawWorkflow(name, schema, fn)
	if err != nil {
		t.Fatal(err)
	}
	return func(rt *svc.Runtime) { rt.AddWorkflow(wf) }
}

const countSchema = `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`

func TestARawWorkflowIsGivenWhatFitsItsSchema(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		n := start(t, address, rawDeclared(t, "raw", countSchema, func(ctx context.Context, w *svc.Work, in json.RawMessage) (json.RawMessage, error) {
			return svc.Step(ctx, w, "echo", func(context.Context) (json.RawMessage, error) {
				return json.RawMessage(fmt.Sprintf(`{ "got": %s, "scope": %q }`, in, w.Scope())), nil
			})
		}))
		misfit := json.RawMessage(`{"n":"x"}`)
		if f := fault.From(n.Workflow("raw").CheckInput(t.Context(), misfit)); f.Type != fault.InputValidation || !strings.Contains(fmt.Sprint(f.Meta["issues"]), "expected integer") {
			t.Errorf("an input that does not fit is %v", f)
		}
		if run := n.await(t, "raw", n.invoke(t, "raw", misfit)); run.Error == nil || run.Error.Type != fault.InputValidation {
			t.Errorf("a run with what does not fit ended with %+v", run.Error)
		}
		invoked, err := n.In("users/ada/shop").Invoke(t.Context(), "raw", svc.Invocation{Input: json.RawMessage(`{"n":7}`), Wait: true})
		if err != nil {
			t.Fatal(err)
		}
		expect(t, "result", string(invoked.Run.Result), `{"got":{"n":7},"scope":"users/ada/shop"}`)
		expect(t, "schema", string(n.Workflow("raw").InputSchema()), countSchema)
	})
}

func TestARawWorkflowsResultIsJSONOrNothing(t *testing.T) {
	results := map[string]json.RawMessage{
		"none": nil, "null": json.RawMessage("null"), "broken": json.RawMessage(`{"a":`), "large": json.RawMessage(`"` + strings.Repeat("x", workflow.MaxRecord) + `"`),
	}
	n := start(t, sqlite(t), func(rt *svc.Runtime) {
		for name, result := range results {
			rawDeclared(t, name, "", func(context.Context, *svc.Work, json.RawMessage) (json.RawMessage, error) { return result, nil })(rt)
		}
	})
	for name, want := range map[string]string{"none": "completed  ", "null": "completed null ", "broken": "errored  action_output_serialization", "large": "errored  record_too_large"} {
		run := n.await(t, name, n.invoke(t, name, nil))
		var typ string
		if run.Error != nil {
			typ = run.Error.Type
		}
		expect(t, name, fmt.Sprintf("%s %s %s", run.Status, run.Result, typ), want)
	}
	if err := n.Workflow("none").CheckInput(t.Context(), json.RawMessage(`{}`)); !fault.Is(err, fault.InputUnexpected) {
		t.Errorf("an input for a workflow that takes none: %v", err)
	}
}

func TestASchemaThatIsNoneDeclaresNothing(t *testing.T) {
	for _, schema := range []string{`{"type":"string"}`, `{"type":`, `{"type":"object","properties":{"a":{"$ref":"#"}}}`} {
		if wf, err := svc.RawWorkflow("raw", json.RawMessage(schema), nil); err == nil || !strings.HasPrefix(err.Error(), `workflow "raw": input: `) {
			t.Errorf("%s declares %v with %v", schema, wf, err)
		}
	}
}

func TestARawQuestionIsAnsweredInItsForm(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		var turns atomic.Int32
		provider := scripted.Choose(func(r model.Request) scripted.Turn {
			turns.Add(1)
			if len(r.Tools) == 0 {
				return scripted.Turn{scripted.Say("in words")}
			}
			return scripted.Turn{scripted.Call("give_result", map[string]int{"n": 5})}
		})
		n := start(t, address, declared("asking", func(ctx context.Context, w *svc.Work, _ struct{}) (string, error) {
			_, result, err := svc.AskRaw(ctx, w, thinker, "how many", json.RawMessage(countSchema))
			if err != nil {
				return "", err
			}
			answer, none, err := svc.AskRaw(ctx, w, thinker, "say it", nil)
			// Parked once, so that both answers are read from what is recorded.
			_ = w.Sleep(ctx, 50*time.Millisecond)
			return fmt.Sprintf("%s %s %v", result, answer.Text, none == nil), err
		}), on(provider), func(c *svc.Config) { c.Park = time.Millisecond })
		expect(t, "result", string(n.await(t, "asking", n.invoke(t, "asking", nil)).Result), `"{\"n\":5} in words true"`)
		expect(t, "turns", turns.Load(), 2)
	})
}

func TestARawQuestionWithoutASchemaIsAnError(t *testing.T) {
	n := start(t, sqlite(t), declared("asking", func(ctx context.Context, w *svc.Work, _ struct{}) (string, error) {
		_, _, err := svc.AskRaw(ctx, w, thinker, "how many", json.RawMessage(`{"type":"array"}`))
		return "", err
	}), on(scripted.New()))
	run := n.await(t, "asking", n.invoke(t, "asking", nil))
	if run.Error == nil || !strings.HasPrefix(run.Error.Message, "ask: the form of the result: ") {
		t.Errorf("the run ended with %+v", run.Error)
	}
}

// TestAnInterruptedRunIsTakenUpFromWhatItRecorded loses what the function runs in twice: between steps, and inside one.
func TestAnInterruptedRunIsTakenUpFromWhatItRecorded(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		var first, second atomic.Int32
		var attempts sync.Map
		var unwound atomic.Int32
		n := start(t, address, declared("lost", func(ctx context.Context, w *svc.Work, _ struct{}) (int32, error) {
			defer unwound.Add(1)
			_, err := svc.Step(ctx, w, "first", func(context.Context) (int32, error) { return first.Add(1), nil }, svc.Durable)
			if err != nil {
				return 0, err
			}
			if unwound.Load() == 0 {
				w.Interrupt(errors.New("the engine is gone"))
			}
			return svc.Step(ctx, w, "second", func(ctx context.Context) (int32, error) {
				attempts.Store(svc.Attempt(ctx), true)
				if second.Add(1) == 1 {
					w.Interrupt(errors.New("the engine is gone"))
				}
				return second.Load(), nil
			})
		}))
		id := n.invoke(t, "lost", nil)
		run := n.await(t, "lost", id)
		expect(t, "run", fmt.Sprintf("%s %s", run.Status, run.Result), "completed 2")
		expect(t, "first steps", first.Load(), 1)
		expect(t, "deferred calls", unwound.Load(), 3)
		expect(t, "events", told(n.events(t, "lost", id)), "run_start, first#1 started, first#1 finished, run_resume, first#1 kept, second#1 started, "+
			"run_resume, first#1 kept, second#2 started, second#2 finished, run_end")
		for i := range 2 {
			if _, made := attempts.Load(i + 1); !made {
				t.Errorf("attempt %d of the second step was not told", i+1)
			}
		}
	})
}

func TestARunThatIsAlwaysInterruptedEnds(t *testing.T) {
	n := start(t, sqlite(t), declared("lost", func(_ context.Context, w *svc.Work, _ struct{}) (int, error) {
		w.Interrupt(errors.New("the engine is gone"))
		return 0, nil
	}), func(c *svc.Config) { c.MaxAttempts = 2 })
	run := n.await(t, "lost", n.invoke(t, "lost", nil))
	if run.Error == nil || run.Error.Type != fault.RunInterrupted {
		t.Errorf("the run is %s with %+v", run.Status, run.Error)
	}
}

// TestAttemptsAreCountedAcrossFailures is true outside of a step too: there is none.
func TestAttemptsAreCountedAcrossFailures(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		n := start(t, address, declared("counting", func(ctx context.Context, w *svc.Work, _ struct{}) (string, error) {
			got, err := svc.Step(ctx, w, "flaky", func(ctx context.Context) (int, error) {
				if svc.Attempt(ctx) < 3 {
					return 0, errors.New("not yet")
				}
				return svc.Attempt(ctx), nil
			}, svc.Retry{Attempts: 3, Delay: time.Millisecond})
			return fmt.Sprintf("%d inside, %d outside", got, svc.Attempt(ctx)), err
		}))
		expect(t, "result", string(n.await(t, "counting", n.invoke(t, "counting", nil)).Result), `"3 inside, 0 outside"`)
	})
}

// madeAgent is an agent whose instances are made when they are worked on.
func madeAgent(p model.Provider, make func(ctx context.Context, scope, id string) (*svc.Agent, error)) (func(*svc.Runtime), func(*svc.Config)) {
	return talking(p, func(a *svc.Agent) { a.For = make })
}

func TestAnAgentIsMadeForEachInstance(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		echo := scripted.Choose(func(r model.Request) scripted.Turn { return scripted.Turn{scripted.Say(r.System)} })
		declare, config := madeAgent(echo, func(_ context.Context, scope, id string) (*svc.Agent, error) {
			return &svc.Agent{Name: "another", Version: "9", Model: "scripted/test", Instructions: "For " + scope + "/" + id}, nil
		})
		n := start(t, address, declare, config)
		for _, id := range []string{"x", "y"} {
			sent := n.prompt(t, id, "who are you")
			expect(t, "said by "+id, replied(n.updates(t, id, sent.Offset, 1)), "For /"+id)
		}
	})
}

// replied is the text of a conversation's updates.
func replied(chunks []chunk) string {
	var text strings.Builder
	for _, c := range chunks {
		if c.Kind == "text" {
			text.WriteString(c.Delta)
		}
	}
	return text.String()
}

func TestAnAgentThatCannotBeMadeFailsThePrompt(t *testing.T) {
	for name, c := range map[string]struct {
		make func(context.Context, string, string) (*svc.Agent, error)
		want string
	}{
		"fault": {func(context.Context, string, string) (*svc.Agent, error) {
			return nil, fault.New("no_such_customer", "There is no such customer.", "")
		}, "no_such_customer"},
		"error":   {func(context.Context, string, string) (*svc.Agent, error) { return nil, errors.New("boom") }, fault.Internal},
		"nothing": {func(context.Context, string, string) (*svc.Agent, error) { return nil, nil }, fault.Internal},
		"invalid": {func(context.Context, string, string) (*svc.Agent, error) {
			same := svc.RawTool("t", "", json.RawMessage(`{"type":"object"}`), nil)
			return &svc.Agent{Model: "scripted/test", Tools: []svc.Tool{same, same}}, nil
		}, fault.Internal},
		"panic": {func(context.Context, string, string) (*svc.Agent, error) { panic("boom") }, fault.Internal},
	} {
		t.Run(name, func(t *testing.T) {
			declare, config := madeAgent(scripted.New(), c.make)
			n := start(t, sqlite(t), declare, config, func(c *svc.Config) { c.MaxAttempts = 2 })
			sent := n.prompt(t, "x", "hello")
			all := n.updates(t, "x", sent.Offset, 1)
			last := all[len(all)-1]
			if last.Outcome != "failed" || last.Error == nil || last.Error.Type != c.want {
				t.Errorf("it ended with %+v %+v", last, last.Error)
			}
		})
	}
}

func TestAnAgentThatIsNotAvailableIsWaitedFor(t *testing.T) {
	var asked atomic.Int32
	declare, config := madeAgent(scripted.New(scripted.Turn{scripted.Say("here")}), func(context.Context, string, string) (*svc.Agent, error) {
		if asked.Add(1) == 1 {
			return nil, fault.NotAvailable("engine").Because(svc.ErrUnavailable)
		}
		return &svc.Agent{Model: "scripted/test"}, nil
	})
	n := start(t, sqlite(t), declare, config)
	sent := n.prompt(t, "x", "hello")
	expect(t, "said", replied(n.updates(t, "x", sent.Offset, 1)), "here")
	expect(t, "questions", asked.Load(), 2)
}

func TestAnAgentsErrorBeyondARecordIsCut(t *testing.T) {
	big := strings.Repeat("x", 2<<20)
	declare, config := madeAgent(scripted.New(), func(context.Context, string, string) (*svc.Agent, error) {
		return nil, fault.New("own", big, big).With("big", big)
	})
	n := start(t, sqlite(t), declare, config)
	sent := n.prompt(t, "x", "hello")
	all := n.updates(t, "x", sent.Offset, 1)
	told := all[len(all)-1].Error
	expect(t, "the error", fmt.Sprint(told.Type, len(told.Message), len(told.Details), len(told.Meta)), "own65536 65536 0")
}

func TestAnAgentIsMadeForTheRunThatAsksIt(t *testing.T) {
	echo := scripted.Choose(func(r model.Request) scripted.Turn { return scripted.Turn{scripted.Say(r.System)} })
	agent := &svc.Agent{Name: "t", For: func(_ context.Context, _, id string) (*svc.Agent, error) {
		return &svc.Agent{Model: "scripted/test", Instructions: "For " + id}, nil
	}}
	n := start(t, sqlite(t), declared("asking", func(ctx context.Context, w *svc.Work, _ struct{}) (string, error) {
		answer, err := svc.Ask(ctx, w, agent, "who are you")
		return answer.Text, err
	}), on(echo))
	id := n.invoke(t, "asking", nil)
	expect(t, "result", string(n.await(t, "asking", id).Result), fmt.Sprintf("%q", "For "+id))
}
