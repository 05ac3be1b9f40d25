package svc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/sqlstore"
	"svc.dev/svc/stream"
	"svc.dev/svc/workflow"
)

// node is a running Runtime on a store of its own.
type node struct {
	*svc.Runtime
	store *sqlstore.Store
	stop  func() // gracefully; returns when Run has returned
}

// start runs a node on a database until the test ends or it is stopped.
func start(t *testing.T, address string, declare func(*svc.Runtime), change ...func(*svc.Config)) *node {
	t.Helper()
	store, err := sqlstore.Open(t.Context(), address, sqlstore.Config{Poll: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	c := svc.Config{Store: store, Lease: 5 * time.Second, StopTimeout: 2 * time.Second, Log: slog.New(slog.DiscardHandler)}
	for _, f := range change {
		f(&c)
	}
	rt, err := svc.New(c)
	if err != nil {
		t.Fatal(err)
	}
	declare(rt)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- rt.Run(ctx) }()
	var stopped atomic.Bool
	n := &node{Runtime: rt, store: store}
	n.stop = func() {
		if stopped.Swap(true) {
			return
		}
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
		if err := store.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	t.Cleanup(n.stop)
	return n
}

func (n *node) invoke(t *testing.T, name string, input any) string {
	t.Helper()
	var raw json.RawMessage
	if input != nil {
		raw, _ = json.Marshal(input)
	}
	answer, err := n.Invoke(t.Context(), name, svc.Invocation{Input: raw})
	if err != nil {
		t.Fatal(err)
	}
	return answer.RunID
}

func (n *node) await(t *testing.T, name, id string) workflow.Run {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	run, err := n.Await(ctx, name, id)
	if err != nil {
		t.Fatalf("await %s: %v", id, err)
	}
	return run
}

// events are the run's events so far.
func (n *node) events(t *testing.T, name, id string) []map[string]any {
	t.Helper()
	var all []map[string]any
	after := stream.Start
	for {
		frame, err := n.Page(t.Context(), n.RunStream(workflow.Run{ID: id, Workflow: name}), after)
		if err != nil {
			t.Fatal(err)
		}
		var page []map[string]any
		if err := json.Unmarshal(frame.JSON(), &page); err != nil {
			t.Fatal(err)
		}
		all = append(all, page...)
		if after = frame.Next; frame.Tail {
			return all
		}
	}
}

// told is a run's events in short: what a reader would retell.
func told(events []map[string]any) string {
	var lines []string
	for _, e := range events {
		switch e["type"] {
		case "log":
			line := e["message"].(string)
			if a, ok := e["attributes"].(map[string]any); ok {
				if s, ok := a["step"].(map[string]any); ok {
					line = fmt.Sprintf("%s#%v %s", s["name"], s["attempt"], s["state"])
				}
			}
			lines = append(lines, line)
		default:
			lines = append(lines, e["type"].(string))
		}
	}
	return strings.Join(lines, ", ")
}

func expect[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %v\nwant %v", what, got, want)
	}
}

// patience is how long a test waits for what must come. Beside others on a machine that takes its time, much takes long.
const patience = 2 * time.Minute

// eventually waits until something is true.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not yet: %s", what)
		}
	}
}

// takes is what takes its time in a scene: work, a store, an outage. Nothing is waited for.
func takes(d time.Duration) { time.Sleep(d) }

func TestRunTellsWhatItDid(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		n := start(t, address, func(rt *svc.Runtime) {
			rt.AddWorkflow(svc.NewWorkflow("refund", func(ctx context.Context, w *svc.Work, in struct {
				Order int `json:"order"`
			}) (map[string]bool, error) {
				charge, err := svc.Step(ctx, w, "charge", func(context.Context) (int, error) { return in.Order * 2, nil })
				if err != nil {
					return nil, err
				}
				w.Log("charged", "amount", charge)
				_, err = svc.Step(ctx, w, "mail", func(context.Context) (string, error) { return "sent", nil })
				return map[string]bool{"refunded": true}, err
			}))
		})
		id := n.invoke(t, "refund", map[string]int{"order": 42})
		run := n.await(t, "refund", id)
		expect(t, "status", run.Status, workflow.Completed)
		expect(t, "result", string(run.Result), `{"refunded":true}`)
		events := n.events(t, "refund", id)
		expect(t, "events", told(events),
			"run_start, charge#1 started, charge#1 finished, charged, mail#1 started, mail#1 finished, run_end")
		for i, e := range events {
			expect(t, "eventIndex", e["eventIndex"].(float64), float64(i))
		}
	})
}

func TestFailureEndsTheRunOnce(t *testing.T) {
	n := start(t, "sqlite:"+t.TempDir()+"/svc.db", func(rt *svc.Runtime) {
		rt.AddWorkflow(svc.NewWorkflow("failing", func(context.Context, *svc.Work, struct{}) (struct{}, error) {
			return struct{}{}, errors.New("failed on purpose")
		}))
	})
	answer, err := n.Invoke(t.Context(), "failing", svc.Invocation{Wait: true})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "status", answer.Run.Status, workflow.Errored)
	expect(t, "error", answer.Run.Error.Name+": "+answer.Run.Error.Message, "Error: failed on purpose")
	expect(t, "events", told(n.events(t, "failing", answer.RunID)), "run_start, run_end")
}
