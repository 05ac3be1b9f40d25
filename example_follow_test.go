package svc_test

import (
	"context"
	"encoding/json"
	"fmt"

	"svc.dev/svc"
	"svc.dev/svc/stream"
	"svc.dev/svc/workflow"
)

// Whoever follows takes the wake, reads, and then waits: nothing is missed, and nothing is seen twice.
func ExampleRuntime_Follow() {
	rt, stop := serve(greet)
	defer stop()
	ctx := context.Background()
	invoked, err := rt.Invoke(ctx, "greet", svc.Invocation{Input: []byte(`{"name": "Di"}`)})
	check(err)

	f := rt.Follow(rt.RunStream(workflow.Run{Workflow: "greet", ID: invoked.RunID}))
	defer f.Close()
	for after, closed := stream.Start, false; !closed; {
		wake := f.Wake()
		page, err := f.Page(ctx, after)
		check(err)
		var events []workflow.Event
		check(json.Unmarshal(page.JSON(), &events))
		for _, e := range events {
			fmt.Println(e.EventIndex, e.Type)
		}
		if after, closed = page.Next, page.Closed; page.Tail && !closed {
			<-wake
		}
	}
	// Output:
	// 0 run_start
	// 1 run_end
}

// A page is what stands behind an offset. With the one that it gives, reading goes on later.
func ExampleRuntime_Page() {
	rt, stop := serve(greet)
	defer stop()
	ctx := context.Background()
	invoked, err := rt.Invoke(ctx, "greet", svc.Invocation{Input: []byte(`{"name": "Ed"}`), Wait: true})
	check(err)

	page, err := rt.Page(ctx, rt.RunStream(*invoked.Run), stream.Start)
	check(err)
	fmt.Println(page.Items, page.Next, page.Tail, page.Closed)
	page, err = rt.Page(ctx, rt.RunStream(*invoked.Run), page.Next)
	check(err)
	fmt.Printf("%d %s\n", page.Items, page.JSON())
	// Output:
	// 2 0000000000000000_0000000000000001 true true
	// 0 []
}
