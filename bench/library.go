package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/sqlstore"
)

// library is a workflow engine inside this process, on a database of its own.
type library struct {
	run   func(ctx context.Context, steps int) error // one workflow to its result; trivial without steps
	close func() error
}

// libraries are the engines that are compared, by name.
var libraries = map[string]func(ctx context.Context, address string, log *slog.Logger) (library, error){
	ours:     openOurs,
	dbosName: openDBOS,
}

const ours = "svc"

// serveLibrary is the role of an engine that is compared: called in its own process, with no HTTP between.
func serveLibrary(ctx context.Context, args []string) (err error) {
	flags := flag.NewFlagSet("library", flag.ContinueOnError)
	name := flags.String("of", ours, "engine")
	address := flags.String("db", "", "address of the database")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctx, cancel := untilInputEnds(ctx)
	defer cancel()
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	opened, err := libraries[*name](ctx, *address, log)
	if err != nil {
		return fmt.Errorf("open %s: %w", *name, err)
	}
	defer func() { err = errors.Join(err, opened.close()) }()
	mux := controls()
	mux.HandleFunc("POST /work", func(w http.ResponseWriter, r *http.Request) {
		done, err := opened.work(r.Context(), taskOf(r))
		answer(w, done, err)
	})
	return serveUntil(ctx, http.NotFoundHandler(), mux)
}

// Task is what an engine does for a while: workflows of some steps, one after another by each writer.
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
	q := r.URL.Query()
	t.Steps, _ = strconv.Atoi(q.Get("steps"))
	t.Writers, _ = strconv.Atoi(q.Get("writers"))
	t.For, _ = time.ParseDuration(q.Get("for"))
	return t
}

// Done is how many workflows ended, and how long that took.
type Done struct {
	Runs int           `json:"runs"`
	Took time.Duration `json:"took"`
}

// work runs a task. Workflows that are under way at its end are waited for and count, as their time does.
func (l library) work(ctx context.Context, t Task) (done Done, err error) {
	var mu sync.Mutex
	var group sync.WaitGroup
	began := time.Now()
	for range t.Writers {
		group.Go(func() {
			n, failure := l.repeat(ctx, t.Steps, began.Add(t.For))
			mu.Lock()
			defer mu.Unlock()
			done.Runs += n
			err = cmp.Or(err, failure)
		})
	}
	group.Wait()
	done.Took = time.Since(began)
	return done, err
}

// repeat runs workflows one after another, and counts them.
func (l library) repeat(ctx context.Context, steps int, until time.Time) (n int, err error) {
	for time.Now().Before(until) {
		if err := l.run(ctx, steps); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// openOurs is a runtime of ours, with the workflows of the server.
func openOurs(ctx context.Context, address string, log *slog.Logger) (l library, err error) {
	store, err := sqlstore.Open(ctx, address, sqlstore.Config{Log: log})
	if err != nil {
		return l, err
	}
	rt, err := svc.New(svc.Config{Store: store, Log: log, StopTimeout: stopTimeout / 3})
	if err != nil {
		return l, errors.Join(err, store.Close())
	}
	rt.AddWorkflow(workflows(nil)...)
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- rt.Run(ctx) }()
	l.run = func(ctx context.Context, steps int) error { return invokeOurs(ctx, rt.In(""), steps) }
	l.close = func() error {
		cancel()
		return errors.Join(<-ended, store.Close())
	}
	return l, nil
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
