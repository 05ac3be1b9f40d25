package ts_test

import (
	"net/http"
	"strings"
	"testing"

	"svc.dev/svc"
	"svc.dev/svc/conversation"
)

const shop = `
-- src/agents/helper.ts --
import { defineAgent, defineAgentProfile, defineTool, SvcError } from "@svc/runtime";
import * as v from "valibot";
import { orders } from "../shared/orders.ts";
import tone from "./tone.md" with { type: "markdown" };

export const description = "Helps with orders.";
const look = (who) => defineTool({
  name: "look_up", description: "Looks an order up.", input: v.object({ order: v.pipe(v.string(), v.minLength(3)) }), output: v.object({ status: v.string() }),
  async run({ input, signal }) {
    await new Promise((r) => setTimeout(r, 1));
    switch (input.order) {
      case "loop": for (;;) ;
      case "thrown": throw new RangeError("there is no such order");
      case "typed": throw new SvcError({ type: "order_locked", message: "The order is locked." });
      case "odd": return { status: 1 };
      case "slow": await new Promise((_, no) => signal.addEventListener("abort", () => no(signal.reason)));
    }
    return { status: who + "'s is " + orders[input.order] };
  },
  timeoutMs: 5000,
});
const base = defineAgentProfile({ model: "scripted/base", instructions: "Base.", tools: [defineTool({ name: "nothing", description: "Does nothing.", run: () => {} })] });
const sub = defineAgentProfile({ name: "packer", description: "Packs.", instructions: "Pack.", tools: [look("the packer")] });
export default defineAgent(async ({ id }) => {
  await null;
  if (id === "refused") throw new SvcError({ type: "no_such_customer", message: "There is no such customer." });
  if (id === "thrown") throw new TypeError("boom");
  if (id === "odd") return { model: "scripted/x", temperature: 1 };
  if (id === "later") return { model: "scripted/x", skills: ["x"] };
  return { profile: base, instructions: tone.trim() + " " + id, tools: [look(id)], subagents: [sub], durability: { maxAttempts: 3, timeoutMs: 60_000 } };
});
-- src/agents/tone.md --
Be kind to
-- src/shared/orders.ts --
export const orders: Record<string, string> = { order_1: "packed" };
`

func TestAnAgentIsWhatItsModuleSaysOfTheInstance(t *testing.T) {
	s := playWith(t, shop)
	expect(t, "instructions", s.says("helper", "ada", "hello"), "Be kind to ada heard hello")
	expect(t, "a tool", s.says("helper", "ada", `use look_up {"order":"order_1"}`), `The tool says {"status":"ada's is packed"}`)
	expect(t, "a tool of the profile", s.says("helper", "ada", `use nothing {}`), `The tool says null`)
	expect(t, "a sub-agent", s.says("helper", "bob", `use task {"agent":"packer","prompt":"use look_up {\"order\":\"order_1\"}"}`), `The tool says The tool says {"status":"the packer's is packed"}`)
	expect(t, "agents", s.rt.ListAgents()[0].Description, "Helps with orders.")
}

func TestToolsFailAsTheModelShouldHear(t *testing.T) {
	s := playWith(t, shop)
	for order, want := range map[string]string{
		"thrown": "there is no such order", "typed": "The order is locked.", "odd": "The output does not fit the tool.", "x": "The input does not fit the tool.", "loop": "did not come to a rest in time",
		"slow": "",
	} {
		t.Run(order, func(t *testing.T) {
			said := s.says("helper", order+"-asker", `use look_up {"order":"`+order+`"}`)
			if !strings.HasPrefix(said, "The tool fails: ") || !strings.Contains(said, want) {
				t.Errorf("the model heard %q, and not %q", said, want)
			}
		})
	}
	// The engine that the loop ended is replaced.
	expect(t, "after that", s.says("helper", "ada", `use look_up {"order":"order_1"}`), `The tool says {"status":"ada's is packed"}`)
}

func TestAnInitializerThatFailsFailsThePrompt(t *testing.T) {
	s := playWith(t, shop)
	for id, want := range map[string]string{
		"refused": "no_such_customer: There is no such customer.", "thrown": "internal_error: ", "odd": "internal_error: ", "later": "unsupported: agent helper: skills is not available in svc projects yet.",
	} {
		if said := s.says("helper", id, "hello"); !strings.HasPrefix(said, want) {
			t.Errorf("%s: %s, and not %s", id, said, want)
		}
	}
	contains(t, "log", s.log.String(), "TypeError: boom", "src/agents/helper.ts:", `The configuration of agent helper has an unknown field \"temperature\".`)
}

func TestAChannelDispatchesToItsAgent(t *testing.T) {
	s := playWith(t, shop+`
-- src/channels/hook.ts --
import { dispatch } from "@svc/runtime";
import helper from "../agents/helper.ts";
const secret = new TextEncoder().encode("s3cret");
const hex = (s) => Uint8Array.from(s.match(/../g) ?? [], (x) => parseInt(x, 16));
export const channel = {
  routes: [
    { method: "GET", path: "/ping", handler: (c) => c.text("pong " + c.req.query("x")) },
    { method: "POST", path: "/in/events", async handler(c) {
      const body = new Uint8Array(await c.req.raw.arrayBuffer());
      const key = await crypto.subtle.importKey("raw", secret, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
      if (!(await crypto.subtle.verify("HMAC", key, hex(c.req.header("x-signature") ?? ""), body))) return c.json({ error: "bad signature" }, 401);
      const event = JSON.parse(new TextDecoder().decode(body));
      return c.json(await dispatch(helper, { id: event.customer, message: { kind: "user", body: event.text } }), 202);
    } },
  ],
};
`)
	expect(t, "ping", s.get("/channels/hook/ping?x=1"), "200 pong 1")
	contains(t, "another verb", s.do(http.MethodPut, "/channels/hook/ping", ""), "405 ", "method_not_allowed")
	expect(t, "unsigned", s.do(http.MethodPost, "/channels/hook/in/events", "{}"), `401 {"error":"bad signature"}`)
	body := `{"customer":"eve","text":"hello"}`
	contains(t, "signed", s.do(http.MethodPost, "/channels/hook/in/events", body, "X-Signature", signed(body)), "202 ", `"dispatchId":"`, `"acceptedAt":"`)
	s.hears("helper", "eve", "Be kind to eve heard hello")
}

// TestWhatAnAgentAsksForIsOfItsScope: initializers and tools start and see runs of the workspace whose conversation it is, by whoever prompted.
func TestWhatAnAgentAsksForIsOfItsScope(t *testing.T) {
	s := play(t, `
-- src/workflows/child.ts --
import { defineWorkflow } from "@svc/runtime";
export default defineWorkflow({ run: async () => "done" });
-- src/agents/helper.ts --
import { defineAgent, defineTool, dispatch, getRun, invoke, listRuns } from "@svc/runtime";
import child from "../workflows/child.ts";
const seen = async () => (await listRuns()).runs.map((r) => r.runId);
const start = defineTool({ name: "start", description: "Starts.", run: () => invoke(child) });
const input = { "~standard": { version: 1, vendor: "here", validate: (value) => ({ value }), jsonSchema: { input: () => ({ type: "object" }) } } };
const look = defineTool({ name: "look", description: "Looks.", input, run: async ({ input }) => ({ seen: (await seen()).length, eves: await getRun(input.id), told: typeof (await dispatch("helper", { id: "other", message: { kind: "user", body: "a word from a tool" } })).dispatchId }) });
export default defineAgent(async () => ({ model: "scripted/x", instructions: "Saw " + (await seen()).length + ".", tools: [start, look] }));
`)
	ada, eve := s.rt.In("users/ada/shop"), s.rt.In("users/eve/shop")
	hers, err := eve.Invoke(t.Context(), "child", svc.Invocation{Wait: true})
	if err != nil {
		t.Fatal(err)
	}
	says := func(text, want string) {
		t.Helper()
		if _, err := ada.Prompt(t.Context(), "helper", "x", svc.Prompt{Message: conversation.Message{Kind: "user", Body: text}, By: "ada"}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "it says "+want, func() bool { return strings.Contains(spoken(t, ada, "x"), want) })
	}
	says("hello", "Saw 0. heard hello")
	says("use start {}", `The tool says {\"runId\":\"run_`)
	says(`use look {"id":"`+hers.Run.ID+`"}`, `The tool says {\"seen\":1,\"eves\":null,\"told\":\"string\"}`)
	all, err := ada.FindRuns(t.Context(), svc.RunFilter{Workflow: "child"})
	if err != nil || len(all.Runs) != 1 || all.Runs[0].StartedBy != "ada" {
		t.Errorf("ada's runs are %+v, %v", all.Runs, err)
	}
	eventually(t, "what the tool dispatched is ada's", func() bool { return strings.Contains(spoken(t, ada, "other"), "a word from a tool") })
	if said := spoken(t, eve, "other"); said != "" {
		t.Errorf("eve hears %s", said)
	}
}

// spoken is what an instance of the helper has in its conversation; empty where there is none.
func spoken(t *testing.T, in svc.Scoped, id string) string {
	t.Helper()
	snapshot, _, err := in.Conversation(t.Context(), "helper", id)
	if err != nil {
		return ""
	}
	data, err := snapshot.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
