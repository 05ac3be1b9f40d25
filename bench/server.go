package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/httpapi"
	"svc.dev/svc/model"
	"svc.dev/svc/model/scripted"
	"svc.dev/svc/sqlstore"
)

// serve is the role of what is measured: a runtime with a few workflows and an agent, served as the product serves it.
func serve(ctx context.Context, args []string) (err error) {
	flags := flag.NewFlagSet("server", flag.ContinueOnError)
	address := flags.String("db", "", "address of the database")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctx, cancel := untilInputEnds(ctx)
	defer cancel()
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	opened, err := sqlstore.Open(ctx, *address, sqlstore.Config{Log: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	store := &notingStore{Store: opened, committed: map[int64]int64{}, queues: map[svc.Stream]string{}, wake: make(chan struct{}, 1)}
	rt, err := svc.New(svc.Config{
		Store: store, Log: log, StopTimeout: stopTimeout / 3, Model: model.Providers{"scripted": scripted.Words()}.Find,
	})
	if err != nil {
		return err
	}
	begin := make(chan struct{})
	rt.AddWorkflow(workflows(begin)...)
	rt.AddAgent(&svc.Agent{Name: talker, Model: "scripted/words", Route: svc.Open})
	ended := make(chan error, 1)
	go func() { ended <- rt.Run(ctx) }()
	mux := controls()
	mux.HandleFunc("POST /begin", func(w http.ResponseWriter, _ *http.Request) {
		close(begin)
		answer(w, nil, nil)
	})
	mux.HandleFunc("POST /commits", func(w http.ResponseWriter, _ *http.Request) { answer(w, store.commits(), nil) })
	mux.HandleFunc("POST /writes", func(w http.ResponseWriter, _ *http.Request) { answer(w, store.writes(), nil) })
	mux.HandleFunc("POST /settlements", store.tellSettlements)
	err = serveUntil(ctx, httpapi.New(rt, httpapi.Config{Log: log}), mux)
	return errors.Join(err, <-ended)
}

// serveUntil serves both handlers on ports of their own until ctx ends, and says where.
func serveUntil(ctx context.Context, served, control http.Handler) error {
	var at Addresses
	failed := make(chan error, 2)
	for _, s := range []struct {
		handler http.Handler
		address *string
	}{{served, &at.Served}, {control, &at.Control}} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		*s.address = l.Addr().String()
		server := &http.Server{Handler: s.handler, ReadHeaderTimeout: 10 * time.Second}
		defer server.Close()
		go func() { failed <- server.Serve(l) }()
	}
	if err := say(at); err != nil {
		return err
	}
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		return nil
	}
}

// controls are the questions that every server answers.
func controls() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /usage", func(w http.ResponseWriter, _ *http.Request) {
		u, err := usage()
		answer(w, u, err)
	})
	mux.HandleFunc("POST /settle", func(w http.ResponseWriter, _ *http.Request) {
		settle()
		u, err := usage()
		answer(w, u, err)
	})
	mux.HandleFunc("POST /profile", func(w http.ResponseWriter, r *http.Request) {
		answer(w, nil, startProfile(r.URL.Query().Get("to")))
	})
	mux.HandleFunc("POST /profiled", func(w http.ResponseWriter, _ *http.Request) {
		pprof.StopCPUProfile()
		answer(w, nil, nil)
	})
	return mux
}

func answer(w http.ResponseWriter, v any, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_ = json.NewEncoder(w).Encode(v)
}

// settle gives back what only looks used: garbage, stacks that have grown, pages kept for later.
func settle() {
	runtime.GC()
	runtime.GC()
	debug.FreeOSMemory()
}

func startProfile(file string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	return pprof.StartCPUProfile(f)
}

// workflows are what is run. A chatty one begins when begin is closed.
func workflows(begin <-chan struct{}) []*svc.Workflow {
	type times struct {
		N int `json:"n"`
	}
	type pace struct {
		N         int `json:"n"`
		PerSecond int `json:"perSecond"`
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
		svc.NewWorkflow(chatty, func(ctx context.Context, w *svc.Work, in pace) (int, error) {
			select {
			case <-begin:
			case <-ctx.Done():
				return 0, ctx.Err()
			}
			every := time.NewTicker(time.Second / time.Duration(in.PerSecond))
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
