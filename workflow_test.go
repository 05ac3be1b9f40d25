package svc_test

import (
	"bytes"
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
	"svc.dev/svc/sqlstore"
	"svc.dev/svc/workflow"
)

// declared makes start declare one workflow.
func declared[In, Out any](name string, fn func(context.Context, *svc.Work, In) (Out, error)) func(*svc.Runtime) {
	return func(rt *svc.Runtime) { rt.AddWorkflow(svc.NewWorkflow(name, fn)) }
}

func sqlite(t *testing.T) string { return "sqlite:" + t.TempDir() + "/svc.db" }

func TestStepIsRetriedWithBackoff(t *testing.T) {
	tries := 0
	n := start(t, sqlite(t), declared("flaky", func(ctx context.Context, w *svc.Work, _ struct{}) (int, error) {
		return svc.Step(ctx, w, "call", func(context.Context) (int, error) {
			if tries++; tries < 3 {
				return 0, fmt.Errorf("try %d", tries)
			}
			return tries, nil
		}, svc.Retry{Attempts: 5, Delay: time.Millisecond})
	}))
	id := n.invoke(t, "flaky", nil)
	expect(t, "result", string(n.await(t, "flaky", id).Result), "3")
	expect(t, "events", told(n.events(t, "flaky", id)),
		"run_start, call#1 started, call#1 failed, call#2 started, call#2 failed, call#3 started, call#3 finished, run_end")
}

func TestBackoffBeyondParkIsGivenBackToTheStore(t *testing.T) {
	var tries atomic.Int32
	n := start(t, sqlite(t), declared("flaky", func(ctx context.Context, w *svc.Work, _ struct{}) (int32, error) {
		return svc.Step(ctx, w, "call", func(context.Context) (int32, error) {
			if tries.Add(1) < 2 {
				return 0, errors.New("not yet")
			}
			return tries.Load(), nil
		}, svc.Retry{Delay: 150 * time.Millisecond})
	}), func(c *svc.Config) { c.Park = 10 * time.Millisecond })
	id := n.invoke(t, "flaky", nil)
	expect(t, "result", string(n.await(t, "flaky", id).Result), "2")
	expect(t, "events", told(n.events(t, "flaky", id)),
		"run_start, call#1 started, call#1 failed, call#2 started, call#2 finished, run_end")
}

func TestStepThatFailsForGoodIsRemembered(t *testing.T) {
	var tries atomic.Int32
	n := start(t, sqlite(t), declared("handled", func(ctx context.Context, w *svc.Work, _ struct{}) (string, error) {
		_, err := svc.Step(ctx, w, "pay", func(context.Context) (int, error) {
			tries.Add(1)
			return 0, fault.New("card_refused", "The card was refused.", "")
		})
		_ = w.Sleep(ctx, 100*time.Millisecond)
		if !fault.Is(err, "card_refused") {
			return "", fmt.Errorf("got %v", err)
		}
		return "handled", nil
	}), func(c *svc.Config) { c.Park = time.Millisecond })
	id := n.invoke(t, "handled", nil)
	run := n.await(t, "handled", id)
	expect(t, "result", string(run.Result), `"handled"`)
	expect(t, "tries", tries.Load(), 1)
}

func TestSleepHoldsNoWorkerAndIsNoInterruption(t *testing.T) {
	var calls, steps atomic.Int32
	n := start(t, sqlite(t), declared("sleepy", func(ctx context.Context, w *svc.Work, _ struct{}) (int64, error) {
		calls.Add(1)
		began := w.Now()
		_, _ = svc.Step(ctx, w, "before", func(context.Context) (int32, error) { return steps.Add(1), nil })
		w.Log("going to sleep")
		_ = w.Sleep(ctx, time.Second)
		w.Log("awake")
		return w.Now().Sub(began).Milliseconds(), nil
	}), func(c *svc.Config) { c.Park = 10 * time.Millisecond; c.Workers = 1 })
	id := n.invoke(t, "sleepy", nil)
	eventually(t, "nobody works while it sleeps", func() bool { return n.Working() == 0 })
	run := n.await(t, "sleepy", id)
	var slept int64
	_ = json.Unmarshal(run.Result, &slept)
	if slept < 1000 {
		t.Errorf("slept %d ms", slept)
	}
	expect(t, "calls of the function", calls.Load(), 2)
	expect(t, "steps done", steps.Load(), 1)
	expect(t, "events", told(n.events(t, "sleepy", id)), "run_start, before#1 started, before#1 finished, going to sleep, awake, run_end")
}

func TestManySleepersShareOneWorker(t *testing.T) {
	n := start(t, sqlite(t), declared("nap", func(ctx context.Context, w *svc.Work, _ struct{}) (struct{}, error) {
		return struct{}{}, w.Sleep(ctx, 1500*time.Millisecond)
	}), func(c *svc.Config) { c.Workers = 1 })
	began := time.Now()
	var ids []string
	for range 20 {
		ids = append(ids, n.invoke(t, "nap", nil))
	}
	for _, id := range ids {
		expect(t, "status", n.await(t, "nap", id).Status, workflow.Completed)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("20 naps of 1.5 s on one worker took %v", took)
	}
}

func TestParallelStepsRunSideBySide(t *testing.T) {
	var meet sync.WaitGroup
	meet.Add(3)
	side := func(v int) func(context.Context) (int, error) {
		return func(context.Context) (int, error) {
			meet.Done()
			meet.Wait()
			return v, nil
		}
	}
	n := start(t, sqlite(t), declared("wide", func(ctx context.Context, w *svc.Work, _ struct{}) (int, error) {
		a, b := svc.Branch("a", side(1)), svc.Branch("b", side(2))
		c := svc.Branch("b", side(4), svc.Keyed("again"))
		err := svc.Parallel(ctx, w, a, b, c)
		return a.Value + b.Value + c.Value, err
	}))
	id := n.invoke(t, "wide", nil)
	expect(t, "result", string(n.await(t, "wide", id).Result), "7")
	story := told(n.events(t, "wide", id))
	expect(t, "finished", strings.Count(story, "finished"), 3)
}

func TestParallelReportsTheFirstFailureAfterAllHaveEnded(t *testing.T) {
	n := start(t, sqlite(t), declared("wide", func(ctx context.Context, w *svc.Work, _ struct{}) (int, error) {
		a := svc.Branch("a", func(context.Context) (int, error) { return 0, errors.New("a is broken") })
		b := svc.Branch("b", func(context.Context) (int, error) { return 2, nil })
		err := svc.Parallel(ctx, w, a, b)
		return b.Value, err
	}))
	id := n.invoke(t, "wide", nil)
	run := n.await(t, "wide", id)
	expect(t, "error", run.Error.Message, "a is broken")
	expect(t, "finished", strings.Contains(told(n.events(t, "wide", id)), "b#1 finished"), true)
}

func TestStepsDoNotNest(t *testing.T) {
	n := start(t, sqlite(t), declared("nested", func(ctx context.Context, w *svc.Work, _ struct{}) (int, error) {
		return svc.Step(ctx, w, "outer", func(ctx context.Context) (int, error) {
			return svc.Step(ctx, w, "inner", func(context.Context) (int, error) { return 1, nil })
		})
	}))
	id := n.invoke(t, "nested", nil)
	expect(t, "error", n.await(t, "nested", id).Error.Message, `step "inner": a step cannot begin inside a step`)
}

// restarted runs a workflow until it signals, stops the node without grace for the function, and goes on with another
// definition.
func restarted(t *testing.T, first, second func(*svc.Runtime), reached <-chan struct{}) (*node, string) {
	t.Helper()
	address := sqlite(t)
	a := start(t, address, first, func(c *svc.Config) { c.StopTimeout = 50 * time.Millisecond })
	id := a.invoke(t, "w", nil)
	<-reached
	a.stop()
	return start(t, address, second), id
}

func blockedAfter(reached chan struct{}, names ...string) func(*svc.Runtime) {
	return declared("w", func(ctx context.Context, w *svc.Work, _ struct{}) (int, error) {
		for _, name := range names {
			if _, err := svc.Step(ctx, w, name, func(context.Context) (string, error) { return name, nil }); err != nil {
				return 0, err
			}
		}
		w.Log("between")
		return svc.Step(ctx, w, "stuck", func(ctx context.Context) (int, error) {
			close(reached)
			<-ctx.Done()
			return 0, ctx.Err()
		})
	})
}

func asking(names ...string) func(*svc.Runtime) {
	return declared("w", func(ctx context.Context, w *svc.Work, _ struct{}) (string, error) {
		var got []string
		for i, name := range names {
			if i == len(names)-1 {
				w.Log("between")
			}
			v, err := svc.Step(ctx, w, name, func(context.Context) (string, error) { return "done again", nil })
			if err != nil {
				return "", err
			}
			got = append(got, v)
		}
		return strings.Join(got, ","), nil
	})
}

func TestStoppedRunGoesOnFromItsRecordedSteps(t *testing.T) {
	reached := make(chan struct{})
	n, id := restarted(t, blockedAfter(reached, "a", "b"), asking("a", "b", "stuck"), reached)
	run := n.await(t, "w", id)
	expect(t, "result", string(run.Result), `"a,b,done again"`)
	expect(t, "events", told(n.events(t, "w", id)), "run_start, a#1 started, a#1 finished, b#1 started, b#1 finished, between, "+
		"stuck#1 started, run_resume, a#1 kept, b#1 kept, stuck#2 started, stuck#2 finished, run_end")
}

func TestAnotherNameAtASequentialPositionFailsTheRun(t *testing.T) {
	reached := make(chan struct{})
	n, id := restarted(t, blockedAfter(reached, "a", "b"), asking("a", "c", "stuck"), reached)
	run := n.await(t, "w", id)
	expect(t, "name", run.Error.Name, "RunDefinitionChanged")
	expect(t, "message", run.Error.Message, `The workflow asks for step "c" where "b" is recorded.`)
}

func TestRecordedStepNoLongerAskedForFailsTheRun(t *testing.T) {
	reached := make(chan struct{})
	n, id := restarted(t, blockedAfter(reached, "a", "b"), asking("a", "b"), reached)
	run := n.await(t, "w", id)
	expect(t, "name", run.Error.Name, "RunDefinitionChanged")
	expect(t, "message", run.Error.Message, `The recorded step "stuck" is no longer asked for.`)
}

func TestRunOfAnUnknownWorkflowIsNotClaimed(t *testing.T) {
	reached := make(chan struct{})
	n, id := restarted(t, blockedAfter(reached), declared("other", func(context.Context, *svc.Work, struct{}) (int, error) { return 1, nil }), reached)
	n.await(t, "other", n.invoke(t, "other", nil))
	run, err := n.GetRun(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "status", run.Status, workflow.Active)
}

func TestCancelEndsARunAtOnce(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		reached, seen := make(chan struct{}), make(chan error, 1)
		n := start(t, address, declared("long", func(ctx context.Context, w *svc.Work, _ struct{}) (int, error) {
			_, _ = svc.Step(ctx, w, "wait", func(ctx context.Context) (int, error) {
				close(reached)
				<-ctx.Done()
				seen <- ctx.Err()
				return 0, ctx.Err()
			})
			return svc.Step(ctx, w, "never", func(context.Context) (int, error) { return 1, nil })
		}))
		id := n.invoke(t, "long", nil)
		<-reached
		active, err := n.CancelRun(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		expect(t, "was active", active, true)
		run := n.await(t, "long", id)
		expect(t, "error", run.Error.Name, "RunCancelled")
		expect(t, "context", <-seen, context.Canceled)
		expect(t, "events", told(n.events(t, "long", id)), "run_start, wait#1 started, run_end")
		active, err = n.CancelRun(t.Context(), id)
		if err != nil || active {
			t.Errorf("an ended run was cancelled: %v, %v", active, err)
		}
	})
}

func TestCancelWakesASleepingRun(t *testing.T) {
	n := start(t, sqlite(t), declared("sleepy", func(ctx context.Context, w *svc.Work, _ struct{}) (int, error) {
		return 0, w.Sleep(ctx, time.Hour)
	}))
	id := n.invoke(t, "sleepy", nil)
	eventually(t, "the run is parked", func() bool { return n.Working() == 0 })
	if _, err := n.CancelRun(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	expect(t, "error", n.await(t, "sleepy", id).Error.Name, "RunCancelled")
	expect(t, "events", told(n.events(t, "sleepy", id)), "run_start, run_end")
}

func TestResultBeyondARecordFails(t *testing.T) {
	big := strings.Repeat("x", 2<<20)
	n := start(t, sqlite(t), func(rt *svc.Runtime) {
		rt.AddWorkflow(svc.NewWorkflow("result", func(context.Context, *svc.Work, struct{}) (string, error) { return big, nil }))
		rt.AddWorkflow(svc.NewWorkflow("step", func(ctx context.Context, w *svc.Work, _ struct{}) (string, error) {
			return svc.Step(ctx, w, "big", func(context.Context) (string, error) { return big, nil })
		}))
		rt.AddWorkflow(svc.NewWorkflow("log", func(ctx context.Context, w *svc.Work, _ struct{}) (string, error) {
			w.Log(big, "big", big)
			return "fine", nil
		}))
	})
	for _, name := range []string{"result", "step"} {
		run := n.await(t, name, n.invoke(t, name, nil))
		expect(t, name, run.Error.Type, fault.RecordTooLarge)
	}
	id := n.invoke(t, "log", nil)
	expect(t, "log", string(n.await(t, "log", id).Result), `"fine"`)
	line := n.events(t, "log", id)[1]
	expect(t, "message", len(line["message"].(string)), 64<<10)
	expect(t, "attributes", fmt.Sprint(line["attributes"]), "map[truncated:true]")
}

// TestErrorBeyondARecordIsCut: texts are cut, and facts that no record can hold are left out.
func TestErrorBeyondARecordIsCut(t *testing.T) {
	big := strings.Repeat("x", 2<<20)
	for name, thrown := range map[string]error{
		"fault": fault.New("own", big, big).With("big", big), "step": &svc.StepError{Name: big, Message: big}, "plain": errors.New(big), "odd": fault.New("own", "m", "").With("f", func() {}),
	} {
		n := start(t, sqlite(t), declared(name, func(ctx context.Context, w *svc.Work, _ struct{}) (int, error) {
			_, err := svc.Step(ctx, w, "fails", func(context.Context) (int, error) { return 0, thrown })
			if err == nil {
				return 0, nil
			}
			return 0, thrown
		}))
		run := n.await(t, name, n.invoke(t, name, nil))
		for what, text := range map[string]string{"name": run.Error.Name, "message": run.Error.Message, "details": run.Error.Details} {
			if len(text) > 64<<10 {
				t.Errorf("%s: %d bytes of the %s are kept", name, len(text), what)
			}
		}
		expect(t, name+": facts", len(run.Error.Meta), 0)
		if events := fmt.Sprint(n.events(t, name, run.ID)); len(events) > 1<<20 {
			t.Errorf("%s: %d bytes are recorded", name, len(events))
		}
	}
}

func TestPanicFailsTheRun(t *testing.T) {
	n := start(t, sqlite(t), declared("panicky", func(context.Context, *svc.Work, struct{}) (int, error) { panic("boom") }))
	expect(t, "error", n.await(t, "panicky", n.invoke(t, "panicky", nil)).Error.Message, "panic: boom")
}

func TestLogAttributesHoldErrorsAndOddPairs(t *testing.T) {
	n := start(t, sqlite(t), declared("w", func(_ context.Context, w *svc.Work, _ struct{}) (int, error) {
		w.Warn("odd", "error", errors.New("broken"), "f", func() {}, "alone")
		return 0, nil
	}))
	id := n.invoke(t, "w", nil)
	n.await(t, "w", id)
	line := n.events(t, "w", id)[1]
	expect(t, "level", line["level"], any("warn"))
	attributes := line["attributes"].(map[string]any)
	expect(t, "error", fmt.Sprint(attributes["error"]), "map[message:broken name:Error]")
	expect(t, "alone", attributes["!BADKEY"], any("alone"))
}

func TestWhatIsRedactedIsToldNowhere(t *testing.T) {
	const value = "hunter2-hunter2"
	redact := func(c *svc.Config) {
		c.Redact = func(data []byte) []byte { return bytes.ReplaceAll(data, []byte(value), []byte("[redacted]")) }
	}
	n := start(t, sqlite(t), func(rt *svc.Runtime) {
		declared("echo", func(ctx context.Context, w *svc.Work, in string) ([]string, error) {
			w.Warn("given "+in, "input", in)
			kept, err := svc.Step(ctx, w, "keep", func(context.Context) (string, error) { return in, nil })
			if kept != value {
				return nil, errors.New("the step returned something else")
			}
			return []string{kept}, err
		})(rt)
		declared("fail", func(_ context.Context, _ *svc.Work, in string) (int, error) {
			return 0, fault.New("refused", "Not "+in+".", in).With("key", in)
		})(rt)
	}, redact)
	for _, name := range []string{"echo", "fail"} {
		id := n.invoke(t, name, value)
		waited := n.await(t, name, id)
		kept, err := n.GetRun(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		for what, told := range map[string]string{
			"events": fmt.Sprint(n.events(t, name, id)), "result": string(waited.Result) + string(kept.Result), "error": fmt.Sprint(waited.Error, kept.Error),
		} {
			if strings.Contains(told, value) {
				t.Errorf("%s of %s: %s", what, name, told)
			}
		}
		if name == "echo" {
			expect(t, "result", string(waited.Result), `["[redacted]"]`)
		} else {
			expect(t, "error", fmt.Sprint(*kept.Error), "{Refused Not [redacted]. refused [redacted] map[key:[redacted]]}")
		}
	}
}

func TestInvokeTakesAKeyOnce(t *testing.T) {
	var runs atomic.Int32
	n := start(t, sqlite(t), declared("once", func(context.Context, *svc.Work, any) (int32, error) { return runs.Add(1), nil }))
	var ids sync.Map
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			a, err := n.Invoke(t.Context(), "once", svc.Invocation{Input: json.RawMessage(`{"a":1}`), Key: "k", Wait: true})
			if err != nil {
				t.Error(err)
				return
			}
			ids.Store(a.RunID, string(a.Run.Result))
		})
	}
	group.Wait()
	count := 0
	ids.Range(func(any, any) bool { count++; return true })
	expect(t, "runs", count, 1)
	expect(t, "calls", runs.Load(), 1)
	_, err := n.Invoke(t.Context(), "once", svc.Invocation{Input: json.RawMessage(`{"a":2}`), Key: "k"})
	expect(t, "another body", fault.Is(err, fault.IdempotencyConflict), true)
}

func TestInvokeWithAnInputThatDoesNotFitEndsErrored(t *testing.T) {
	n := start(t, sqlite(t), declared("typed", func(_ context.Context, _ *svc.Work, in struct {
		N int `json:"n"`
	}) (int, error) {
		return in.N, nil
	}))
	run := n.await(t, "typed", n.invoke(t, "typed", map[string]string{"n": "x"}))
	expect(t, "type", run.Error.Type, fault.InputValidation)
}

func TestListRunsPagesNewestFirst(t *testing.T) {
	n := start(t, sqlite(t), declared("w", func(context.Context, *svc.Work, struct{}) (int, error) { return 1, nil }))
	var ids []string
	for range 5 {
		ids = append(ids, n.invoke(t, "w", nil))
	}
	for _, id := range ids {
		n.await(t, "w", id)
	}
	var seen []string
	filter := svc.RunFilter{Limit: 2, Status: workflow.Completed}
	for {
		list, err := n.ListRuns(t.Context(), filter)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list.Runs {
			seen = append(seen, r.RunID)
		}
		if filter.Cursor = list.NextCursor; filter.Cursor == "" {
			break
		}
	}
	for i, id := range seen {
		expect(t, "order", id, ids[len(ids)-1-i])
	}
	expect(t, "seen", len(seen), 5)
	list, err := n.ListRuns(t.Context(), svc.RunFilter{Cursor: "no cursor", Limit: -1})
	if err != nil || len(list.Runs) != 5 {
		t.Errorf("an undecodable cursor: %d runs, %v", len(list.Runs), err)
	}
	other, err := n.In("other").ListRuns(t.Context(), svc.RunFilter{})
	if err != nil || len(other.Runs) != 0 {
		t.Errorf("another scope sees %d runs, %v", len(other.Runs), err)
	}
	if _, err := n.In("other").GetRun(t.Context(), ids[0]); !fault.Is(err, fault.RunNotFound) {
		t.Errorf("another scope finds the run: %v", err)
	}
}

func TestStoppedRuntimeTakesNoWork(t *testing.T) {
	n := start(t, sqlite(t), declared("w", func(context.Context, *svc.Work, struct{}) (int, error) { return 1, nil }))
	n.stop()
	_, err := n.Invoke(t.Context(), "w", svc.Invocation{})
	expect(t, "refused", fault.Is(err, fault.Unavailable), true)
	expect(t, "state", fault.From(err).Meta["state"], any("draining"))
}

func TestTwoNodesShareTheWork(t *testing.T) {
	address := sqldbtest.Schema(t)
	var a, b atomic.Int32
	count := func(n *atomic.Int32) func(*svc.Runtime) {
		return declared("w", func(ctx context.Context, w *svc.Work, _ struct{}) (int, error) {
			return svc.Step(ctx, w, "s", func(ctx context.Context) (int, error) {
				n.Add(1)
				for ctx.Err() == nil && (a.Load() == 0 || b.Load() == 0) {
					takes(5 * time.Millisecond)
				}
				return 1, ctx.Err()
			})
		})
	}
	few := func(c *svc.Config) { c.Workers = 4 }
	one, two := start(t, address, count(&a), few), start(t, address, count(&b), few)
	var ids []string
	for range 40 {
		ids = append(ids, one.invoke(t, "w", nil))
	}
	for _, id := range ids {
		expect(t, "status", two.await(t, "w", id).Status, workflow.Completed)
	}
	expect(t, "steps", a.Load()+b.Load(), 40)
}

// watched tells of every append.
type watched struct {
	*sqlstore.Store
	appended func(svc.Commit)
}

func (w *watched) Append(ctx context.Context, l svc.Lease, c svc.Commit) (svc.Appended, error) {
	w.appended(c)
	return w.Store.Append(ctx, l, c)
}

func TestRunEndsInOneAppendWhateverItsSize(t *testing.T) {
	var ends, closes atomic.Int32
	n := start(t, sqlite(t), declared("big", func(context.Context, *svc.Work, struct{}) (string, error) {
		return strings.Repeat("x", 100_000), nil
	}), func(c *svc.Config) {
		c.Store = &watched{c.Store.(*sqlstore.Store), func(m svc.Commit) {
			if strings.Contains(string(m.Data), "run_end") {
				ends.Add(1)
				if m.Close && m.Settle != "" && m.Run != nil {
					closes.Add(1)
				}
			}
		}}
	})
	n.await(t, "big", n.invoke(t, "big", nil))
	expect(t, "appends with a run_end", ends.Load(), 1)
	expect(t, "that close", closes.Load(), 1)
}
