package svc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/model/scripted"
	"svc.dev/svc/stream"
	"svc.dev/svc/workflow"
)

// play runs a workflow without input to its end and prints its result.
func play[Out any](fn func(context.Context, *svc.Work, struct{}) (Out, error), turns ...scripted.Turn) {
	rt, stop := serve(func(rt *svc.Runtime) { rt.AddWorkflow(svc.NewWorkflow("example", fn)) }, turns...)
	defer stop()
	invoked, err := rt.Invoke(context.Background(), "example", svc.Invocation{Wait: true})
	check(err)
	fmt.Printf("%s %s\n", invoked.Run.Status, invoked.Run.Result)
}

// What a step has done is recorded. When the process dies, the function runs again, and its steps are read.
func ExampleStep() {
	play(func(ctx context.Context, w *svc.Work, _ struct{}) (string, error) {
		charge, err := svc.Step(ctx, w, "find charge", func(context.Context) (string, error) { return "ch_1", nil })
		if err != nil {
			return "", err
		}
		return svc.Step(ctx, w, "refund", func(context.Context) (string, error) { return "refunded " + charge, nil })
	})
	// Output: completed "refunded ch_1"
}

// A step that may fail is tried again; in the end its error is recorded like a result.
func ExampleRetry() {
	play(func(ctx context.Context, w *svc.Work, _ struct{}) (string, error) {
		tries := 0
		again := svc.Retry{Attempts: 3, Delay: time.Microsecond}
		return svc.Step(ctx, w, "call the bank", func(context.Context) (string, error) {
			if tries++; tries < 3 {
				return "", errors.New("the line is busy")
			}
			return fmt.Sprintf("answered at try %d", tries), nil
		}, again)
	})
	// Output: completed "answered at try 3"
}

// A payment must not be made again once it has gone through.
func ExampleStep_durable() {
	play(func(ctx context.Context, w *svc.Work, _ struct{}) (string, error) {
		return svc.Step(ctx, w, "pay", func(context.Context) (string, error) { return "receipt 7", nil }, svc.Durable)
	})
	// Output: completed "receipt 7"
}

func ExampleParallel() {
	price := func(shop string, cents int) *svc.BranchOf[int] {
		return svc.Branch("ask for a price", func(context.Context) (int, error) { return cents, nil }, svc.Keyed(shop))
	}
	play(func(ctx context.Context, w *svc.Work, _ struct{}) (int, error) {
		here, there := price("here", 250), price("there", 240)
		if err := svc.Parallel(ctx, w, here, there); err != nil {
			return 0, err
		}
		return min(here.Value, there.Value), nil
	})
	// Output: completed 240
}

// A run that sleeps holds no worker and survives a restart, however long it sleeps.
func ExampleWork_Sleep() {
	play(func(ctx context.Context, w *svc.Work, _ struct{}) (string, error) {
		if err := w.Sleep(ctx, time.Millisecond); err != nil {
			return "", err
		}
		return "awake", nil
	})
	// Output: completed "awake"
}

// Now and Random are what they were the first time when the run is resumed.
func ExampleWork_Now() {
	play(func(_ context.Context, w *svc.Work, _ struct{}) (bool, error) {
		began, dice := w.Now(), w.Random()%6+1
		return !w.Now().Before(began) && dice <= 6, nil
	})
	// Output: completed true
}

// Lines that a run logs are events, which its readers see in order.
func ExampleWork_Log() {
	rt, stop := serve(func(rt *svc.Runtime) {
		rt.AddWorkflow(svc.NewWorkflow("ship", func(_ context.Context, w *svc.Work, _ struct{}) (struct{}, error) {
			w.Log("packed", "boxes", 2)
			w.Warn("one is heavy")
			return struct{}{}, nil
		}))
	})
	defer stop()
	ctx := context.Background()
	invoked, err := rt.Invoke(ctx, "ship", svc.Invocation{Wait: true})
	check(err)

	page, err := rt.Page(ctx, rt.RunStream(*invoked.Run), stream.Start)
	check(err)
	var events []struct {
		Type, Level, Message string
		Attributes           json.RawMessage
	}
	check(json.Unmarshal(page.JSON(), &events))
	for _, e := range events {
		if e.Type == workflow.Log {
			fmt.Printf("%s %s %s\n", e.Level, e.Message, e.Attributes)
		}
	}
	// Output:
	// info packed {"boxes":2}
	// warn one is heavy
}

// A prompt is a step too: once answered, it is read and not asked again.
func ExampleAsk() {
	poet := &svc.Agent{Name: "poet", Instructions: "You rhyme.", Model: "scripted/poet"}
	play(func(ctx context.Context, w *svc.Work, _ struct{}) (string, error) {
		answer, err := svc.Ask(ctx, w, poet, "What rhymes with house?")
		return answer.Text, err
	}, scripted.Turn{scripted.Say("A mouse.")})
	// Output: completed "A mouse."
}

// The model gives its result as a value of a Go type, by a tool that is offered to it.
func ExampleAskFor() {
	type verdict struct {
		Spam  bool    `json:"spam"`
		Score float64 `json:"score"`
	}
	judge := &svc.Agent{Name: "judge", Model: "scripted/judge"}
	play(func(ctx context.Context, w *svc.Work, _ struct{}) (verdict, error) {
		return svc.AskFor[verdict](ctx, w, judge, "Is this spam: you have won!")
	}, scripted.Turn{scripted.Call("give_result", verdict{Spam: true, Score: 0.9})})
	// Output: completed {"spam":true,"score":0.9}
}

// The form of a result that is not known when the program is written is a JSON Schema.
func ExampleAskRaw() {
	judge := &svc.Agent{Name: "judge", Model: "scripted/judge"}
	form := json.RawMessage(`{"type":"object","properties":{"spam":{"type":"boolean"}},"required":["spam"]}`)
	play(func(ctx context.Context, w *svc.Work, _ struct{}) (json.RawMessage, error) {
		_, result, err := svc.AskRaw(ctx, w, judge, "Is this spam: you have won!", form)
		return result, err
	}, scripted.Turn{scripted.Call("give_result", map[string]bool{"spam": true})})
	// Output: completed {"spam":true}
}

// A workflow that is not known when the program is written is declared by the JSON Schema of its input.
func ExampleRawWorkflow() {
	schema := json.RawMessage(`{"type":"object","properties":{"order":{"type":"string"}},"required":["order"]}`)
	refund, err := svc.RawWorkflow("refund", schema, func(ctx context.Context, w *svc.Work, input json.RawMessage) (json.RawMessage, error) {
		return svc.Step(ctx, w, "refund", func(context.Context) (json.RawMessage, error) { return input, nil })
	})
	check(err)
	rt, stop := serve(func(rt *svc.Runtime) { rt.AddWorkflow(refund) })
	defer stop()
	invoked, err := rt.Invoke(context.Background(), "refund", svc.Invocation{Input: json.RawMessage(`{"order":"o_1"}`), Wait: true})
	check(err)
	fmt.Printf("%s\n", invoked.Run.Result)
	// Output: {"order":"o_1"}
}

// A step may want to know how often it was tried before.
func ExampleAttempt() {
	play(func(ctx context.Context, w *svc.Work, _ struct{}) (string, error) {
		return svc.Step(ctx, w, "call the bank", func(ctx context.Context) (string, error) {
			if svc.Attempt(ctx) < 2 {
				return "", errors.New("the line is busy")
			}
			return fmt.Sprintf("answered at attempt %d", svc.Attempt(ctx)), nil
		}, svc.Retry{Delay: time.Microsecond})
	})
	// Output: completed "answered at attempt 2"
}

// A workflow that acts for somebody asks whose run it is.
func ExampleWork_StartedBy() {
	rt, stop := serve(func(rt *svc.Runtime) {
		rt.AddWorkflow(svc.NewWorkflow("whose", func(ctx context.Context, w *svc.Work, _ struct{}) (string, error) {
			return w.StartedBy(ctx)
		}))
	})
	defer stop()
	invoked, err := rt.Invoke(context.Background(), "whose", svc.Invocation{StartedBy: "ada", Wait: true})
	check(err)
	fmt.Printf("%s\n", invoked.Run.Result)
	// Output: "ada"
}
