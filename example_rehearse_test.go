package svc_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/sqlstore"
)

// paying declares a workflow whose first step has a name, and which then waits for an hour.
func paying(rt *svc.Runtime, step string, begun func()) {
	rt.AddWorkflow(svc.NewWorkflow("pay", func(ctx context.Context, w *svc.Work, _ struct{}) (struct{}, error) {
		_, err := svc.Step(ctx, w, step, func(context.Context) (bool, error) { begun(); return true, nil }, svc.Durable)
		if err != nil {
			return struct{}{}, err
		}
		return struct{}{}, w.Sleep(ctx, time.Hour)
	}))
}

// A program that changed looks whether the runs that are unfinished could go on, and changes nothing.
func ExampleRuntime_Rehearse() {
	folder, err := os.MkdirTemp("", "svc")
	check(err)
	defer os.RemoveAll(folder)
	address := "sqlite:" + filepath.Join(folder, "svc.db")
	leaveRun(address)

	for _, step := range []string{"charge", "bill"} {
		store, err := sqlstore.OpenReader(context.Background(), address, sqlstore.Config{})
		check(err)
		rt, err := svc.New(svc.Config{Store: store, Log: slog.New(slog.DiscardHandler)})
		check(err)
		paying(rt, step, func() { fmt.Println("never") })
		for lease, err := range store.Unfinished(context.Background()) {
			check(err)
			fmt.Println(lease.Stream.Name, "by", step+":", rt.Rehearse(context.Background(), lease))
		}
		check(store.Close())
	}
	// Output:
	// pay by charge: <nil>
	// pay by bill: run_definition_changed: The workflow asks for step "bill" where "charge" is recorded.
}

// leaveRun begins a run whose first step ends, and stops.
func leaveRun(address string) {
	ctx, stop := context.WithCancel(context.Background())
	store, err := sqlstore.Open(ctx, address, sqlstore.Config{})
	check(err)
	rt, err := svc.New(svc.Config{Store: store, Log: slog.New(slog.DiscardHandler)})
	check(err)
	begun, ended := make(chan struct{}), make(chan error, 1)
	paying(rt, "charge", func() { close(begun) })
	go func() { ended <- rt.Run(ctx) }()
	_, err = rt.Invoke(ctx, "pay", svc.Invocation{})
	check(err)
	<-begun
	stop()
	check(<-ended)
	check(store.Close())
}
