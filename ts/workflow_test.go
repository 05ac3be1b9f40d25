package ts_test

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"svc.dev/svc"
	"svc.dev/svc/fault"
	"svc.dev/svc/stream"
	"svc.dev/svc/workflow"
)

func TestAWorkflowRunsItsStepsInOrderAndSideBySide(t *testing.T) {
	s := play(t, `
-- src/workflows/climb.ts --
import { defineWorkflow } from "@svc/runtime";
export default defineWorkflow({
  async run({ step, sleep, log, runId }) {
    log.info("begun", { at: 1 });
    const one = await step("one", async ({ attempt }) => attempt);
    await sleep(5);
    const all = await Promise.all(["a", "b"].map((x) => step("each", () => x)));
    const raced = await Promise.race([step("slow", () => new Promise((r) => setTimeout(r, 1000, "slow"))), step("quick", () => "quick")]);
    const nothing = await step("nothing", () => {});
    return { one, all, raced, nothing, named: runId.startsWith("run_") };
  },
});
`)
	id := s.invoke("climb", "")
	expect(t, "result", ending(s.await("climb", id)), `{"one":1,"all":["a","b"],"raced":"slow","nothing":null,"named":true}`)
	contains(t, "events", s.told("climb", id), "begun, one, one, each, each, each, each, ", ", quick, slow, nothing, nothing")
}

// told is the messages of a run's log: the lines, and the names of steps as they begin and end.
func (s *stage) told(name, id string) string {
	s.t.Helper()
	frame, err := s.rt.Page(s.t.Context(), s.rt.RunStream(workflow.Run{ID: id, Workflow: name}), stream.Start)
	if err != nil {
		s.t.Fatal(err)
	}
	var events []struct {
		Type, Message string
		Attributes    struct{ Step *struct{ Name string } }
	}
	if err := json.Unmarshal(frame.JSON(), &events); err != nil {
		s.t.Fatal(err)
	}
	var all []string
	for _, e := range events {
		switch {
		case e.Attributes.Step != nil:
			all = append(all, e.Attributes.Step.Name)
		case e.Type == "log":
			all = append(all, e.Message)
		}
	}
	return strings.Join(all, ", ")
}

// TestARunGoesOnFromWhatItRecorded stops the node in the middle of a run, and starts the same project again.
func TestARunGoesOnFromWhatItRecorded(t *testing.T) {
	s := play(t, `
-- src/workflows/long.ts --
import { defineWorkflow } from "@svc/runtime";
let engines = 0;
export default defineWorkflow({
  async run({ step, sleep, log }) {
    const dice = [Math.random(), crypto.randomUUID(), Date.now(), new Date().toISOString(), crypto.getRandomValues(new Uint8Array(3)).join()];
    log.info("said once");
    const first = await step("first", () => ({ dice, engine: ++engines, real: Math.random() }));
    await sleep("1s");
    return { same: JSON.stringify(first.dice) === JSON.stringify(dice), engine: first.engine, fresh: first.real !== dice[0] };
  },
});
`)
	id := s.invoke("long", "")
	eventually(t, "the first step has ended", func() bool { return strings.Contains(s.told("long", id), "first, first") })
	s.stop()
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
	expect(t, "result", ending(s.await("long", id)), `{"same":true,"engine":1,"fresh":true}`)
	if n := strings.Count(s.told("long", id), "said once"); n != 1 {
		t.Errorf("the line was told %d times", n)
	}
}

func TestStepsFailAsTheyAreAskedTo(t *testing.T) {
	s := play(t, `
-- src/workflows/failing.ts --
import { defineWorkflow, SvcError } from "@svc/runtime";
const form = { "~standard": { version: 1, vendor: "own", validate: (v) => (typeof v.what === "string" ? { value: v } : { issues: [{ message: "not a text", path: ["what"] }] }) } };
const caught = async (p) => { try { return await p; } catch (e) { return [e.name, e.message, e.type ?? "", e instanceof Error, e instanceof SvcError].join("|"); } };
export default defineWorkflow({
  input: form,
  async run({ step, sleep, input }) {
    switch (input.what) {
      case "retry": return step("flaky", { retry: { attempts: 3, delay: 1 } }, ({ attempt }) => { if (attempt < 3) throw new Error("not yet"); return attempt; });
      case "type": return caught(step("typed", () => { throw new RangeError("out of it"); }));
      case "fault": return caught(step("faulty", () => { throw new SvcError({ type: "card_declined", message: "The card was declined.", meta: { n: 1 } }); }));
      case "timeout": return caught(step("slow", { timeout: "20ms" }, ({ signal }) => new Promise((_, no) => signal.addEventListener("abort", () => no(signal.reason)))));
      case "nested": return step("outer", async () => caught(step("inner", () => 1)));
      case "sleeping": return step("outer", async () => { await sleep(1); return "slept"; });
      case "loose": step("loose", () => 1); return 1;
      case "bigint": return step("big", () => 1n);
      case "result": return 1n;
      case "plain": throw new TypeError("thrown deep");
      case "own": throw new SvcError({ type: "no_stock", message: "Nothing is left.", details: "Try tomorrow." });
      case "text": throw "a text";
      case "name": return step("", () => 1);
      case "option": return step("x", { retries: 3 }, () => 1);
      case "same": return caught(Promise.all([step("x", { key: "k" }, () => 1), step("x", { key: "k" }, () => 1)]));
    }
  },
});
`)
	for what, want := range map[string]string{
		"retry":    "3",
		"type":     `"RangeError|out of it||true|false"`,
		"fault":    `"SvcError|The card was declined.|card_declined|true|true"`,
		"timeout":  `"TimeoutError|The step did not end within 20ms.||true|false"`,
		"nested":   `"SvcError|Step \"inner\" cannot begin inside a step.|step_misplaced|true|true"`,
		"sleeping": `"slept"`,
		"loose":    `step_not_awaited StepNotAwaited: Step "loose" was begun and not awaited.`,
		"bigint":   "action_output_serialization ActionOutputSerialization: The result of the step cannot be written as JSON.",
		"result":   "action_output_serialization ActionOutputSerialization: The result cannot be written as JSON.",
		"plain":    " TypeError: thrown deep",
		"own":      "no_stock NoStock: Nothing is left.",
		"text":     " Error: a text",
		"name":     " TypeError: The name of a step must be a text that is not empty.",
		"option":   ` TypeError: step() has an unknown field "retries".`,
		"same":     `"Error|parallel: two steps are named \"x\"; tell them apart by Keyed||true|false"`,
	} {
		t.Run(what, func(t *testing.T) { expect(t, what, s.ends("failing", `{"what":"`+what+`"}`), want) })
	}
	expect(t, "what does not fit", s.ends("failing", `{"what":1}`), "action_input_validation ActionInputValidation: The input does not fit the schema.")
	contains(t, "log", s.log.String(), "TypeError: thrown deep", "src/workflows/failing.ts:21:")
}

func TestSchemasOfPackagesCheckBeforeARunIsAdmitted(t *testing.T) {
	s := playWith(t, `
-- src/workflows/valibot.ts --
import { defineWorkflow, defineAction } from "@svc/runtime";
import * as v from "valibot";
const action = defineAction({
  name: "doubling", description: "Doubles.", input: v.object({ n: v.pipe(v.number(), v.integer(), v.minValue(1), v.description("how many")), tag: v.optional(v.picklist(["a", "b"])) }),
  output: v.object({ twice: v.number() }), run: async ({ input }) => ({ twice: input.n === 7 ? "x" : input.n * 2 }),
});
export const description = "Doubles what it is given.";
export default defineWorkflow({ action });
-- src/workflows/zod.ts --
import { defineWorkflow } from "@svc/runtime";
import { z } from "zod";
export default defineWorkflow({ input: z.object({ when: z.string().min(2), more: z.array(z.number()).default([]) }), run: async ({ input }) => input });
-- src/workflows/tree.ts --
import { defineWorkflow } from "@svc/runtime";
import { z } from "zod";
const tree = z.object({ value: z.number(), get children() { return z.array(tree); } });
export default defineWorkflow({ input: tree, run: async ({ input }) => input.children.length });
`)
	expect(t, "valibot", string(s.rt.Workflow("valibot").InputSchema()),
		`{"type":"object","properties":{"n":{"type":"integer","minimum":1,"description":"how many"},"tag":{"enum":["a","b"]}},"required":["n"]}`)
	if s.rt.Workflow("valibot").Description != "Doubles what it is given." {
		t.Error("the description is not told")
	}
	for _, c := range []struct{ workflow, input, issue string }{
		{"valibot", `{"n":"x"}`, "expected integer"}, {"valibot", `{"n":0}`, "minimum"}, {"zod", `{"when":"x"}`, "minLength"}, {"zod", `{}`, "when"}, {"tree", `[]`, "expected object"},
	} {
		err := s.rt.Workflow(c.workflow).CheckInput(t.Context(), json.RawMessage(c.input))
		if err == nil || !regexp.MustCompile(c.issue).MatchString(faultMeta(err)) {
			t.Errorf("%s takes %s with %v", c.workflow, c.input, faultMeta(err))
		}
	}
	expect(t, "valibot", s.ends("valibot", `{"n":4}`), `{"twice":8}`)
	expect(t, "an output that does not fit", s.ends("valibot", `{"n":7}`), "action_output_validation ActionOutputValidation: The output does not fit the schema.")
	expect(t, "zod", s.ends("zod", `{"when":"now"}`), `{"when":"now","more":[]}`)
	expect(t, "a schema that holds itself", s.ends("tree", `{"value":1,"children":[{"value":2,"children":[]}]}`), "1")
	contains(t, "what the script refuses", s.ends("tree", `{"value":1,"children":[{"value":"x","children":[]}]}`), "action_input_validation")
}

func TestAScopeThatIsFullIsToldToItsModules(t *testing.T) {
	s := play(t, `
-- src/workflows/parent.ts --
import { defineWorkflow, invoke } from "@svc/runtime";
export default defineWorkflow({ run: async ({ step }) => step("start", async () => { try { return await invoke("parent"); } catch (e) { return e.type; } }) });
`, func(s *stage) {
		s.config.Admit = func(context.Context, string) error {
			return fault.New(fault.StorageQuotaExceeded, "The workspace is full.", "")
		}
	})
	expect(t, "result", s.ends("parent", ""), `"storage_quota_exceeded"`)
}

func TestAWorkflowAsksItsAgent(t *testing.T) {
	s := playWith(t, `
-- src/workflows/asking.ts --
import { defineAgent, defineTool, defineWorkflow } from "@svc/runtime";
import * as v from "valibot";
const agent = defineAgent(({ id, env }) => ({
  model: "scripted/x", instructions: env.GREETING + " " + (id.startsWith("run_") ? "a run" : id),
  tools: [defineTool({ name: "add", description: "Adds.", input: v.object({ a: v.number(), b: v.number() }), run: ({ input }) => input.a + input.b })],
}));
export default defineWorkflow({
  agent,
  async run({ harness }) {
    const session = await harness.session();
    const said = await session.prompt("hello");
    const sum = await session.prompt('use add {"a":2,"b":3}');
    return { said: said.text, model: said.model.id, sum: sum.text };
  },
});
-- src/workflows/formed.ts --
import { defineAgent, defineWorkflow } from "@svc/runtime";
import * as v from "valibot";
export default defineWorkflow({
  agent: defineAgent(() => ({ model: "scripted/x" })),
  async run({ harness }) { return (await (await harness.session()).prompt("how many", { result: v.object({ n: v.number() }), model: "scripted/y" })).data; },
});
-- src/workflows/nobody.ts --
import { defineWorkflow } from "@svc/runtime";
export default defineWorkflow({ run: async ({ harness }) => (await harness.session()).prompt("hello") });
-- src/workflows/later.ts --
import { defineWorkflow } from "@svc/runtime";
export default defineWorkflow({ run: async ({ harness }) => harness.shell("ls") });
`, func(s *stage) { s.config.Env = map[string]string{"GREETING": "Hi"} })
	expect(t, "result", s.ends("asking", ""), `{"said":"Hi a run heard hello","model":"x","sum":"The tool says 5"}`)
	expect(t, "a form", s.ends("formed", ""), `{"n":5}`)
	expect(t, "without an agent", s.ends("nobody", ""), "agent_not_found AgentNotFound: The workflow nobody has no agent to prompt.")
	expect(t, "later", s.ends("later", ""), "unsupported Unsupported: harness.shell() is not available in svc projects yet.")
}

// TestWhatARunAsksForIsOfItsScope invokes and lists for one scope, and dispatches with a key, once.
func TestWhatARunAsksForIsOfItsScope(t *testing.T) {
	s := play(t, `
-- src/workflows/child.ts --
import { defineWorkflow } from "@svc/runtime";
export default defineWorkflow({ run: async () => "done" });
-- src/workflows/parent.ts --
import { defineWorkflow, invoke, listRuns, getRun, listAgents, dispatch } from "@svc/runtime";
import child from "./child.ts";
import helper from "../agents/helper.ts";
const failing = async (p) => { try { await p; return "nothing"; } catch (e) { return e.type; } };
export default defineWorkflow({
  async run({ step, runId }) {
    const { runId: id } = await step("start", () => invoke(child, { key: runId }));
    return step("look", async () => {
      const listed = (await listRuns({ workflowName: "child" })).runs.map((r) => r.runId);
      const one = await dispatch(helper, { id: "x", message: { kind: "user", body: "hi" }, key: "k" }), two = await dispatch({ agent: "helper", id: "x", message: { kind: "user", body: "hi" }, key: "k" });
      return {
        listed: listed.join() === id, found: (await getRun(id)).workflowName, none: await getRun("run_none"), agents: (await listAgents()).map((a) => a.name),
        once: one.dispatchId === two.dispatchId, at: typeof one.acceptedAt,
        refused: [await failing(invoke("nope")), await failing(invoke({})), await failing(invoke(child, { input: {} })), await failing(dispatch("nope", { id: "x", message: { kind: "user", body: "x" } })), await failing(dispatch(helper, { id: "x", message: { kind: "odd" } }))],
      };
    });
  },
});
-- src/agents/helper.ts --
import { defineAgent } from "@svc/runtime";
export default defineAgent(() => ({ model: "scripted/x" }));
`)
	scoped := s.rt.In("users/ada/shop")
	got, err := scoped.Invoke(t.Context(), "parent", svc.Invocation{Wait: true, StartedBy: "ada"})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "result", ending(*got.Run), `{"listed":true,"found":"child","none":null,"agents":["helper"],"once":true,"at":"string",`+
		`"refused":["workflow_not_discovered","workflow_not_discovered","workflow_input_unexpected","agent_not_found","invalid_request"]}`)
	all, err := scoped.FindRuns(t.Context(), svc.RunFilter{Workflow: "child"})
	if err != nil || len(all.Runs) != 1 || all.Runs[0].StartedBy != "ada" {
		t.Errorf("the scope has %+v, %v", all.Runs, err)
	}
	if none, err := s.rt.ListRuns(t.Context(), svc.RunFilter{}); err != nil || len(none.Runs) != 0 {
		t.Errorf("another scope has %+v, %v", none.Runs, err)
	}
}

// TestWhatAnEndedRunLeavesBehindAsksForNothing lets a run go on in another one's turn after it was cancelled: its step is refused, and
// the other run is as it was.
func TestWhatAnEndedRunLeavesBehindAsksForNothing(t *testing.T) {
	s := play(t, `
-- src/shared.ts --
export let open;
export const gate = new Promise((go) => { open = go; });
export const seen = [];
-- src/workflows/left.ts --
import { defineWorkflow } from "@svc/runtime";
import { gate, seen } from "../shared.ts";
export default defineWorkflow({ async run({ step }) {
  await step("begins", () => 1);
  await gate;
  try { await step("goes on", () => 1); seen.push("it did"); } catch (e) { seen.push(e.name); }
} });
-- src/workflows/opens.ts --
import { defineWorkflow } from "@svc/runtime";
import { open, seen } from "../shared.ts";
export default defineWorkflow({ async run({ step }) { open(); await step("after", () => 1); return [...seen]; } });
`, func(s *stage) { s.config.Working = 1 })
	id := s.invoke("left", "")
	eventually(t, "it has begun", func() bool { return strings.Contains(s.told("left", id), "begins, begins") })
	if _, err := s.rt.CancelRun(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	s.await("left", id)
	expect(t, "the other", s.ends("opens", ""), `["AbortError"]`)
}

// TestWhatAnEndedStepLeavesBehindBeginsNoStep: a step that has ended is forgotten at once, and what of it goes on is still inside of it.
func TestWhatAnEndedStepLeavesBehindBeginsNoStep(t *testing.T) {
	s := play(t, `
-- src/workflows/late.ts --
import { defineWorkflow } from "@svc/runtime";
export default defineWorkflow({ async run({ step }) {
  const seen = [];
  await step("ends", () => { Promise.resolve().then(() => step("late", () => 1)).then(() => seen.push("it did"), (e) => seen.push(e.type)); return 1; });
  await step("after", () => 1);
  return seen;
} });
`)
	expect(t, "what it heard", s.ends("late", ""), `["step_misplaced"]`)
}
