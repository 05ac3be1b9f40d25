package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"time"
)

// engine is what is measured, inside a process and on a database of its own.
type engine struct {
	served http.Handler                                       // nil: nothing
	door   door                                               // to what the engine serves by itself
	work   func(ctx context.Context, writer, steps int) error // one thing to its end, which a Task repeats
	count  func(*Usage)                                       // adds what the engine counts of itself; nil: nothing
	close  func() error
}

// engines are all that is measured, by name. What they are asked beside what every engine is, they add to their control.
var engines = map[string]func(ctx context.Context, address string, log *slog.Logger, control *http.ServeMux) (engine, error){
	ours:        openOurs,
	storeName:   openStore,
	bareName:    openBare,
	dbosName:    openDBOS,
	productName: openProduct,
	goName:      openGo,
	scriptName:  openScript,
}

// serveRole is the first argument of this binary when it runs itself as an engine.
const serveRole = "serve"

// serve opens an engine, and ends it when whoever started this process closes its input, or is gone.
func serve(ctx context.Context, args []string) (err error) {
	flags := flag.NewFlagSet(serveRole, flag.ContinueOnError)
	name := flags.String("engine", ours, "what is measured")
	address := flags.String("db", "", "address of its database")
	profile := flags.String("profile", "", "file for its CPU profile")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		defer cancel()
		_, _ = io.Copy(io.Discard, os.Stdin)
	}()
	if *profile != "" {
		f, err := os.Create(*profile)
		if err != nil {
			return err
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	control := http.NewServeMux()
	e, err := engines[*name](ctx, *address, log, control)
	if err != nil {
		return fmt.Errorf("open %s: %w", *name, err)
	}
	defer func() { err = errors.Join(err, e.close()) }()
	e.control(control)
	return e.serve(ctx, control)
}

// serve serves the engine and its control on ports of their own until ctx ends, and says where.
func (e engine) serve(ctx context.Context, control http.Handler) error {
	var at Addresses
	failed := make(chan error, 2)
	for _, s := range []struct {
		handler http.Handler
		address *string
	}{{e.served, &at.Served}, {control, &at.Control}} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		*s.address = l.Addr().String()
		server := &http.Server{Handler: s.handler, ReadHeaderTimeout: 10 * time.Second}
		defer server.Close()
		go func() { failed <- server.Serve(l) }()
	}
	at.Door = e.door
	if at.Door.Address == "" {
		at.Door.Address = at.Served
	}
	if err := json.NewEncoder(os.Stdout).Encode(at); err != nil {
		return err
	}
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		return nil
	}
}

// control answers what every engine is asked.
func (e engine) control(mux *http.ServeMux) {
	mux.HandleFunc("POST /usage", func(w http.ResponseWriter, _ *http.Request) {
		u, err := usage()
		if e.count != nil {
			e.count(&u)
		}
		answer(w, u, err)
	})
	// Garbage, stacks that have grown and pages kept for later only look used: they are given back.
	mux.HandleFunc("POST /settle", func(w http.ResponseWriter, _ *http.Request) {
		runtime.GC()
		runtime.GC()
		debug.FreeOSMemory()
		u, err := usage()
		answer(w, u, err)
	})
	mux.HandleFunc("POST /work", func(w http.ResponseWriter, r *http.Request) {
		t := taskOf(r)
		took, err := drive(r.Context(), t.Writers, t.For, func(writer int) error { return e.work(r.Context(), writer, t.Steps) })
		answer(w, len(took), err)
	})
}

func answer(w http.ResponseWriter, v any, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_ = json.NewEncoder(w).Encode(v)
}

// Task is what an engine does for a while: things of some steps, one after another by each writer.
type Task struct {
	Steps   int
	Writers int
	For     time.Duration
}

func (t Task) path() string {
	return fmt.Sprintf("/work?steps=%d&writers=%d&for=%s", t.Steps, t.Writers, t.For)
}

// taskOf is the task that a path names.
func taskOf(r *http.Request) (t Task) {
	t.Steps, _ = strconv.Atoi(r.FormValue("steps"))
	t.Writers, _ = strconv.Atoi(r.FormValue("writers"))
	t.For, _ = time.ParseDuration(r.FormValue("for"))
	return t
}
