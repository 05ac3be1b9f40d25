package ts_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/ts"
)

// hostiles is a project whose modules do what no module should, beside some that do nothing wrong.
const hostiles = careless + `
-- src/app.ts --
import { svc } from "@svc/runtime/routing";
import { Hono } from "hono";
const app = new Hono();
app.get("/ok", (c) => c.text("ok"));
app.get("/handler", () => { for (;;) ; });
app.get("/timer", () => new Promise(() => setTimeout(() => { for (;;) ; }, 1)));
app.get("/late", (c) => { c.executionCtx.waitUntil(new Promise(() => setTimeout(() => { for (;;) ; }, 20))); return c.text("answered"); });
app.get("/stream", () => new Response(new ReadableStream({ pull(c) { c.enqueue(new Uint8Array(1)); for (;;) ; } }, { highWaterMark: 0 })));
app.get("/bomb", () => { const a = []; for (;;) a.push(new Array(1000).fill(a.length)); });
app.get("/builtin", () => new Response(String(new Array(2e8).indexOf(1))));
app.get("/rejection", (c) => { Promise.reject(new RangeError("nobody hears this")); return c.text("answered"); });
app.route("/api", svc());
export default app;
-- src/agents/kind.ts --
import { defineAgent, defineTool } from "@svc/runtime";
const add = defineTool({ name: "add", description: "Adds.", run: () => 1 + 1 });
export const route = (c, next) => next();
export default defineAgent(() => ({ model: "scripted/x", instructions: "Kind", tools: [add] }));
-- src/agents/guarded.ts --
import { defineAgent } from "@svc/runtime";
export const route = async (c, next) => { await next(); for (;;) ; };
export default defineAgent(() => ({ model: "scripted/x" }));
-- src/agents/initializer.ts --
import { defineAgent } from "@svc/runtime";
export default defineAgent(() => { for (;;) ; });
-- src/agents/getter.ts --
import { defineAgent } from "@svc/runtime";
export default defineAgent(() => ({ get model() { for (;;) ; } }));
-- src/agents/tool.ts --
import { defineAgent, defineTool } from "@svc/runtime";
const loop = defineTool({ name: "loop", description: "Loops.", run() { for (;;) ; } });
export default defineAgent(() => ({ model: "scripted/x", tools: [loop] }));
-- src/channels/hook.ts --
export const channel = { routes: [{ method: "POST", path: "/in", handler: async (c) => { await c.req.text(); for (;;) ; } }] };
-- src/workflows/timer.ts --
import { defineWorkflow } from "@svc/runtime";
export default defineWorkflow({ run: () => new Promise(() => setTimeout(() => { for (;;) ; }, 1)) });
-- src/workflows/thrown.ts --
import { defineWorkflow } from "@svc/runtime";
export default defineWorkflow({ run: async () => { throw { get message() { for (;;) ; } }; } });
-- src/workflows/json.ts --
import { defineWorkflow } from "@svc/runtime";
export default defineWorkflow({ run: async () => ({ toJSON() { for (;;) ; } }) });
-- src/workflows/schema.ts --
import { defineWorkflow } from "@svc/runtime";
const input = { "~standard": { version: 1, vendor: "x", validate: () => { for (;;) ; } } };
export default defineWorkflow({ input, run: async () => 1 });
-- src/workflows/timers.ts --
import { defineWorkflow } from "@svc/runtime";
export default defineWorkflow({ async run({ sleep }) {
  let n = 0;
  try { for (; n < 1e6; n++) setTimeout(() => {}, 1e6); } catch (e) { await sleep(300); return e.name; }
} });
-- src/workflows/promises.ts --
import { defineWorkflow } from "@svc/runtime";
export default defineWorkflow({ run: () => Promise.all(Array.from({ length: 1e6 }, async (_, i) => i)) });
-- src/workflows/builtin.ts --
import { defineWorkflow } from "@svc/runtime";
export default defineWorkflow({ run: async () => new Array(2e8).indexOf(1) });
-- src/workflows/rejection.ts --
import { defineWorkflow } from "@svc/runtime";
export default defineWorkflow({ run: async ({ step }) => step("rejects", () => { Promise.reject(new RangeError("nobody hears this")); return "went on"; }) });
-- src/workflows/waits.ts --
import { defineWorkflow } from "@svc/runtime";
export default defineWorkflow({ run: async ({ step }) => step("waits", ({ attempt }) => new Promise(() => {})) });
-- src/workflows/ends.ts --
import { defineWorkflow } from "@svc/runtime";
export default defineWorkflow({ run: async ({ step }) => step("ends", async () => { try { return await fetch("http://goexit/"); } catch (e) { return e.message; } }) });
`

const restless = "The script did not come to a rest in time."

// hostility is what a module does that it should not: what comes of it, and how the log names the culprit.
type hostility struct {
	name  string
	does  func(s *stage) string
	gets  []string // one of them is in what does gives
	log   []string
	slow  bool // only in the soak
	burns bool // a processor, long after it was answered: there are few neighbours
}

func runs(workflow string) func(*stage) string {
	return func(s *stage) string { return s.ends(workflow, "") }
}

func gets(path string) func(*stage) string {
	return func(s *stage) string { return s.get(path) }
}

var hostilities = []hostility{
	{name: "a loop in a run", does: runs("loop"), gets: []string{"script_timeout ScriptTimeout: " + restless}, log: []string{"run failed", "workflow=loop", "src/workflows/loop.ts:2:"}},
	{name: "a loop in a step", does: runs("steploop"), gets: []string{"script_timeout " + restless}, log: []string{"step failed", "workflow=steploop", "step=loops", "src/workflows/steploop.ts:2:"}, slow: true},
	{name: "a loop in a timer of a run", does: runs("timer"), gets: []string{"script_timeout"}, log: []string{"workflow=timer", "src/workflows/timer.ts:2:"}, slow: true},
	{name: "a loop in a getter of an error", does: runs("thrown"), gets: []string{"script_timeout"}, log: []string{"workflow=thrown"}, slow: true},
	{name: "a loop in what a result is written by", does: runs("json"), gets: []string{"script_timeout"}, log: []string{"workflow=json"}, slow: true},
	{name: "a loop in a schema", does: runs("schema"), gets: []string{"script_timeout"}, log: []string{"workflow=schema"}, slow: true},
	{name: "a loop in a tool", does: func(s *stage) string { return s.says("tool", "x", "use loop {}") }, gets: []string{"The tool fails: "}, log: []string{"tool failed", "agent=tool", "tool=loop", "src/agents/tool.ts:2:"}, slow: true},
	{name: "a loop in an initializer", does: func(s *stage) string { return s.says("initializer", "x", "hello") }, gets: []string{"script_timeout: " + restless}, log: []string{"initializer failed", "agent=initializer", "src/agents/initializer.ts:2:"}, slow: true},
	{name: "a loop in a getter of a configuration", does: func(s *stage) string { return s.says("getter", "x", "hello") }, gets: []string{"script_timeout: " + restless}, log: []string{"agent=getter"}, slow: true},
	{name: "a loop in a handler", does: gets("/handler"), gets: []string{`504 {"error":{"type":"script_timeout"`}, log: []string{"request failed", "path=/handler", "src/app.ts:5:"}},
	{name: "a loop in a guard", does: gets("/api/agents/guarded/x"), gets: []string{`504 {"error":{"type":"script_timeout"`}, log: []string{"path=/api/agents/guarded/x", "src/agents/guarded.ts:2:"}, slow: true},
	{name: "a loop in a channel", does: func(s *stage) string { return s.do(http.MethodPost, "/api/channels/hook/in", "x") }, gets: []string{`504 {"error":{"type":"script_timeout"`}, log: []string{"path=/api/channels/hook/in"}, slow: true},
	{name: "a loop in a timer of a request", does: gets("/timer"), gets: []string{`504 {"error":{"type":"script_timeout"`}, log: []string{"path=/timer", "src/app.ts:6:"}, slow: true},
	{name: "a loop behind an answer", does: gets("/late"), gets: []string{"200 answered"}, log: []string{"work behind an answer failed", "path=/late", "src/app.ts:7:"}, slow: true},
	{name: "a loop in a stream", does: breaksOff("/stream"), gets: []string{"broke off"}, log: []string{"answer broke off", "path=/stream"}, slow: true},
	{name: "a bomb in a run", does: runs("bomb"), gets: []string{"script_memory", "script_timeout"}, log: []string{"run failed", "workflow=bomb"}},
	{name: "a bomb in a handler", does: gets("/bomb"), gets: []string{"500 ", "504 "}, log: []string{"path=/bomb|src/app.ts:9:"}, slow: true}, // the framework may catch it
	{name: "a million timers", does: runs("timers"), gets: []string{`"RangeError"`, "script_timeout"}},
	{name: "a million promises", does: runs("promises"), gets: []string{"script_memory", "script_timeout", "record_too_large"}, log: []string{"workflow=promises"}, slow: true},
	{name: "a rejection that nobody handles", does: runs("rejection"), gets: []string{`"went on"`}, log: []string{"Unhandled rejection: RangeError: nobody hears this", "src/workflows/rejection.ts:2:"}},
	{name: "a rejection in a handler", does: gets("/rejection"), gets: []string{"200 answered"}, log: []string{"Unhandled rejection: RangeError: nobody hears this", "src/app.ts:11:"}},
	{name: "a goroutine that ends in a step", does: runs("ends"), gets: []string{"the goroutine that was asked has ended"}},
	{name: "a run that is ended in a step", does: cancelled("waits"), gets: []string{"run_cancelled"}},
	{name: "a built-in that does not listen, in a run", does: runs("builtin"), gets: []string{"script_timeout"}, log: []string{"workflow=builtin"}, slow: true, burns: true},
	{name: "a built-in that does not listen, in a handler", does: gets("/builtin"), gets: []string{"504 "}, log: []string{"path=/builtin"}, slow: true, burns: true},
}

// breaksOff reads an answer that must not look whole.
func breaksOff(path string) func(*stage) string {
	return func(s *stage) string {
		res, err := http.Get(s.server.URL + path)
		if err != nil {
			return err.Error()
		}
		defer res.Body.Close()
		if _, err := io.ReadAll(res.Body); err != nil {
			return "broke off"
		}
		return "read to its end"
	}
}

// cancelled ends a run while a step of it waits: the Runtime ends the goroutine that asked.
func cancelled(workflow string) func(*stage) string {
	return func(s *stage) string {
		id := s.invoke(workflow, "")
		eventually(s.t, "the step has begun", func() bool { return strings.Contains(s.told(workflow, id), "waits") })
		if _, err := s.rt.CancelRun(s.t.Context(), id); err != nil {
			return err.Error()
		}
		return ending(s.await(workflow, id))
	}
}

// goexit is a transport in which the goroutine of a fetch ends.
type goexit struct{}

func (goexit) RoundTrip(*http.Request) (*http.Response, error) {
	runtime.Goexit()
	return nil, nil
}

// beside runs what does nothing wrong while does goes on: every run ends as it would have, and every request is answered, if after it
// was told to try again.
func (s *stage) beside(n int, does func()) {
	s.t.Helper()
	var group sync.WaitGroup
	for range n {
		group.Go(func() { expect(s.t, "a neighbouring run", s.ends("careful", ""), `"0,1,2,0,1,true"`) })
		group.Go(func() { s.answersInTheEnd("/ok", "200 ok") })
	}
	does()
	group.Wait()
}

// answersInTheEnd asks until it is answered. Until then it may be told to try again, and nothing else.
func (s *stage) answersInTheEnd(path, want string) {
	s.t.Helper()
	eventually(s.t, path+" is answered", func() bool {
		status, header, body := s.exchange(http.MethodGet, path, "")
		if status == http.StatusServiceUnavailable && header.Get("Retry-After") == "1" {
			return false
		}
		expect(s.t, path, fmt.Sprint(status, " ", body), want)
		return true
	})
}

// TestHostileModulesHurtNobodyElse has modules loop, fill the memory and worse, in each place where code of a project runs.
func TestHostileModulesHurtNobodyElse(t *testing.T) {
	s := playWith(t, hostiles, func(s *stage) {
		s.config.Working, s.config.Serving = 2, 2
		s.config.Client = &http.Client{Transport: goexit{}}
		s.config.Limits.Turn = time.Second
		if !soak {
			s.config.Limits.Memory = 24 << 20
		}
	})
	before := resident(t)
	for _, h := range hostilities {
		if h.slow && !soak {
			continue
		}
		t.Run(h.name, func(t *testing.T) {
			outer := s.t
			s.t = t
			defer func() { s.t = outer }()
			from := len(s.log.String())
			s.beside(h.neighbours(), func() { h.check(s) })
			for _, word := range h.log {
				eventually(t, "the log has "+word, func() bool {
					said := s.log.String()[from:]
					return slices.ContainsFunc(strings.Split(word, "|"), func(one string) bool { return strings.Contains(said, one) })
				})
			}
			expect(t, "a run afterwards", s.ends("careful", ""), `"0,1,2,0,1,true"`)
			s.answersInTheEnd("/ok", "200 ok")
			eventually(t, "no act is left", func() bool { serving, working := s.project.Stats(); return serving.Acts+working.Acts == 0 })
		})
	}
	expect(t, "a tool in the end", s.says("kind", "x", "use add {}"), "The tool says 2")
	eventually(t, "no engine is stuck", func() bool { return s.project.Ready() == nil })
	serving, working := s.project.Stats()
	grown := resident(t) - before
	t.Attr("hostile-engines-lost", fmt.Sprint(serving.Lost+working.Lost))
	t.Attr("hostile-grow-mib", fmt.Sprint(grown>>20))
	// Four engines at their limit, and as much again as one of them for what Go holds.
	if budget := 5 * (64 << 20); grown > budget {
		t.Errorf("the process has grown by %d MiB, and %d are its budget", grown>>20, budget>>20)
	}
}

// neighbours is how many runs, and how many requests, there are beside it.
func (h hostility) neighbours() int {
	switch {
	case !soak:
		return 2
	case h.burns:
		return 10
	}
	return 100
}

func (h hostility) check(s *stage) {
	got := h.does(s)
	for _, want := range h.gets {
		if strings.Contains(got, want) {
			return
		}
	}
	s.t.Errorf("it gets\n%s\nand none of\n%s", got, strings.Join(h.gets, "\n"))
}

// resident is the memory of this process, in bytes; 0 where the system does not tell.
func resident(t *testing.T) (bytes int) {
	t.Helper()
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var size, pages int
	if _, err := fmt.Sscan(string(data), &size, &pages); err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}

// TestModulesThatHangOrFillTheMemoryAreNotLoaded says of each where it hangs.
func TestModulesThatHangOrFillTheMemoryAreNotLoaded(t *testing.T) {
	for _, c := range []struct{ name, archive, says string }{
		{"a loop", "-- app.ts --\nexport default { fetch() {} };\nfor (;;) ;", "app.ts:1:"},
		{"a loop behind an await", "-- app.ts --\nawait null;\nfor (;;) ;\nexport default { fetch() {} };", "script: the turn took too long"},
		{"a bomb", "-- app.ts --\nconst a = [];\nfor (;;) a.push({ a });\nexport default { fetch() {} };", "script: "},
		{"a getter", "-- app.ts --\nexport default { get fetch() { for (;;) ; } };", "script: the turn took too long"},
		{"routes", "-- channels/x.ts --\nexport const channel = { get routes() { for (;;) ; } };", "script: the turn took too long"},
	} {
		if !soak && c.name != "a loop" {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			err := tryLoad(t, c.archive, ts.Config{Limits: ts.Limits{Start: 300 * time.Millisecond, Turn: 300 * time.Millisecond, Memory: 16 << 20}})
			f := fault.From(err)
			if err == nil || f.Type != "project_failed" {
				t.Fatalf("it is loaded with %v", err)
			}
			contains(t, "details", f.Details, c.says)
		})
	}
}

// TestTheLogLeadsToALoopOfNobodys has a module set a timer while it is loaded: it belongs to no act, and ends engine after engine.
func TestTheLogLeadsToALoopOfNobodys(t *testing.T) {
	s := play(t, "-- src/app.ts --\nsetTimeout(() => {\n  for (;;) ;\n}, 50);\nexport default { fetch: () => new Response(\"x\") };\n", func(s *stage) {
		s.config.Serving, s.config.Limits.Turn = 1, 300*time.Millisecond
	})
	eventually(t, "the log says where", func() bool {
		s.get("/") // needs an engine, whatever becomes of it
		return strings.Contains(s.log.String(), "engine replaced") && strings.Contains(s.log.String(), "src/app.ts:1:")
	})
}

// TestTooManyStuckEnginesAreNotReady: each burns a processor until its built-in function returns, and then the project is ready again.
func TestTooManyStuckEnginesAreNotReady(t *testing.T) {
	if !soak {
		t.Skip("only in the soak: it burns processors")
	}
	s := play(t, "-- app.ts --\nexport default { fetch: () => new Response(String(new Array(8e7).indexOf(1))) };\n", func(s *stage) {
		s.config.Serving, s.config.Limits.Turn = 4, 100*time.Millisecond
	})
	if err := s.project.Ready(); err != nil {
		t.Fatalf("at first: %v", err)
	}
	for range 3 {
		contains(t, "an answer", s.get("/"), "504 ", "script_timeout")
	}
	if err := s.project.Ready(); err == nil || err.Error() != "3 engines are stuck" {
		t.Errorf("with three that are stuck: %v", err)
	}
	contains(t, "one more", s.get("/"), "503 ", "runtime_unavailable")
	eventually(t, "ready again", func() bool { return s.project.Ready() == nil })
}
