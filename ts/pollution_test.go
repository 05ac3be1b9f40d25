package ts_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"svc.dev/svc/internal/script/scripttest"
)

// bySyntax is a project that uses what it is given by syntax alone: no method of the language is left in its world.
const bySyntax = `
-- src/agents/kind.ts --
import { defineAgent, defineTool } from "@svc/runtime";
const form = { "~standard": { version: 1, vendor: "x", validate: (value) => (value.n === 13 ? { issues: [{ message: "unlucky", path: ["n"] }] } : { value }), jsonSchema: { input: () => ({ type: "object", properties: { n: { type: "number" } } }) } } };
const twice = defineTool({ name: "twice", description: "Doubles.", input: form, output: form, run: ({ input }) => ({ n: input.n * 2 }) });
export const route = async (c, next) => {
  if (c.req.header("x-deny")) return c.json({ id: c.req.param("id"), q: c.req.query("q"), all: c.req.query(), path: c.req.path }, 403);
  c.set("before", "set");
  c.header("x-before", c.var.before);
  await next();
  c.header("x-after", c.get("before") + c.res.status);
};
export default defineAgent(({ id }) => ({ profile: { instructions: "Kind to " + id, tools: [twice] }, model: "scripted/x", subagents: [{ name: "sub", description: "Helps.", tools: [twice] }] }));
-- src/workflows/careful.ts --
import { SvcError, defineWorkflow } from "@svc/runtime";
const form = { "~standard": { version: 1, vendor: "x", validate: (value) => ({ value }) } };
export default defineWorkflow({ input: form, async run({ input, step, sleep, log }) {
  log.info("begun", { at: 1 });
  const one = await step("one", ({ attempt }) => attempt);
  await sleep("5ms");
  const a = step("each", { retry: { attempts: 2 } }, () => "a"), b = step("each", async () => "b"), all = [await a, await b];
  try { await step("fails", () => { throw new SvcError({ type: "odd", message: "No." }); }); } catch (e) { return { one, all, type: e.type, n: input.n }; }
} });
-- src/workflows/unawaited.ts --
import { defineWorkflow } from "@svc/runtime";
export default defineWorkflow({ async run({ step }) { step("left", () => 1); } });
-- src/channels/hook.ts --
import { dispatch, getRun, invoke, listAgents } from "@svc/runtime";
import kind from "../agents/kind.ts";
import careful from "../workflows/careful.ts";
import { pollute } from "../pollute.ts";
export const channel = { routes: [
  { method: "POST", path: "/in", handler: async (c) => { const { id } = await c.req.json(); return c.json(await dispatch(kind, { id, message: { kind: "user", body: "hello" } }), 202); } },
  { method: "POST", path: "/run", handler: async (c) => { const { runId } = await invoke(careful, { input: { n: 7 } }), run = await getRun(runId); return c.text(run.workflowName + (await listAgents()).length); } },
  { method: "POST", path: "/pollute", handler: (c) => { pollute(); return c.text("polluted"); } },
] };
-- src/workflows/pollutes.ts --
import { defineWorkflow } from "@svc/runtime";
import { pollute } from "../pollute.ts";
export default defineWorkflow({ async run() { pollute(); return "polluted"; } });
-- src/pollute.ts --
export const pollute = () => {` + scripttest.Pollute + `};
`

// TestAModuleThatReplacesTheLanguageBreaksNoOther has one replace Promise, all methods and all globals, while it is loaded, and later in
// each pool: what the runtime hands to others works on.
func TestAModuleThatReplacesTheLanguageBreaksNoOther(t *testing.T) {
	one := func(s *stage) { s.config.Serving, s.config.Working = 1, 1 }
	t.Run("when it is loaded", func(t *testing.T) {
		s := play(t, strings.Replace(bySyntax, "-- src/agents/kind.ts --\n", "-- src/agents/kind.ts --\nimport { pollute } from \"../pollute.ts\";\npollute();\n", 1), one)
		worksOn(t, s)
	})
	t.Run("when it runs", func(t *testing.T) {
		s := play(t, bySyntax, one)
		expect(t, "a run", s.ends("pollutes", ""), `"polluted"`)
		expect(t, "a request", s.do(http.MethodPost, "/channels/hook/pollute", ""), "200 polluted")
		worksOn(t, s)
	})
}

func worksOn(t *testing.T, s *stage) {
	t.Helper()
	expect(t, "a run", s.ends("careful", `{"n":1}`), `{"one":1,"all":["a","b"],"type":"odd","n":1}`)
	contains(t, "a step that is not awaited", s.ends("unawaited", ""), `step_not_awaited`, `Step "left" was begun and not awaited.`)
	expect(t, "a tool", s.says("kind", "x", `use twice {"n":2}`), `The tool says {"n":4}`)
	contains(t, "a tool's input", s.says("kind", "x", `use twice {"n":13}`), "The tool fails: ", "n: unlucky")
	expect(t, "a guard that denies", s.get("/agents/kind/x?q=1&r=2", "X-Deny", "1"), `403 {"id":"x","q":"1","all":{"q":"1","r":"2"},"path":"/agents/kind/x"}`)
	status, head, _ := s.exchange(http.MethodGet, "/agents/kind/x", "")
	expect(t, "a guard that passes", fmt.Sprint(status, head.Get("X-Before"), head.Get("X-After")), "200setset200")
	contains(t, "a channel that dispatches", s.do(http.MethodPost, "/channels/hook/in", `{"id":"y"}`), "202 ", `"dispatchId":"`)
	s.hears("kind", "y", "Kind to y heard hello")
	expect(t, "a channel that invokes", s.do(http.MethodPost, "/channels/hook/run", ""), "200 careful1")
	if log := s.log.String(); strings.Contains(log, "replaced: ") {
		t.Errorf("the runtime stumbled:\n%s", log)
	}
}
