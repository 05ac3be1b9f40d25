package dev_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"svc.dev/svc/internal/sqldb/sqldbtest"
)

// hiddenModules has one module of each kind, of which the API shows the channel alone.
const hiddenModules = `
-- src/agents/helper.ts --
import { defineAgent, defineTool } from "@svc/runtime";
export const description = "Looks <things> up.";
const input = { "~standard": { version: 1, vendor: "here", validate: (value) => ({ value }), jsonSchema: { input: () => ({ type: "object", properties: { order: { type: "string" } } }) } } };
const lookUp = defineTool({ name: "look_up", description: "Looks up.", input, run: ({ input }) => ({ found: input.order }) });
export default defineAgent(() => ({ model: "scripted/any", instructions: "Help.", tools: [lookUp] }));
-- src/workflows/add.ts --
import { defineWorkflow } from "@svc/runtime";
const input = { "~standard": { version: 1, vendor: "here", validate: (value) => ({ value }), jsonSchema: { input: () => ({ type: "object", properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a", "b"] }) } } };
export default defineWorkflow({ input, async run({ input, step, log }) { log.info("adding"); return await step("add", () => input.a + input.b); } });
-- src/channels/orders.ts --
import { dispatch } from "@svc/runtime";
import helper from "../agents/helper.ts";
export const channel = { routes: [{ method: "POST", path: "/in", handler: async (c) => c.json(await dispatch(helper, { id: "me", message: { kind: "signal", type: "order", body: await c.req.text() } }), 202) }] };
`

// TestThePageTriesEverythingOut uses what the page's forms use: modules that no route shows, too.
func TestThePageTriesEverythingOut(t *testing.T) {
	w := workOn(t, sqldbtest.SQLite(t), hiddenModules, nil)
	page := w.ask("GET", "/_svc", "")
	contains(t, "the page", page, "200 ", `id="agent-helper"`, "Looks &lt;things&gt; up.", `id="workflow-add"`, `id="channel-orders"`, "<option>POST /in</option>", "Its module exports no route")
	for _, forbidden := range []string{"<style", "style=", "onclick", "<script>"} {
		if strings.Contains(page, forbidden) {
			t.Errorf("the page has %s, which its policy forbids", forbidden)
		}
	}
	expect(t, "the API", w.ask("POST", "/workflows/add", `{"a":1,"b":2}`)[:4], "404 ")
	expect(t, "a run", w.ask("POST", "/_svc/api/workflows/add?wait=result", `{"a":1,"b":2}`)[:17], `200 {"result":3,"`)
	contains(t, "an input that does not fit", w.ask("POST", "/_svc/api/workflows/add", `{"a":1}`), "400 ", "action_input_validation")
	contains(t, "events", strings.Join(w.follows(t, w.ask("POST", "/_svc/api/workflows/add", `{"a":2,"b":2}`)), "\n"), "run_start", "adding", "run_end")

	contains(t, "a prompt", w.ask("POST", "/_svc/api/agents/helper/me", `{"kind":"user","body":"look_up {\"order\":\"7\"}"}`), "202 ")
	eventually(t, "the tool was called", func() bool {
		return strings.Contains(w.ask("GET", "/_svc/api/agents/helper/me", ""), `The tool says {\"found\":\"7\"}`)
	})
	contains(t, "a channel", w.ask("POST", "/_svc/api/channels/orders/in", `order 8`), "202 ", "dispatchId")
	eventually(t, "the channel dispatched", func() bool {
		return strings.Contains(w.ask("GET", "/_svc/api/agents/helper/me", ""), `order 8`)
	})
}

// follows is the events of a run that was started, until its stream closes.
func (w *workshop) follows(t *testing.T, started string) (events []string) {
	t.Helper()
	var run struct{ RunID string }
	if err := json.Unmarshal([]byte(strings.TrimPrefix(started, "202 ")), &run); err != nil {
		t.Fatalf("%v: %s", err, started)
	}
	res, err := http.Get(w.url + "/_svc/api/runs/" + run.RunID + "?offset=-1&live=sse")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		events = append(events, lines.Text())
	}
	return events
}

// TestThePageIsTheAuthorsAlone refuses pages of strangers, and names that lead here.
func TestThePageIsTheAuthorsAlone(t *testing.T) {
	w := workOn(t, sqldbtest.SQLite(t), hiddenModules, nil)
	for what, header := range map[string][]string{
		"another page":        {"Sec-Fetch-Site", "cross-site"},
		"another page's form": {"Origin", "http://evil.example"},
		"another name":        {"Host", "evil.example:8080"},
	} {
		expect(t, what, w.ask("POST", "/_svc/api/workflows/add", `{"a":1,"b":2}`, header...)[:4], "403 ")
	}
	expect(t, "another name's page", w.ask("GET", "/_svc", "", "Host", "evil.example")[:4], "403 ")
	expect(t, "localhost", w.ask("GET", "/_svc", "", "Host", "shop.localhost:8080")[:4], "200 ")
	res, err := http.Get(w.url + "/_svc")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	expect(t, "the policy", res.Header.Get("Content-Security-Policy"), "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	for file, kind := range map[string]string{"page.js": "text/javascript; charset=utf-8", "page.css": "text/css; charset=utf-8"} {
		res, err := http.Get(w.url + "/_svc/" + file)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		expect(t, file, res.Header.Get("Content-Type"), kind)
	}
	expect(t, "a template", w.ask("GET", "/_svc/page.html", "")[:4], "404 ")
}

// TestNewsComeToThePage hears of the build that is there, and of the next.
func TestNewsComeToThePage(t *testing.T) {
	w := workOn(t, sqldbtest.SQLite(t), hiddenModules, nil)
	res, err := http.Get(w.url + "/_svc/news")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	next := func() string {
		for lines.Scan() {
			if data, found := strings.CutPrefix(lines.Text(), "data: "); found {
				return data
			}
		}
		return "no more"
	}
	expect(t, "the first", next(), `{"build":1,"failure":""}`)
	w.saves("src/channels/orders.ts", "export const channel = {")
	contains(t, "a failure", next(), `"build":2`, "src/channels/orders.ts:1:")
}

// TestAuthorsAreWarnedOnce tells of what a replay would do again, and of nothing inside of steps.
func TestAuthorsAreWarnedOnce(t *testing.T) {
	w := workOn(t, sqldbtest.SQLite(t), `
-- src/workflows/odd.ts --
import { defineWorkflow } from "@svc/runtime";
export default defineWorkflow({
  async run() {
    performance.now();
    await fetch("data:,x");
    await new Promise((done) => setTimeout(done, 1));
    await fetch(process.env.HERE).catch(() => 0);
  },
});
-- src/workflows/right.ts --
import { defineWorkflow } from "@svc/runtime";
export default defineWorkflow({
  async run({ step, sleep }) {
    await step("all", async () => {
      performance.now();
      await new Promise((done) => setTimeout(done, 1));
      await fetch(process.env.HERE).catch(() => 0);
    });
    await sleep(1);
    return Date.now() > 0;
  },
});
`, map[string]string{"HERE": "http://127.0.0.1:1/"})
	for range 2 {
		expect(t, "a run", w.ask("POST", "/_svc/api/workflows/odd?wait=result", "")[:4], "200 ")
		expect(t, "a run", w.ask("POST", "/_svc/api/workflows/right?wait=result", "")[:4], "200 ")
	}
	for _, warned := range []string{"workflows/odd calls fetch outside of a step", "workflows/odd sets a timer outside of a step", "workflows/odd asks performance.now outside of a step"} {
		if n := strings.Count(w.log.String(), warned); n != 1 {
			t.Errorf("%q is told %d times", warned, n)
		}
	}
	if strings.Contains(w.log.String(), "workflows/right") {
		t.Error("what stands in a step is warned of")
	}
}
