package dev_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc.dev/svc/internal/bundle/bundletest"
	"svc.dev/svc/internal/sqldb/sqldbtest"
)

// patient has runs that go on until they are let go, and an application whose answer says which build gives it.
const patient = `
-- src/app.ts --
import { version } from "./version.ts";
import { getRun, invoke } from "@svc/runtime";
export default {
  async fetch(request) {
    const { pathname } = new URL(request.url);
    if (pathname === "/start") return Response.json(await invoke("wait", { input: { n: Number(await request.text()) } }));
    if (pathname.startsWith("/ended/")) { const run = await getRun(pathname.slice(7)); return Response.json(run.status === "active" ? null : run); }
    return new Response("version " + version);
  },
};
-- src/version.ts --
export const version = 0;
-- src/workflows/wait.ts --
import { defineWorkflow } from "@svc/runtime";
export const input = { "~standard": { version: 1, vendor: "here", validate: (value) => ({ value }), jsonSchema: { input: () => ({ type: "object", properties: { n: { type: "number" } } }) } } };
export default defineWorkflow({
  input,
  async run({ input, step, sleep }) {
    const receipt = crypto.randomUUID();
    const first = await step("receipt", () => receipt);
    for (let i = 0; !(await step("let go?", async () => (await (await fetch(process.env.GATE)).text()) === "yes")); i++) await sleep(Number(process.env.PAUSE));
    const all = await Promise.all([1, 2, 3].map((k) => step("part", { key: String(k) }, () => k * input.n)));
    return { sum: all.reduce((a, b) => a + b), same: first === receipt };
  },
});
`

// TestReloadIsAResume changes the project again and again while runs are in flight and requests come: no run is lost or goes wrong, and no
// request fails.
func TestReloadIsAResume(t *testing.T) {
	reloads, runs, pause := 3, 6, "100"
	if soak {
		reloads, runs, pause = 50, 200, "2000"
	}
	sqldbtest.Each(t, func(t *testing.T, address string) {
		var open atomic.Bool
		gate := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, map[bool]string{true: "yes", false: "no"}[open.Load()])
		}))
		defer gate.Close()
		w := workOn(t, address, patient, map[string]string{"GATE": gate.URL, "PAUSE": pause})
		ids := make([]string, runs)
		for i := range ids {
			ids[i] = strings.TrimSuffix(strings.TrimPrefix(w.ask("POST", "/start", fmt.Sprint(i)), `200 {"runId":"`), `"}`)
		}
		visits := visit(t, w)
		for i := range reloads {
			b := w.saves("src/version.ts", fmt.Sprintf("export const version = %d;\n", i+1))
			if b.Err != nil {
				t.Fatal(b.Err)
			}
			expect(t, "the answer after a reload", w.ask("GET", "/", ""), fmt.Sprintf("200 version %d", i+1))
		}
		t.Attr("requests-while-reloading", fmt.Sprint(visits()))
		open.Store(true)
		for i, id := range ids {
			contains(t, "run "+id, w.awaits(id), `"status":"completed"`, fmt.Sprintf(`"result":{"sum":%d,"same":true}`, 6*i))
		}
	})
}

// awaits asks for a run until it has ended.
func (w *workshop) awaits(id string) (got string) {
	w.t.Helper()
	eventually(w.t, "run "+id+" ends", func() bool {
		got = w.ask("GET", "/ended/"+id, "")
		return got != "200 null"
	})
	return got
}

// visit lets requests come until it is told to stop, each of which must be answered well, and then says how many came.
func visit(t *testing.T, w *workshop) (stop func() int64) {
	t.Helper()
	var count atomic.Int64
	var group sync.WaitGroup
	done := make(chan struct{})
	for range 4 {
		group.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if got, err := w.tries("GET", "/", ""); err != nil || !strings.HasPrefix(got, "200 version ") {
					t.Errorf("a request is answered %s, %v", got, err)
					return
				}
				count.Add(1)
				takes(visitPause)
			}
		})
	}
	ended := sync.OnceFunc(func() {
		close(done)
		group.Wait()
	})
	t.Cleanup(ended)
	return func() int64 {
		ended()
		return count.Load()
	}
}

// TestOneWhoWaitsForAResultOutlivesAReload answers with the result, though the build that took the request is gone.
func TestOneWhoWaitsForAResultOutlivesAReload(t *testing.T) {
	asked := make(chan struct{}, 1)
	var open atomic.Bool
	gate := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		select {
		case asked <- struct{}{}:
		default: // one is enough
		}
		fmt.Fprint(w, map[bool]string{true: "yes", false: "no"}[open.Load()])
	}))
	defer gate.Close()
	w := workOn(t, sqldbtest.SQLite(t), `
-- src/workflows/wait.ts --
import { defineWorkflow } from "@svc/runtime";
export const route = (c, next) => next();
export default defineWorkflow({
  async run({ step, sleep }) {
    while (!(await step("let go?", async () => (await (await fetch(process.env.GATE)).text()) === "yes"))) await sleep(50);
    return "let go";
  },
});
`, map[string]string{"GATE": gate.URL})
	answer := make(chan string, 1)
	go func() {
		got, err := w.tries("POST", "/workflows/wait?wait=result", "")
		answer <- fmt.Sprint(got, err)
	}()
	<-asked
	for i := range 2 {
		if b := w.saves("src/workflows/more.ts", fmt.Sprintf("import { defineWorkflow } from \"@svc/runtime\";\nexport default defineWorkflow({ run: () => %d });\n", i)); b.Err != nil {
			t.Fatal(b.Err)
		}
	}
	open.Store(true)
	contains(t, "the answer", <-answer, `200 {"result":"let go","runId":"run_`)
}

// talkative has an agent whose tool waits until it is let go.
const talkative = `
-- src/agents/talker.ts --
import { defineAgent, defineTool } from "@svc/runtime";
import { version } from "../version.ts";
const wait = defineTool({ name: "wait", description: "Waits.", run: async ({ signal }) => {
  while ((await (await fetch(process.env.GATE, { signal })).text()) !== "yes") await new Promise((go) => { setTimeout(go, 20); });
  return "let go";
} });
export default defineAgent(() => ({ model: process.env.MODEL, instructions: "Talk, in version " + version, tools: [wait] }));
-- src/version.ts --
export const version = 0;
`

// TestAReplyOutlivesReloads changes the project while an agent speaks, and while its tool works: the reply comes to its end, once.
func TestAReplyOutlivesReloads(t *testing.T) {
	const talk = "/_svc/api/agents/talker/me"
	for name, c := range map[string]struct {
		model, prompt, middle, end string
		reloads                    int
	}{
		"while it speaks": {"words/words", "n=1000 delay=12", "word5 ", "word999", 3},
		// A call that was begun is not made again: it may have done something, and the model is told that.
		"while its tool works": {"scripted/any", "wait {}", `"toolName":"wait"`, `The tool says {\"type\":\"interrupted\"`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var open atomic.Bool
			gate := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprint(w, map[bool]string{true: "yes", false: "no"}[open.Load()])
			}))
			defer gate.Close()
			w := workOn(t, sqldbtest.SQLite(t), talkative, map[string]string{"GATE": gate.URL, "MODEL": c.model})
			history := func() string { return w.ask("GET", talk, "") }
			contains(t, "the prompt", w.ask("POST", talk, fmt.Sprintf(`{"kind":"user","body":%q}`, c.prompt)), "202 ")
			eventually(t, "it is in the middle", func() bool { return strings.Contains(history(), c.middle) })
			for i := range c.reloads {
				if got := history(); strings.Contains(got, "outcome") {
					t.Errorf("the reply had ended before reload %d: %s", i, got)
				}
				if b := w.saves("src/version.ts", fmt.Sprintf("export const version = %d;\n", i+1)); b.Err != nil {
					t.Fatal(b.Err)
				}
			}
			open.Store(true)
			eventually(t, "the reply ends", func() bool { return strings.Contains(history(), "outcome") })
			got := history()
			contains(t, "the conversation", got, c.end)
			for _, once := range []string{`"outcome":"completed"`, c.middle, c.end} {
				if n := strings.Count(got, once); n != 1 {
					t.Errorf("%s stands there %d times: %s", once, n, got)
				}
			}
		})
	}
}

// TestABrokenFileTakesNothingDown shows what is wrong, and the last good build answers.
func TestABrokenFileTakesNothingDown(t *testing.T) {
	w := workOn(t, sqldbtest.SQLite(t), patient, nil)
	for name, test := range map[string]struct{ file, text, says string }{
		"syntax":   {"src/version.ts", "export const version = ;\n", "src/version.ts:1:23:"},
		"module":   {"src/workflows/odd.ts", "export default 1;\n", "workflows/odd: the default export must come from defineWorkflow()."},
		"throwing": {"src/version.ts", "throw new Error(\"not today\");\nexport const version = 1;\n", "not today"},
		"node":     {"src/version.ts", "import { readFile } from \"node:fs\";\nexport const version = readFile;\n", "node:fs is a module of Node"},
	} {
		b := w.saves(test.file, test.text)
		for b.Err == nil { // that of the last mending
			b = w.built()
		}
		if !b.Serving {
			t.Errorf("%s: the build is %+v", name, b)
		}
		expect(t, name+": a program's answer", w.ask("GET", "/", ""), "200 version 0")
		page := w.ask("GET", "/", "", "Accept", "text/html,*/*")
		contains(t, name+": a browser's page", unescaped(page), "500 <!doctype html>", test.says, "The project cannot be built")
		contains(t, name+": the author's page", unescaped(w.ask("GET", "/_svc", "")), "200 ", test.says, "The last good build goes on serving.")
		remove(t, w, "src/workflows/odd.ts")
		w.mends(t)
	}
}

// mends makes the project what it was, and waits until that is served.
func (w *workshop) mends(t *testing.T) {
	t.Helper()
	write(t, w, "src/version.ts", "export const version = 0;\n")
	eventually(t, "the project is mended", func() bool { return w.Last().Err == nil })
	for len(w.builds) > 0 {
		<-w.builds
	}
	contains(t, "a browser's page", w.ask("GET", "/", "", "Accept", "text/html"), "200 version 0")
}

// TestAProjectThatWasNeverGoodIsWaitedFor serves what is wrong, and then what was mended.
func TestAProjectThatWasNeverGoodIsWaitedFor(t *testing.T) {
	w := workOn(t, sqldbtest.SQLite(t), "-- src/app.ts --\nexport default {", nil)
	if b := w.Last(); b.Err == nil || b.Serving {
		t.Errorf("the build is %+v", b)
	}
	contains(t, "a program's answer", w.ask("GET", "/", ""), `500 {"error":{"type":"bundle_failed"`, "src/app.ts:2:")
	contains(t, "a browser's page", unescaped(w.ask("GET", "/", "", "Sec-Fetch-Dest", "document")), "500 ", "src/app.ts:2:")
	if b := w.saves("src/app.ts", "export default { fetch: () => new Response(\"mended\") };\n"); b.Err != nil {
		t.Error(b.Err)
	}
	expect(t, "the answer", w.ask("GET", "/", ""), "200 mended")
}

// TestAFileThatChangesNothingReloadsNothing keeps the build where another file has changed.
func TestAFileThatChangesNothingReloadsNothing(t *testing.T) {
	w := workOn(t, sqldbtest.SQLite(t), patient, nil)
	write(t, w, "notes.txt", "hello")
	if b := w.saves("src/version.ts", "export const version = 1;\n"); b.Number != 2 {
		t.Errorf("build %d serves, and not the second", b.Number)
	}
}

// TestLinesAreThoseOfTheFileAsItIs moves what throws, and changes nothing else.
func TestLinesAreThoseOfTheFileAsItIs(t *testing.T) {
	const app = "export default { fetch() { throw new Error(\"here\"); } };\n"
	w := workOn(t, sqldbtest.SQLite(t), "-- src/app.ts --\n"+app, nil)
	contains(t, "the stack", w.ask("GET", "/", ""), "500 ", "src/app.ts:1:")
	if b := w.saves("src/app.ts", "// A comment.\n\ninterface Nothing {}\n"+app); b.Err != nil {
		t.Fatal(b.Err)
	}
	contains(t, "the stack", w.ask("GET", "/", ""), "500 ", "src/app.ts:4:")
}

// TestAFolderThatIsALinkIsWatched saves a file that no module imports.
func TestAFolderThatIsALinkIsWatched(t *testing.T) {
	link := filepath.Join(t.TempDir(), "shop")
	if err := os.Symlink(bundletest.Project(t, patient+"-- package.json --\n{}\n"), link); err != nil {
		t.Fatal(err)
	}
	w := workIn(t, sqldbtest.SQLite(t), link, nil)
	if b := w.saves("package.json", `{"svc": {"odd": 1}}`); b.Err == nil {
		t.Error("a project is built whose settings are wrong")
	}
}

// TestSourcesOutsideOfTheFolderAreWatched has one that is wrong from the first build on, and one that comes after it was imported.
func TestSourcesOutsideOfTheFolderAreWatched(t *testing.T) {
	root := bundletest.Project(t, "-- shop/src/app.ts --\nimport { version } from \"../../lib/version.ts\";\nexport default { fetch: () => new Response(\"version \" + version) };\n-- lib/version.ts --\nexport const version = ;\n")
	w := workIn(t, sqldbtest.SQLite(t), filepath.Join(root, "shop"), nil)
	takes(someLooks)
	if b := w.Last(); b.Number != 1 || b.Err == nil {
		t.Errorf("the first build is %+v", b)
	}
	if b := w.saves("../lib/version.ts", "export const version = 1;\n"); b.Err != nil {
		t.Error(b.Err)
	}
	expect(t, "the answer", w.ask("GET", "/", ""), "200 version 1")
	if b := w.saves("src/app.ts", "import { text } from \"../../lib/text.ts\";\nexport default { fetch: () => new Response(text) };\n"); b.Err == nil {
		t.Error("what is not there is built")
	}
	if b := w.saves("../lib/text.ts", "export const text = \"mended\";\n"); b.Err != nil || b.Number != 4 {
		t.Errorf("the build is %+v", b)
	}
	expect(t, "the answer", w.ask("GET", "/", ""), "200 mended")
}

// lasting leaves work behind its answer that goes on until it is let go, and a while longer.
const lasting = `
-- src/app.ts --
import { version } from "./version.ts";
const pause = (ms) => new Promise((go) => { setTimeout(go, ms); });
const work = async () => {
  while ((await (await fetch(process.env.GATE)).text()) !== "yes") await pause(20);
  await pause(200);
  await fetch(process.env.GATE + "/done");
};
export default {
  fetch(request, env, ctx) {
    if (new URL(request.url).pathname === "/leave") ctx.waitUntil(work());
    return new Response("version " + version);
  },
};
-- src/version.ts --
export const version = 0;
`

// TestWorkBehindAnAnswerOutlivesAReloadAndAStop has it go on while another build serves, and end while the last one stops.
func TestWorkBehindAnAnswerOutlivesAReloadAndAStop(t *testing.T) {
	asked, open, done := make(chan bool), make(chan bool), make(chan bool, 10)
	gate := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/done" {
			done <- true
			return
		}
		select {
		case asked <- true:
			fmt.Fprint(w, "no")
		case <-open:
			fmt.Fprint(w, "yes")
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(gate.Close)
	t.Cleanup(func() {
		if len(done) != 2 {
			t.Errorf("%d of 2 came to their end", len(done))
		}
	})
	w := workOn(t, sqldbtest.SQLite(t), lasting, map[string]string{"GATE": gate.URL})
	expect(t, "the answer", w.ask("GET", "/leave", ""), "200 version 0")
	if b := w.saves("src/version.ts", "export const version = 1;\n"); b.Err != nil {
		t.Fatal(b.Err)
	}
	for range 5 {
		select {
		case <-asked:
		case <-time.After(10 * time.Second):
			t.Fatal("the work was cut off")
		}
	}
	expect(t, "the answer", w.ask("GET", "/leave", ""), "200 version 1")
	close(open)
}

// TestALargeProjectIsReadySoon measures a reload of 200 KB of script.
func TestALargeProjectIsReadySoon(t *testing.T) {
	if !soak {
		t.Skip("it judges times: SVC_SOAK=1")
	}
	var large strings.Builder
	large.WriteString("export const all = {\n")
	for i := range 4000 {
		fmt.Fprintf(&large, "  f%d: (x: number) => { const y = x * %d; return y + 1; },\n", i, i)
	}
	large.WriteString("};\n")
	w := workOn(t, sqldbtest.SQLite(t), patient, nil)
	write(t, w, "src/large.ts", large.String())
	b := w.saves("src/app.ts", "import { all } from \"./large.ts\";\nexport default { fetch: () => new Response(\"version \" + Object.keys(all).length) };\n")
	expect(t, "the answer", w.ask("GET", "/", ""), "200 version 4000")
	t.Attr("reload", fmt.Sprintf("%v for %d bytes", b.Took, b.Bytes))
	if b.Bytes < 200_000 || b.Took > readySoon {
		t.Errorf("%d bytes took %v", b.Bytes, b.Took)
	}
}
