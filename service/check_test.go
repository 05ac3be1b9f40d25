package service_test

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"svc.dev/svc/internal/bundle/bundletest"
	"svc.dev/svc/service"
	"svc.dev/svc/service/config"
)

// uneven has workflows that go the same way when they are replayed, and others.
const uneven = `
-- src/workflows/right.ts --
import { defineWorkflow } from "@svc/runtime";
export default defineWorkflow({
  async run({ step, sleep, log }) {
    const id = crypto.randomUUID(), at = Date.now();
    log.info("begun");
    const [a, b] = await Promise.all([step("a", () => Math.random()), step("b", () => performance.now())]);
    await sleep("1h");
    return { id, at, late: Date.now() >= at, chance: Math.random(), a, b };
  },
});
-- src/workflows/clock.ts --
import { defineWorkflow } from "@svc/runtime";
export default defineWorkflow({ run: async ({ step }) => { await step("work", () => 1); return performance.now(); } });
-- src/workflows/counter.ts --
import { defineWorkflow } from "@svc/runtime";
const born = Math.random();
export default defineWorkflow({
  async run({ step }) {
    await step("first", () => 1);
    await step("born " + born, () => 2);
  },
});
-- src/workflows/twice.ts --
import { defineWorkflow } from "@svc/runtime";
import { calls } from "../calls.ts";
export default defineWorkflow({
  async run({ step }) {
    const begun = performance.now();
    calls.push(await step("once", () => begun));
    for (let i = 0; begun !== calls[calls.length - 1]; i++) { await step("again", () => i); break; }
    return "done";
  },
});
-- src/calls.ts --
export const calls: number[] = [];
-- src/workflows/failing.ts --
import { defineWorkflow } from "@svc/runtime";
export default defineWorkflow({ run: async ({ step }) => step("fail", () => { throw new Error("no luck"); }) });
-- src/workflows/parent.ts --
import { defineWorkflow, getRun, invoke } from "@svc/runtime";
export default defineWorkflow({
  async run({ step }) {
    const { runId } = await step("start", () => invoke("child"));
    await step("leave", () => invoke("stuck"));
    return step("await", async () => {
      for (;;) {
        const child = await getRun(runId);
        if (child.status !== "active") return child.status;
        await new Promise((go) => { setTimeout(go, 10); });
      }
    });
  },
});
-- src/workflows/child.ts --
import { defineWorkflow } from "@svc/runtime";
export default defineWorkflow({ run: async ({ sleep, step }) => { await sleep("1h"); return step("work", () => 1); } });
-- src/workflows/stuck.ts --
import { defineWorkflow } from "@svc/runtime";
export default defineWorkflow({ run: ({ step }) => step("never ends", () => new Promise(() => {})) });
`

// TestReplayFindsWhatIsNotRecorded runs workflows twice, the second time from their record.
func TestReplayFindsWhatIsNotRecorded(t *testing.T) {
	tests := []struct{ workflow, input, result, says string }{
		{"right", "", "same", ""},
		{"failing", "", "same", "Both times the run failed: no luck"},
		{"parent", "", "same", ""},
		{"clock", "", "different", "it ends with the result "},
		{"counter", "", "different", `it asks for step "born 0.`},
		{"twice", "", "different", `it asks for step "again", where the first time came to its end`},
		{"nobody", "", "failed", "there is no workflow nobody"},
		{"right", `{"x":1}`, "failed", "This workflow takes no input."},
	}
	var replays []service.Replaying
	for _, test := range tests {
		one := service.Replaying{Workflow: test.workflow}
		if test.input != "" {
			one.Input = json.RawMessage(test.input)
		}
		replays = append(replays, one)
	}
	dir := bundletest.Project(t, uneven)
	found, err := service.Check(t.Context(), dir, replays, config.Config{}, slog.New(slog.DiscardHandler))
	if err != nil || len(found.Replay) != len(tests) || found.OK {
		t.Fatalf("%+v, %v", found, err)
	}
	for i, test := range tests {
		if got := found.Replay[i]; got.Result != test.result || !strings.Contains(got.Said, test.says) || got.Workflow != test.workflow {
			t.Errorf("%s %s: %+v", test.workflow, test.input, got)
		}
	}
	found, err = service.Check(t.Context(), dir, replays[:3], config.Config{}, slog.New(slog.DiscardHandler))
	if err != nil || !found.OK {
		t.Errorf("what goes the same way is not right: %+v, %v", found, err)
	}
}

func TestACheckSaysWhatItDidNotLookAt(t *testing.T) {
	dir := bundletest.Project(t, "-- src/app.ts --\nexport default { fetch: () => new Response() };\n")
	found, err := service.Check(t.Context(), dir, nil, config.Config{}, slog.New(slog.DiscardHandler))
	if err != nil || !found.OK || found.Types.Result != "skipped" || !strings.Contains(found.Types.Said, "There is no tsconfig.json") {
		t.Errorf("%+v, %v", found, err)
	}
	dir = bundletest.Project(t, "-- tsconfig.json --\n{}\n-- src/app.ts --\nexport default {")
	found, err = service.Check(t.Context(), dir, nil, config.Config{}, slog.New(slog.DiscardHandler))
	if err != nil || found.OK || found.Build.Result != "failed" || !strings.Contains(found.Build.Said, "src/app.ts:2:") || !strings.Contains(found.Types.Said, "tsc is not installed") {
		t.Errorf("%+v, %v", found, err)
	}
}
