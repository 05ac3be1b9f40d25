package svc_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/sqlstore"
	"svc.dev/svc/workflow"
)

// TestCallersWaitForTheSuccessor lets a Runtime stop while somebody waits for one of its runs, and another of the process finish that.
func TestCallersWaitForTheSuccessor(t *testing.T) {
	store, err := sqlstore.Open(t.Context(), sqlite(t), sqlstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	run := func(step func(context.Context) (int, error)) (*svc.Runtime, func()) {
		rt, err := svc.New(svc.Config{Store: store, Node: "one", StopTimeout: 50 * time.Millisecond, Succeeded: true, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		declared("w", func(ctx context.Context, w *svc.Work, _ struct{}) (int, error) { return svc.Step(ctx, w, "s", step) })(rt)
		ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
		ended := make(chan error, 1)
		go func() { ended <- rt.Run(ctx) }()
		return rt, func() {
			cancel()
			if err := <-ended; err != nil {
				t.Errorf("run: %v", err)
			}
		}
	}
	begun := make(chan struct{}, 1)
	first, stop := run(func(ctx context.Context) (int, error) {
		begun <- struct{}{}
		<-ctx.Done()
		return 0, ctx.Err()
	})
	answered := make(chan *workflow.Run, 1)
	go func() {
		got, err := first.Invoke(t.Context(), "w", svc.Invocation{Wait: true})
		if err != nil {
			t.Errorf("the caller is told %v", err)
		}
		answered <- got.Run
	}()
	<-begun
	stop()
	_, stop = run(func(context.Context) (int, error) { return 7, nil })
	defer stop()
	if got := <-answered; got == nil || string(got.Result) != "7" {
		t.Errorf("the caller gets %+v", got)
	}
}
