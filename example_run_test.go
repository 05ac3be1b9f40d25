package svc_test

import (
	"context"
	"fmt"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/fault"
	"svc.dev/svc/workflow"
)

// greet declares a workflow that greets.
func greet(rt *svc.Runtime) {
	rt.AddWorkflow(svc.NewWorkflow("greet", func(_ context.Context, _ *svc.Work, in struct {
		Name string `json:"name"`
	}) (string, error) {
		return "Hello, " + in.Name + "!", nil
	}))
}

// nap declares a workflow that sleeps for an hour.
func nap(rt *svc.Runtime) {
	rt.AddWorkflow(svc.NewWorkflow("nap", func(ctx context.Context, w *svc.Work, _ struct{}) (struct{}, error) {
		return struct{}{}, w.Sleep(ctx, time.Hour)
	}))
}

// With a key, an invocation that is sent twice is one run.
func ExampleScoped_Invoke() {
	rt, stop := serve(greet)
	defer stop()
	ctx := context.Background()

	ada := svc.Invocation{Input: []byte(`{"name": "Ada"}`), Key: "request-1", Wait: true}
	first, err := rt.Invoke(ctx, "greet", ada)
	check(err)
	second, err := rt.Invoke(ctx, "greet", ada)
	check(err)
	fmt.Printf("%s %s\n", first.Run.Status, first.Run.Result)
	fmt.Println(second.Replayed, second.RunID == first.RunID)

	_, err = rt.Invoke(ctx, "great", svc.Invocation{})
	fmt.Println(err)
	// Output:
	// completed "Hello, Ada!"
	// true true
	// workflow_not_found: No workflow named "great". Check the name.
}

// Whoever waits may do so later, and on another node.
func ExampleScoped_Await() {
	rt, stop := serve(greet)
	defer stop()
	ctx := context.Background()

	invoked, err := rt.Invoke(ctx, "greet", svc.Invocation{Input: []byte(`{"name": "Bo"}`)})
	check(err)
	run, err := rt.Await(ctx, "greet", invoked.RunID)
	check(err)
	fmt.Printf("%s\n", run.Result)
	// Output: "Hello, Bo!"
}

func ExampleScoped_CancelRun() {
	rt, stop := serve(nap)
	defer stop()
	ctx := context.Background()

	invoked, err := rt.Invoke(ctx, "nap", svc.Invocation{})
	check(err)
	active, err := rt.CancelRun(ctx, invoked.RunID)
	fmt.Println(active, err)

	run, err := rt.Await(ctx, "nap", invoked.RunID)
	check(err)
	fmt.Println(run.Status, run.Error.Type)
	active, err = rt.CancelRun(ctx, invoked.RunID)
	fmt.Println(active, err)
	// Output:
	// true <nil>
	// errored run_cancelled
	// false <nil>
}

func ExampleScoped_ListRuns() {
	rt, stop := serve(greet)
	defer stop()
	ctx := context.Background()
	for range 3 {
		_, err := rt.Invoke(ctx, "greet", svc.Invocation{Input: []byte(`{"name": "you"}`), Wait: true})
		check(err)
	}

	filter := svc.RunFilter{Workflow: "greet", Status: workflow.Completed, Limit: 2}
	for more := true; more; more = filter.Cursor != "" {
		page, err := rt.ListRuns(ctx, filter)
		check(err)
		fmt.Println(len(page.Runs), page.Runs[0].WorkflowName, page.Runs[0].Status)
		filter.Cursor = page.NextCursor
	}
	// Output:
	// 2 greet completed
	// 1 greet completed
}

func ExampleScoped_GetRun() {
	rt, stop := serve(greet)
	defer stop()
	ctx := context.Background()

	invoked, err := rt.Invoke(ctx, "greet", svc.Invocation{Input: []byte(`{"name": 1}`), StartedBy: "nightly", Wait: true})
	check(err)
	run, err := rt.GetRun(ctx, invoked.RunID)
	check(err)
	fmt.Println(run.StartedBy, run.Status, run.Error.Type)
	// Output: nightly errored action_input_validation
}

func ExampleScoped_EraseRun() {
	rt, stop := serve(greet)
	defer stop()
	ctx := context.Background()

	invoked, err := rt.Invoke(ctx, "greet", svc.Invocation{Input: []byte(`{"name": "Cy"}`), Wait: true})
	check(err)
	check(rt.EraseRun(ctx, invoked.RunID))
	_, err = rt.GetRun(ctx, invoked.RunID)
	fmt.Println(fault.Is(err, fault.RunNotFound))
	// Output: true
}
