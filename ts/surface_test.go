package ts_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"svc.dev/svc/model"
	"svc.dev/svc/model/scripted"
)

// surface is a project that uses all that the first version has, under the names of another package: package.json alone leads from those to ours.
const surface = `
-- package.json --
{"svc": {"alias": {"@old/runtime": "@svc/runtime"}, "factory": "oldRoutes"}}
-- src/app.ts --
import { getRun, listAgents, listRuns } from "@old/runtime";
import { type Fetchable, oldRoutes } from "@old/runtime/routing";
import { Hono } from "hono";
const app = new Hono();
app.use("/api/*", async (c, next) => { c.set("user", c.req.header("x-user") ?? "nobody"); await next(); });
app.get("/about", (c) => c.json({ env: c.env.SHOP, wait: typeof c.executionCtx.waitUntil, pass: typeof c.executionCtx.passThroughOnException }));
app.get("/runs", async (c) => c.json((await listRuns({ workflowName: c.req.query("of") })).runs.length));
app.get("/runs/:id", async (c) => c.json((await getRun(c.req.param("id")))?.status ?? null));
app.get("/agents", async (c) => c.json((await listAgents()).map((a) => a.name + ": " + (a.description ?? ""))));
app.route("/api", oldRoutes());
export default app satisfies Fetchable;
-- src/notes/README.md --
Be kind to
-- src/tools/orders.ts --
import { SvcError, defineTool } from "@old/runtime";
import * as v from "valibot";
export const lookUp = defineTool({
  name: "look_up", description: "Looks an order up.", input: v.object({ order: v.pipe(v.string(), v.minLength(2)) }), output: v.object({ order: v.string(), signal: v.boolean() }),
  run({ input, signal }) {
    if (input.order === "none") throw new SvcError({ type: "order_not_found", message: "There is no such order." });
    return { order: input.order, signal: signal instanceof AbortSignal };
  },
});
export const nothing = defineTool({ name: "nothing", description: "Does nothing.", run: () => undefined });
-- src/agents/types.d.ts --
export type Nothing = never;
-- src/agents/parts/support.ts --
export const support = "no module of its own";
-- src/agents/clerk.ts --
import { defineAgent, defineAgentProfile } from "@old/runtime";
import { lookUp, nothing } from "../tools/orders.ts";
import { support } from "./parts/support.ts";
import manners from "../notes/README.md" with { type: "markdown" };
const base = defineAgentProfile({ model: "scripted/base", instructions: support, tools: [nothing], thinkingLevel: "low" });
const expert = defineAgentProfile({ name: "expert", description: "Knows more.", instructions: "Expert", tools: [lookUp] });
export const description = "Serves customers.";
export const route = async (c, next) => {
  if (c.get("user") !== c.req.param("id")) return c.json({ denied: c.get("user") }, 403);
  await next();
};
export const attachments = (c, next) => (c.req.header("x-files") ? next() : c.text("no files", 403));
export default defineAgent(async ({ id, env }) => ({
  profile: base, instructions: manners.trim() + " " + id + " of " + env.SHOP, tools: [lookUp], subagents: [expert], durability: { maxAttempts: 3, timeoutMs: 60_000 }, description: "Serves.",
}));
-- src/agents/hidden.mjs --
import { defineAgent } from "@old/runtime";
export default defineAgent(({ id }) => (id === "odd" ? { model: "scripted/x", temperature: 1 } : { model: "scripted/x", instructions: "Hidden" }));
-- src/workflows/order.mts --
import { defineAgent, defineWorkflow } from "@old/runtime";
import * as v from "valibot";
const agent = defineAgent(() => ({ model: "scripted/x", instructions: "Count" }));
export const description = "Handles an order.";
export const route = async (c, next) => { const { order } = await c.req.raw.clone().json(); if (order === "bad") return c.text("refused", 409); await next(); };
export const runs = (c, next) => (c.get("user") === "ada" ? next() : c.text("no", 401));
export default defineWorkflow({
  agent, input: v.object({ order: v.string() }), output: v.object({ order: v.string(), n: v.number(), said: v.string(), all: v.array(v.number()), same: v.boolean(), named: v.boolean() }),
  async run({ input, log, harness, step, sleep, runId }) {
    log.info("begun", { order: input.order });
    log.warn("slow");
    log.error("odd");
    const drawn = Math.random();
    const all = await Promise.all([1, 2].map((n) => step("each", { key: String(n), retry: { attempts: 2 }, timeout: "1m", durable: n === 1 }, ({ attempt }) => n * attempt)));
    await sleep(5);
    const session = await harness.session();
    const said = await session.prompt("hello", { model: "scripted/y" });
    const { data } = await session.prompt("how many", { result: v.object({ n: v.number() }) });
    return { order: input.order, n: data.n, said: said.text, all, same: (await step("drawn", () => drawn)) === drawn, named: runId.startsWith("run_") };
  },
});
-- src/workflows/double.js --
import { defineAction, defineWorkflow } from "@old/runtime";
import { z } from "zod";
const action = defineAction({ name: "double", description: "Doubles.", input: z.object({ n: z.number().int() }), output: z.object({ n: z.number() }), run: async ({ input, log }) => { log.info("doubling"); return { n: input.n * 2 }; } });
export default defineWorkflow({ action });
-- src/workflows/refused.ts --
import { SvcError, defineWorkflow } from "@old/runtime";
export default defineWorkflow({ run: async () => { throw new SvcError({ type: "shop_closed", message: "The shop is closed.", details: "Come tomorrow.", meta: { at: 9 } }); } });
-- src/channels/post.ts --
import { dispatch, invoke } from "@old/runtime";
import clerk from "../agents/clerk.ts";
import double from "../workflows/double.js";
export const channel = {
  routes: [
    { method: "POST", path: "/letters", async handler(c) { const { to } = await c.req.json(); return c.json(await dispatch(clerk, { id: to, message: { kind: "user", body: "a letter" }, key: "letter-" + to }), 202); } },
    { method: "POST", path: "/letters/named", async handler(c) { return c.json(await dispatch({ agent: "hidden", id: "x", message: { kind: "signal", type: "letter", body: "a letter" } }), 202); } },
    { method: "PUT", path: "/orders", async handler(c) { return c.json(await invoke(double, { input: { n: 4 }, key: c.req.query("key") }), 202); } },
  ],
};
`

// TestEveryRowOfTheFirstVersion checks off what authors write, row by row, in a project of other names.
func TestEveryRowOfTheFirstVersion(t *testing.T) {
	s := playWith(t, surface, func(s *stage) {
		s.config.Env = map[string]string{"SHOP": "Acme"}
		s.think = func(r model.Request) scripted.Turn {
			if last := r.Messages[len(r.Messages)-1]; last.Role == model.RoleUser && *last.Parts[0].Text == "tell" {
				names := make([]string, len(r.Tools))
				for i, tool := range r.Tools {
					names[i] = tool.Name
				}
				return scripted.Turn{scripted.Say(fmt.Sprint(r.Model, " ", r.Reasoning, " ", names))}
			}
			return think(r)
		}
	})
	asked := func(method, path, body string) string {
		return s.do(method, path, body, "Content-Type", "application/json", "X-User", "ada")
	}
	for _, row := range []struct{ name, got, want string }{
		{"source folder: .ts .mts .js .mjs, flat", strings.Join(s.modules(), " "), "clerk hidden double order refused"},
		{"app.ts: fetch(request, env, ctx) owns all requests", s.get("/about"), `200 {"env":"Acme","wait":"function","pass":"function"}`},
		{"app.ts: what it does not mount does not exist", s.get("/agents/clerk/ada"), "404 404 Not Found"},
		{"routing: other paths stay the application's", s.get("/api/nothing"), "404 404 Not Found"},
		{"agents: defineAgent, asked for the instance, async", s.says("clerk", "ada", "hello"), "Be kind to ada of Acme heard hello"},
		{"agents: route lets pass", asked("GET", "/api/agents/clerk/ada", "")[:4], "200 "},
		{"agents: route before HEAD", asked("HEAD", "/api/agents/clerk/ada", ""), "200 "},
		{"agents: route before abort", s.do("POST", "/api/agents/clerk/ada/abort", "", "X-User", "bob"), `403 {"denied":"bob"}`},
		{"agents: without route not served", typeIn(asked("GET", "/api/agents/hidden/x", "")), "404 agent_not_found"},
		{"agents: attachments", s.get("/api/agents/clerk/ada/attachments/a1", "X-User", "ada"), "403 no files"},
		{"agents: description", s.get("/agents"), `200 ["clerk: Serves customers.","hidden: "]`},
		{"config: profile is the base, arrays add up", s.says("clerk", "bob", "tell"), "base low [nothing look_up task]"},
		{"config: unknown fields are refused", s.says("hidden", "odd", "hello"), "internal_error: "},
		{"defineAgentProfile: a sub-agent", s.says("clerk", "eve", `use task {"agent":"expert","prompt":"hello"}`), "The tool says Expert heard hello"},
		{"defineTool: input and output are parsed", s.says("clerk", "eve", `use look_up {"order":"o1"}`), `The tool says {"order":"o1","signal":true}`},
		{"defineTool: what does not fit", s.says("clerk", "eve", `use look_up {"order":"o"}`)[:31], "The tool fails: The input does "},
		{"defineTool: undefined is null", s.says("clerk", "eve", `use nothing {}`), "The tool says null"},
		{"errors: SvcError of a tool", s.says("clerk", "eve", `use look_up {"order":"none"}`), "The tool fails: There is no such order."},
		{"errors: SvcError of a run", s.ends("refused", ""), "shop_closed ShopClosed: The shop is closed."},
		{"defineAction in a workflow, Zod", s.ends("double", `{"n":4}`), `{"n":8}`},
		{"workflows: run, log, harness, step, sleep, prompt, Valibot", s.ends("order", `{"order":"o1"}`), `{"order":"o1","n":5,"said":"Count heard hello","all":[1,2],"same":true,"named":true}`},
		{"workflows: route that clones the request", asked("POST", "/api/workflows/order", `{"order":"bad"}`), "409 refused"},
		{"workflows: route lets pass", asked("POST", "/api/workflows/order?wait=result", `{"order":"o2"}`)[:4], "200 "},
		{"workflows: input before admission", typeIn(asked("POST", "/api/workflows/order", `{"order":1}`)), "400 action_input_validation"},
		{"workflows: runs", s.get("/api/runs/" + s.invoke("order", `{"order":"o3"}`)), "401 no"},
		{"workflows: without route not served", typeIn(asked("POST", "/api/workflows/double", "{}")), "404 workflow_not_found"},
		{"channels: fixed suffixes, dispatch by identity", has(asked("POST", "/api/channels/post/letters", `{"to":"zoe"}`), "dispatchId", "acceptedAt"), "202 dispatchId acceptedAt"},
		{"dispatch: by name", has(asked("POST", "/api/channels/post/letters/named", `{}`), "dispatchId"), "202 dispatchId"},
		{"dispatch: the same key again", same(asked("POST", "/api/channels/post/letters", `{"to":"zoe"}`), asked("POST", "/api/channels/post/letters", `{"to":"zoe"}`)), "same"},
		{"invoke: the same key again", same(asked("PUT", "/api/channels/post/orders?key=k", ""), asked("PUT", "/api/channels/post/orders?key=k", "")), "same"},
		{"channels: another verb", typeIn(asked("GET", "/api/channels/post/orders", "")), "405 method_not_allowed"},
		{"listRuns", s.get("/runs?of=double"), "200 2"},
		{"getRun", s.get("/runs/" + s.finished("double", `{"n":1}`)), `200 "completed"`},
		{"getRun of none", s.get("/runs/run_none"), "200 null"},
	} {
		if row.got != row.want && (!strings.HasSuffix(row.want, ": ") || !strings.HasPrefix(row.got, row.want)) {
			t.Errorf("%s:\n%s\nand not\n%s", row.name, row.got, row.want)
		}
	}
	s.hears("clerk", "zoe", "Be kind to zoe of Acme heard a letter")
}

// modules are the names of what the project has declared.
func (s *stage) modules() (names []string) {
	for _, a := range s.rt.ListAgents() {
		names = append(names, a.Name)
	}
	for _, w := range s.rt.Workflows() {
		names = append(names, w.Name)
	}
	return names
}

// finished is the id of a run that has ended.
func (s *stage) finished(workflow, input string) string {
	s.t.Helper()
	id := s.invoke(workflow, input)
	s.await(workflow, id)
	return id
}

// typeIn is the status of an answer and the type of its error.
func typeIn(answer string) string {
	status, body, _ := strings.Cut(answer, " ")
	_, rest, _ := strings.Cut(body, `"type":"`)
	kind, _, _ := strings.Cut(rest, `"`)
	return status + " " + kind
}

// has is the status of an answer, and of these fields those that it has.
func has(answer string, fields ...string) string {
	got, body, _ := strings.Cut(answer, " ")
	for _, name := range fields {
		if strings.Contains(body, `"`+name+`":"`) {
			got += " " + name
		}
	}
	return got
}

// same tells whether two answers are one.
func same(a, b string) string {
	if a == b && strings.HasPrefix(a, fmt.Sprint(http.StatusAccepted)) {
		return "same"
	}
	return a + "\n" + b
}
