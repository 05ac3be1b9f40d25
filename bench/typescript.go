package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/httpapi"
	"svc.dev/svc/internal/script"
	"svc.dev/svc/ts"
)

// The targets of a project in TypeScript, most of them beside the same in Go.
const (
	scriptGet      = 8.0 // times the CPU of Go's
	scriptGetP50   = 400 * time.Microsecond
	scriptGetMany  = 4000 // a second, at 16
	scriptGuarded  = 7.0
	scriptStep     = 2.2
	scriptReader   = 80 << 10
	scriptStart    = 10 * time.Millisecond
	scriptMemory   = 1536 << 10
	scriptGrowth   = 5 << 20
	scriptRequests = 100_000
)

// The same application, once in Go and once in TypeScript.
const (
	goName     = "go"
	scriptName = "typescript"
)

// application is the project that is measured: an answer of its own, and the API behind a middleware and a guard.
var application = map[string]string{
	"app.ts": `import { svc } from "@svc/runtime/routing";
import { Hono } from "hono";
const app = new Hono();
app.get("/json", (c) => c.json({ hello: "world", n: 1 }));
app.use("/api/*", async (c, next) => { c.set("user", "ada"); await next(); c.header("x-user", "ada"); });
app.route("/api", svc());
export default app;
`,
	"workflows/guarded.ts": `import { defineWorkflow } from "@svc/runtime";
export const route = (c, next) => next();
export const runs = async (c, next) => { if (c.get("user") !== "ada") return c.text("no", 403); await next(); };
export default defineWorkflow({ run: async () => 1 });
`,
	"workflows/sleeping.ts": `import { defineWorkflow } from "@svc/runtime";
export const route = (c, next) => next();
export const runs = (c, next) => next();
export default defineWorkflow({ run: async ({ sleep }) => { await sleep("1h"); } });
`,
	"workflows/climb.ts": `import { defineWorkflow } from "@svc/runtime";
export default defineWorkflow({
  input: { "~standard": { version: 1, vendor: "bench", validate: (value) => ({ value }) } },
  async run({ input, step }) { for (let i = 0; i < input.n; i++) await step("step", () => i); return input.n; },
});
`,
}

// projectVariable names the folder of the project to the processes that serve it.
const projectVariable = "SVC_BENCH_PROJECT"

// openScript serves the project.
func openScript(ctx context.Context, address string, log *slog.Logger, control *http.ServeMux) (engine, error) {
	var project *ts.Project
	e, err := openAround(ctx, address, log, control, func(rt *svc.Runtime, c httpapi.Config) (http.Handler, func(), error) {
		var err error
		if project, err = ts.Load(ctx, rt, os.Getenv(projectVariable), ts.Config{API: c, Log: log}); err != nil {
			return nil, nil, err
		}
		control.HandleFunc("POST /climb", climbing(rt.In(""), "climb"))
		return project, project.Close, nil
	})
	control.HandleFunc("POST /turns", func(w http.ResponseWriter, _ *http.Request) {
		serving, _ := project.Stats()
		answer(w, serving.Turns, nil)
	})
	control.HandleFunc("POST /engines", func(w http.ResponseWriter, r *http.Request) {
		got, err := startEngines(r.Context(), 30)
		answer(w, got, err)
	})
	return e, err
}

// openGo serves the same from Go.
func openGo(ctx context.Context, address string, log *slog.Logger, control *http.ServeMux) (engine, error) {
	return openAround(ctx, address, log, control, func(rt *svc.Runtime, c httpapi.Config) (http.Handler, func(), error) {
		guard := func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("X-User") != "ada" {
					http.Error(w, "no", http.StatusForbidden)
					return
				}
				next.ServeHTTP(w, r)
			})
		}
		guarded := svc.NewWorkflow("guarded", func(context.Context, *svc.Work, struct{}) (int, error) { return 1, nil })
		sleeping := svc.NewWorkflow("sleeping", func(ctx context.Context, w *svc.Work, _ struct{}) (int, error) {
			return 0, w.Sleep(ctx, time.Hour)
		})
		guarded.Route, guarded.Runs, sleeping.Route, sleeping.Runs = svc.Open, guard, svc.Open, guard
		rt.AddWorkflow(guarded, sleeping)
		api := http.StripPrefix("/api", httpapi.New(rt, c))
		app := http.NewServeMux()
		app.HandleFunc("GET /json", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(map[string]any{"hello": "world", "n": 1})
		})
		app.HandleFunc("/api/", func(w http.ResponseWriter, r *http.Request) {
			r.Header.Set("X-User", "ada")
			w.Header().Set("X-User", "ada")
			api.ServeHTTP(w, r)
		})
		control.HandleFunc("POST /climb", climbing(rt.In(""), "steps"))
		return app, func() {}, nil
	})
}

// climbing does a task by invoking a workflow of so many steps, and counts the runs.
func climbing(rt svc.Scoped, workflow string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		t := taskOf(r)
		took, err := drive(r.Context(), t.Writers, t.For, func(int) error {
			invoked, err := rt.Invoke(r.Context(), workflow, svc.Invocation{Input: fmt.Appendf(nil, `{"n":%d}`, t.Steps), Wait: true})
			if err == nil && invoked.Run.Error != nil {
				err = fmt.Errorf("run %s: %v", invoked.RunID, invoked.Run.Error)
			}
			return err
		})
		answer(w, len(took), err)
	}
}

// startEngines is what so many engines take to start, each.
func startEngines(ctx context.Context, n int) (each Usage, err error) {
	prelude, err := script.CompilePrelude()
	if err != nil {
		return each, err
	}
	main, err := script.CompileMain("")
	if err != nil {
		return each, err
	}
	var before, after Usage
	for i := range n + 1 {
		if i == 1 { // what the first makes for all is not counted
			before, err = usage()
		}
		e, failed := script.New(ctx, script.Config{Prelude: prelude, Main: main})
		if err = errors.Join(err, failed); err != nil {
			return each, err
		}
		defer e.Close()
	}
	after, err = usage()
	return Usage{CPU: (after.CPU - before.CPU) / time.Duration(n), RSS: (after.RSS - before.RSS) / int64(n)}, err
}

// measureTypeScript holds an application in TypeScript against the same in Go.
func measureTypeScript(ctx context.Context, b *Bench, db Database) error {
	if err := b.makeProject(ctx); err != nil {
		return fmt.Errorf("make the project: %w", err)
	}
	var plain, scripted appFigures
	err := b.withServer(ctx, db, Setting{Engine: goName}, func(gos *Server) error {
		return b.withServer(ctx, db, Setting{Engine: scriptName}, func(ours *Server) error {
			return errors.Join(b.measureInTurns(ctx, gos, ours, &plain, &scripted), b.measureMemory(ctx, gos, false, &plain), b.measureMemory(ctx, ours, true, &scripted))
		})
	})
	if err != nil {
		return err
	}
	b.reportApp(plain, scripted)
	return nil
}

// makeProject writes the project and gives it the packages of examples/project.
func (b *Bench) makeProject(ctx context.Context) error {
	folder := filepath.Join(b.Folder, "project")
	for name, text := range application {
		file := filepath.Join(folder, "src", filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			return err
		}
	}
	example, err := exampleFolder(ctx)
	if err != nil {
		return err
	}
	if installed := filepath.Join(example, "node_modules"); isThere(installed) {
		err = os.Symlink(installed, filepath.Join(folder, "node_modules"))
	} else {
		err = install(ctx, example, folder)
	}
	return errors.Join(err, os.Setenv(projectVariable, folder))
}

// exampleFolder is examples/project, wherever the measurement runs.
func exampleFolder(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", "svc.dev/svc/examples/project").Output()
	if err != nil {
		return "", fmt.Errorf("find examples/project: %w", err)
	}
	return string(out[:len(out)-1]), nil
}

func isThere(name string) bool {
	_, err := os.Stat(name)
	return !errors.Is(err, fs.ErrNotExist)
}

// install fetches the packages of a folder's lock into another.
func install(ctx context.Context, from, to string) error {
	for _, name := range []string{"package.json", "package-lock.json"} {
		data, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, name), data, 0o644); err != nil {
			return err
		}
	}
	if out, err := exec.CommandContext(ctx, "npm", "--prefix", to, "ci", "--no-audit", "--no-fund").CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w: %s", err, out)
	}
	return nil
}

// appFigures are what one of the applications costs.
type appFigures struct {
	get, gets, read, reads requested // one at a time, and sixteen
	step                   requested
	reader                 float64 // bytes of memory
	turns                  int     // of the engines, for all readers, after their heads
	grown                  int64   // after many requests
	requests               int
	engine                 Usage
}

// requested is what requests cost, and how long they took.
type requested struct {
	Spent
	took times
}

// measureInTurns lets both answer and climb in windows that alternate: a machine is not the same a minute later. What counts is the window in
// the middle.
func (b *Bench) measureInTurns(ctx context.Context, gos, ours *Server, plain, scripted *appFigures) error {
	const steps, writers = 100, 8
	get := func(path string, n int) func(*Server, time.Duration) (requested, error) {
		return func(s *Server, d time.Duration) (requested, error) { return getFor(ctx, s, path, n, d) }
	}
	read := func(n int) func(*Server, time.Duration) (requested, error) {
		return func(s *Server, d time.Duration) (requested, error) {
			id, err := door{Address: s.Served, Base: "/api"}.invoke("guarded?wait=result", "")
			if err != nil {
				return requested{}, err
			}
			return getFor(ctx, s, "/api/runs/"+id+"?meta", n, d)
		}
	}
	climb := func(s *Server, d time.Duration) (got requested, err error) {
		got.Spent, err = s.spend(ctx, func() (n int, err error) {
			err = s.control(ctx, fmt.Sprintf("/climb?steps=%d&writers=%d&for=%s", steps, writers, d), &n)
			return n * steps, err
		})
		return got, err
	}
	for _, m := range []struct {
		plain, scripted *requested
		do              func(*Server, time.Duration) (requested, error)
	}{
		{&plain.get, &scripted.get, get("/json", 1)}, {&plain.gets, &scripted.gets, get("/json", 16)},
		{&plain.read, &scripted.read, read(1)}, {&plain.reads, &scripted.reads, read(16)}, {&plain.step, &scripted.step, climb},
	} {
		windows := map[*Server][]requested{}
		for i := range pick(b, 8, 4) {
			for _, s := range []*Server{gos, ours} {
				got, err := m.do(s, pick(b, time.Second, 500*time.Millisecond))
				if err != nil {
					return err
				}
				if i > 0 { // the first warms up
					windows[s] = append(windows[s], got)
				}
			}
		}
		*m.plain, *m.scripted = middle(windows[gos]), middle(windows[ours])
	}
	return nil
}

// middle is the window in which each cost neither the most nor the least.
func middle(windows []requested) requested {
	slices.SortFunc(windows, func(a, b requested) int { return cmp.Compare(a.cpu(), b.cpu()) })
	return windows[len(windows)/2]
}

// measureMemory looks at what readers hold, and what requests leave behind.
func (b *Bench) measureMemory(ctx context.Context, s *Server, scripted bool, got *appFigures) error {
	if err := b.measureReaders(ctx, s, scripted, got); err != nil {
		return err
	}
	if err := b.measureGrowth(ctx, s, got); err != nil {
		return err
	}
	if scripted {
		return s.control(ctx, "/engines", &got.engine)
	}
	return nil
}

// measureReaders opens readers of a run that sleeps.
func (b *Bench) measureReaders(ctx context.Context, s *Server, scripted bool, got *appFigures) error {
	id, err := door{Address: s.Served, Base: "/api"}.invoke("sleeping", "")
	if err != nil {
		return err
	}
	var before, after int
	if scripted {
		if err := s.control(ctx, "/turns", &before); err != nil {
			return err
		}
	}
	n := pick(b, 400, 100)
	each, err := b.idle(ctx, s, "/api"+liveRun(id), []int{n})
	if err != nil {
		return err
	}
	got.reader = each[0]
	if scripted {
		err = s.control(ctx, "/turns", &after)
		got.turns = (after - before) / (n + 1)
	}
	return err
}

// measureGrowth looks at the memory before many requests, and after them.
func (b *Bench) measureGrowth(ctx context.Context, s *Server, got *appFigures) error {
	var before, after Usage
	if err := s.settled(ctx, &before); err != nil {
		return err
	}
	wires, closeAll, err := dialAll(s.Door, atOnce/8)
	if err != nil {
		return err
	}
	defer closeAll()
	got.requests = pick(b, scriptRequests, scriptRequests/20)
	free := make(chan *wire, len(wires))
	for _, w := range wires {
		free <- w
	}
	err = inParallel(got.requests, func(int) error {
		w := <-free
		defer func() { free <- w }()
		_, _, err := w.ask(http.MethodGet, "/json", "")
		return err
	})
	if err != nil {
		return err
	}
	err = s.settled(ctx, &after)
	got.grown = after.RSS - before.RSS
	return err
}

// settled is what a server uses that has nothing to do: engines collect what scripts left behind when they have rested for a second.
func (s *Server) settled(ctx context.Context, to *Usage) error {
	time.Sleep(2 * time.Second)
	return s.control(ctx, "/settle", to)
}

// getFor asks for a path for a while, after a fifth of it that is not counted.
func getFor(ctx context.Context, s *Server, path string, n int, d time.Duration) (got requested, err error) {
	wires, closeAll, err := dialAll(s.Door, n)
	if err != nil {
		return got, err
	}
	defer closeAll()
	one := func(i int) error {
		_, _, err := wires[i].ask(http.MethodGet, path, "")
		return err
	}
	if _, err := drive(ctx, n, d/5, one); err != nil {
		return got, err
	}
	got.Spent, err = s.spend(ctx, func() (int, error) {
		got.took, err = drive(ctx, n, d, one)
		return len(got.took), err
	})
	return got, err
}

func (b *Bench) reportApp(plain, scripted appFigures) {
	beside := func(what string, ours, gos requested, target string, ok bool) {
		b.Report.add(Row{
			Measurement: what,
			Figure:      fmt.Sprintf("%s/s, %s server CPU each, %s", count(ours.perSecond()), ms(ours.cpu()), ours.took),
			Beside:      fmt.Sprintf("in Go: %s/s, %s, %s; ratio %.1f", count(gos.perSecond()), ms(gos.cpu()), gos.took, ratio(ours, gos)),
			Target:      target, Met: met(ok),
		})
	}
	beside("GET of JSON in TypeScript, 1 at a time", scripted.get, plain.get, fmt.Sprintf("≤ %.0f × Go's CPU, p50 ≤ %s", scriptGet, ms(scriptGetP50)),
		ratio(scripted.get, plain.get) <= scriptGet && scripted.get.took.p50() <= scriptGetP50)
	beside("GET of JSON in TypeScript, 16 at a time", scripted.gets, plain.gets, fmt.Sprintf("≥ %s/s", count(scriptGetMany)), scripted.gets.perSecond() >= scriptGetMany)
	for _, m := range []struct {
		n         int
		ours, gos requested
	}{{1, scripted.read, plain.read}, {16, scripted.reads, plain.reads}} {
		beside(fmt.Sprintf("a run's record through an application, a middleware and a guard in TypeScript, %d at a time", m.n), m.ours, m.gos,
			fmt.Sprintf("≤ %.0f × Go's CPU", scriptGuarded), ratio(m.ours, m.gos) <= scriptGuarded)
	}
	b.Report.add(Row{
		Measurement: "a step in TypeScript, of runs of 100, 8 at a time", Figure: ms(scripted.step.cpu()) + " server CPU each",
		Beside: fmt.Sprintf("in Go: %s; ratio %.2f", ms(plain.step.cpu()), ratio(scripted.step, plain.step)),
		Target: fmt.Sprintf("≤ %.1f × Go's CPU", scriptStep), Met: met(ratio(scripted.step, plain.step) <= scriptStep),
	})
	b.Report.add(Row{
		Measurement: "an SSE reader through an application in TypeScript", Figure: fmt.Sprintf("%s of server RSS, %d turns each", kb(scripted.reader), scripted.turns),
		Beside: "in Go: " + kb(plain.reader), Target: "≤ " + kb(scriptReader), Met: met(scripted.reader <= scriptReader),
	})
	b.Report.add(Row{
		Measurement: "start of an engine", Figure: fmt.Sprintf("%s CPU, %s", ms(scripted.engine.CPU), mib(scripted.engine.RSS)),
		Target: fmt.Sprintf("≤ %s, ≤ %s", ms(scriptStart), mib(scriptMemory)), Met: met(scripted.engine.CPU <= scriptStart && scripted.engine.RSS <= scriptMemory),
	})
	b.Report.add(Row{
		Measurement: fmt.Sprintf("memory after %s more requests in TypeScript", count(scripted.requests)), Figure: mib(scripted.grown) + " more",
		Beside: "in Go: " + mib(plain.grown), Target: "≤ " + mib(scriptGrowth), Met: met(scripted.grown <= scriptGrowth),
	})
}

// ratio is what one of ours costs of one of Go's.
func ratio(ours, gos requested) float64 { return float64(ours.cpu()) / float64(max(1, gos.cpu())) }
