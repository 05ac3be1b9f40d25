package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/httpapi"
	"svc.dev/svc/model"
	"svc.dev/svc/model/scripted"
	"svc.dev/svc/sqlstore"
)

const ours = "svc"

// openOurs is a runtime with a few workflows and an agent, served as the product serves it, or called as a library.
func openOurs(ctx context.Context, address string, log *slog.Logger, control *http.ServeMux) (engine, error) {
	return openAround(ctx, address, log, control, func(rt *svc.Runtime, c httpapi.Config) (http.Handler, func(), error) {
		return httpapi.New(rt, c), func() {}, nil
	})
}

// surrounding is what stands around the API of a runtime, and what ends it. It may declare more, for nothing runs yet.
type surrounding func(rt *svc.Runtime, c httpapi.Config) (http.Handler, func(), error)

func openAround(ctx context.Context, address string, log *slog.Logger, control *http.ServeMux, around surrounding) (e engine, err error) {
	opened, err := sqlstore.Open(ctx, address, sqlstore.Config{Log: log})
	if err != nil {
		return e, err
	}
	store := newNotingStore(opened)
	rt, err := svc.New(svc.Config{
		Store: store, Log: log, StopTimeout: stopTimeout / 3, Model: model.Providers{"scripted": scripted.Words()}.Find,
	})
	if err != nil {
		return e, errors.Join(err, opened.Close())
	}
	begin := make(chan struct{})
	rt.AddWorkflow(workflows(begin)...)
	rt.AddAgent(&svc.Agent{Name: talker, Model: "scripted/words", Route: svc.Open})
	served, leave, err := around(rt, httpapi.Config{Log: log})
	if err != nil {
		return e, errors.Join(err, opened.Close())
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- rt.Run(ctx) }()
	control.HandleFunc("POST /begin", func(w http.ResponseWriter, _ *http.Request) {
		close(begin)
		answer(w, nil, nil)
	})
	control.HandleFunc("POST /commits", func(w http.ResponseWriter, _ *http.Request) { answer(w, store.commits(), nil) })
	control.HandleFunc("POST /settlements", store.tellSettlements)
	e.served, e.count = served, store.count
	e.work = func(ctx context.Context, _, steps int) error { return invokeOurs(ctx, rt.In(""), steps) }
	e.close = func() error {
		cancel()
		err := <-ended
		leave()
		return errors.Join(err, opened.Close())
	}
	return e, nil
}

func invokeOurs(ctx context.Context, rt svc.Scoped, steps int) error {
	name, in := "trivial", svc.Invocation{Wait: true}
	if steps > 0 {
		name, in.Input = "steps", fmt.Appendf(nil, `{"n":%d}`, steps)
	}
	invoked, err := rt.Invoke(ctx, name, in)
	if err == nil && invoked.Run.Error != nil {
		err = fmt.Errorf("run %s: %v", invoked.RunID, invoked.Run.Error)
	}
	return err
}

// workflows are what is run. A chatty one begins when begin is closed.
func workflows(begin <-chan struct{}) []*svc.Workflow {
	type times struct {
		N int `json:"n"`
	}
	all := []*svc.Workflow{
		svc.NewWorkflow("trivial", func(context.Context, *svc.Work, struct{}) (map[string]bool, error) {
			return map[string]bool{"ok": true}, nil
		}),
		svc.NewWorkflow("steps", func(ctx context.Context, w *svc.Work, in times) (int, error) {
			for i := range in.N {
				if _, err := svc.Step(ctx, w, "step", func(context.Context) (int, error) { return i, nil }); err != nil {
					return 0, err
				}
			}
			return in.N, nil
		}),
		svc.NewWorkflow("lines", func(_ context.Context, w *svc.Work, in times) (int, error) {
			for i := range in.N {
				w.Log("a line of an ordinary length, as a workflow would write it", "line", i)
			}
			return in.N, nil
		}),
		svc.NewWorkflow(chatty, func(ctx context.Context, w *svc.Work, in times) (int, error) {
			select {
			case <-begin:
			case <-ctx.Done():
				return 0, ctx.Err()
			}
			every := time.NewTicker(time.Second / eventsPerSecond)
			defer every.Stop()
			for range in.N {
				<-every.C
				w.Log(fmt.Sprint(written, time.Now().UnixMicro()))
			}
			return in.N, nil
		}),
		svc.NewWorkflow("sleeper", func(ctx context.Context, w *svc.Work, _ struct{}) (int, error) {
			return 0, w.Sleep(ctx, time.Hour)
		}),
	}
	for _, wf := range all {
		wf.Route, wf.Runs = svc.Open, svc.Open
	}
	return all
}

// written stands before the time at which a chatty run wrote an event.
const written = "written "
