// Package ts runs a project in a svc.Runtime: a folder of TypeScript modules that declare agents, workflows and channels, and an
// application around them. Modules are bundled into one script and run in engines of this process; there is no Node.
//
// Variables of modules live in one engine of several, and are shared by all scopes: nothing is kept in them.
package ts

import (
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/httpapi"
	"svc.dev/svc/internal/bundle"
	"svc.dev/svc/internal/script"
)

// Config is how a project is run. The zero value runs one.
type Config struct {
	// Serving is how many engines answer requests. Defaults to the number of processors.
	Serving int
	// Working is how many engines run workflows, tools and initializers. Defaults to the number of processors.
	Working int
	// Limits bound each engine.
	Limits Limits
	// Env is what process.env shows. Defaults to nothing.
	Env map[string]string
	// Client is how fetch goes out. Defaults to one that reaches every address.
	Client *http.Client
	// Admit is asked before modules dispatch or invoke in a scope; its error is thrown. Defaults to no such question.
	Admit func(ctx context.Context, scope string) error
	// Around stands before the API, where the application has let a request pass. Defaults to nothing.
	Around func(api http.Handler) http.Handler
	// API is how the API is served: at "/", or where the application mounts it.
	API httpapi.Config
	// Dev warns authors, once for each workflow, of what a replay does again or finds changed. Defaults to false.
	Dev bool
	// Witness compares a run with its replay. Defaults to none.
	Witness *Witness
	// Log hears the console, and what authors should know. Defaults to slog.Default().
	Log *slog.Logger
}

// Limits bound what scripts do. A zero field is its default.
type Limits struct {
	Turn        time.Duration // without coming to a rest. Defaults to 1 second.
	Start       time.Duration // of the project's modules, without coming to a rest; three times that with what they wait for. Defaults to 10 seconds.
	Memory      int64         // of one engine, in bytes. Defaults to 64 MiB.
	Body        int64         // of a request or answer that a script reads, in bytes. Defaults to 8 MiB.
	Bodies      int64         // of all requests that scripts have read at once, in bytes. Defaults to 256 MiB.
	Acts        int           // at once in one engine: requests, runs, calls of tools. Defaults to 256.
	Head        time.Duration // until an answer begins, not counting what the API takes. Defaults to 60 seconds.
	Initializer time.Duration // of an agent. Defaults to 10 seconds.
	Late        time.Duration // of work that a request leaves behind by waitUntil. Defaults to 30 seconds.
}

func (c Config) withDefaults() Config {
	c.Serving = cmp.Or(max(c.Serving, 0), runtime.GOMAXPROCS(0))
	c.Working = cmp.Or(max(c.Working, 0), runtime.GOMAXPROCS(0))
	c.Limits.Turn = cmp.Or(max(c.Limits.Turn, 0), time.Second)
	c.Limits.Start = cmp.Or(max(c.Limits.Start, 0), 10*time.Second)
	c.Limits.Body = cmp.Or(max(c.Limits.Body, 0), 8<<20)
	c.Limits.Bodies = cmp.Or(max(c.Limits.Bodies, 0), 256<<20)
	c.Limits.Head = cmp.Or(max(c.Limits.Head, 0), time.Minute)
	c.Limits.Initializer = cmp.Or(max(c.Limits.Initializer, 0), 10*time.Second)
	c.Limits.Late = cmp.Or(max(c.Limits.Late, 0), 30*time.Second)
	c.Log = cmp.Or(c.Log, slog.Default())
	return c
}

// served is the API.
func (c Config) served(rt *svc.Runtime) http.Handler {
	api := httpapi.New(rt, mounted(c.API))
	if c.Around == nil {
		return api
	}
	return c.Around(api)
}

func (l Limits) ofEngine() script.Limits {
	return script.Limits{Turn: l.Turn, Start: l.Start, Memory: uintptr(max(l.Memory, 0)), Body: l.Body, Acts: l.Acts}
}

// Project is a project that runs. It is an http.Handler: the application, or the API where there is none.
type Project struct {
	rt     *svc.Runtime
	config Config
	hash   string
	api    http.Handler
	app    bool
	names  map[declared]bool
	loaded atomic.Bool

	declared []Declaration
	advised  advised

	serving, working *pool
	bodies           room

	mu        sync.Mutex
	exchanges map[int64]*exchange
	last      int64 // of the exchanges' ids
}

// Load starts the project of a folder, or of the file that svc bundle made of one, and declares in the Runtime what it holds, before
// Run. What is wrong with it is a fault: bundle_failed, module_invalid or project_failed.
func Load(ctx context.Context, rt *svc.Runtime, name string, c Config) (*Project, error) {
	built, err := Build(name)
	if err != nil {
		return nil, err
	}
	return built.Load(ctx, rt, c)
}

// Built is a project that was bundled and does not run.
type Built struct{ made *bundle.Bundle }

// Build bundles the project of a folder, or reads the file that svc bundle made of one. What is wrong with it is a fault: bundle_failed or
// module_invalid.
func Build(name string) (*Built, error) {
	made, err := bundle.Open(name)
	if err != nil {
		return nil, notBundled(err)
	}
	return &Built{made}, nil
}

// Hash names the script: the same sources have the same.
func (b *Built) Hash() string { return b.made.Hash() }

// Bytes is how long the script is.
func (b *Built) Bytes() int { return len(b.made.Code) }

// Same reports whether another build is the same script, and its stacks lead to the same lines.
func (b *Built) Same(other *Built) bool { return b.made.Equal(other.made) }

// Sources are what the script was made of, without packages: files, and the folders that imports lead to, absolute.
func (b *Built) Sources() []string { return b.made.Sources }

// SourcesOf are the sources of a build that failed with this error. One that was not begun has none.
func SourcesOf(err error) []string {
	if e, ok := errors.AsType[*bundle.Error](err); ok {
		return e.Sources
	}
	return nil
}

// Load starts the project, and declares in the Runtime what it holds, before Run.
func (b *Built) Load(ctx context.Context, rt *svc.Runtime, c Config) (*Project, error) {
	p, err := start(rt, b.made, c.withDefaults())
	if err != nil {
		return nil, err
	}
	if err := p.describe(ctx); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

//go:embed prelude/*.js
var preludes embed.FS

// prelude is what scripts find of ours, compiled once. It has a block of its own, so that its words are not those of the engine's.
var prelude = sync.OnceValues(func() (script.Code, error) {
	names, err := fs.Glob(preludes, "prelude/*.js")
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	for _, name := range names {
		data, err := preludes.ReadFile(name)
		if err != nil {
			return nil, err
		}
		b.Write(data)
	}
	return script.CompilePrelude("{\n" + b.String() + "}\n")
})

// entrances are where Go calls into the prelude.
var entrances = []string{"describe", "agent", "tool", "run", "step", "request", "guard", "channel"}

func start(rt *svc.Runtime, made *bundle.Bundle, c Config) (*Project, error) {
	begun, err := prelude()
	if err != nil {
		return nil, fmt.Errorf("prelude: %w", err)
	}
	main, err := script.CompileMain(made.Code)
	if err != nil {
		return nil, notStarted(err)
	}
	p := &Project{rt: rt, config: c, hash: made.Hash(), api: c.served(rt), names: map[declared]bool{}, exchanges: map[int64]*exchange{}, bodies: room{left: c.Limits.Bodies}}
	var heard func(script.Call)
	if c.Dev {
		heard = p.advise
	}
	open := func(ctx context.Context, turned func(time.Duration)) (*script.Engine, error) {
		ctx, cancel := context.WithTimeout(ctx, loading*c.Limits.Start)
		defer cancel()
		engine, err := script.New(ctx, script.Config{
			Prelude: begun, Main: main, Entrances: entrances, Env: c.Env, Limits: c.Limits.ofEngine(),
			Host: host{p}, Client: c.Client, Log: c.Log, Trace: made.Map.Trace, Turned: turned, Heard: heard,
		})
		return engine, p.unstarted(err)
	}
	p.serving, p.working = newPool("serving", c.Serving, open, c.Log), newPool("working", c.Working, open, c.Log)
	return p, nil
}

// loading is how many times longer modules may take to load than they may compute without coming to a rest.
const loading = 3

// unstarted is that an engine did not start. The first one tells what is wrong with the project; with those that come later it is the engine
// that is not there, whoever needs it.
func (p *Project) unstarted(err error) error {
	switch {
	case errors.Is(err, context.Canceled):
		return errClosed
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("the modules have not loaded within %s", loading*p.config.Limits.Start)
	}
	if err == nil || !p.loaded.Load() {
		return err
	}
	report(context.Background(), p.config.Log, "engine did not start", err)
	return fmt.Errorf("%w: it did not start: %v", script.ErrLost, err)
}

// describe asks the project what it declares.
func (p *Project) describe(ctx context.Context) error {
	act, err := p.serving.begin(ctx, nil)
	if err != nil {
		return notStarted(err)
	}
	defer p.serving.end(act)
	act.Call("describe")
	got, err := p.outcome(ctx, act)
	if err != nil {
		return notDescribed(err)
	}
	var d declarations
	if err := json.Unmarshal([]byte(got.Value), &d); err != nil {
		return fmt.Errorf("read declarations: %w", err)
	}
	p.loaded.Store(true)
	return p.declare(d)
}

// outcome waits until a script has finished an act.
func (p *Project) outcome(ctx context.Context, act *script.Act) (script.Result, error) {
	select {
	case got := <-act.Done():
		return got, got.Err
	case <-ctx.Done():
		act.Abort(ctx.Err())
		return script.Result{}, context.Cause(ctx)
	case <-act.Engine.Dead():
		select {
		case got := <-act.Done():
			return got, got.Err
		default:
			return script.Result{}, act.Engine.Fault(act.ID)
		}
	}
}

// Hash names the script that runs: the same sources have the same.
func (p *Project) Hash() string { return p.hash }

// Stats is what the engines do that serve, and those that work.
func (p *Project) Stats() (serving, working Stats) { return p.serving.stats(), p.working.stats() }

// mostStuck is how many engines may be stuck in what cannot be ended before the project is not ready: each burns a processor.
const mostStuck = 2

// Ready says why no more requests should come here: too many engines are stuck.
func (p *Project) Ready() error {
	if n := p.serving.stuck() + p.working.stuck(); n > mostStuck {
		return fmt.Errorf("%d engines are stuck", n)
	}
	return nil
}

// Close ends the engines, and returns when nothing is left of them, but for those that are stuck. The Runtime has stopped before, and Drain has
// waited for what requests have left behind.
func (p *Project) Close() {
	p.serving.close()
	p.working.close()
}

// errClosed is that the project's engines have ended.
var errClosed = errors.New("the project is closed")
