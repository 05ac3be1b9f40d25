import { expect, test } from "vitest";
import type { RunEvent } from "@svc/sdk";
import { foldRun } from "./fold";
import { failuresOf, rowsOf, slowPath } from "./rows";
import { endedAt, levelOf, workOf, type Span } from "./span";
import failing from "./transcripts/failing.json";
import restart from "./transcripts/restart.json";
import unknownProject from "./transcripts/unknown-project.json";

const start = Date.parse("2026-11-17T06:00:00.000Z");

/** told are events at milliseconds since the start of a run. */
function told(...events: [at: number, type: string, more?: object][]): RunEvent[] {
  return events.map(([at, type, more], eventIndex) => ({ v: 3, runId: "run_1", eventIndex, timestamp: new Date(start + at).toISOString(), type, ...more }) as unknown as RunEvent);
}

const begins: [number, string, object] = [0, "run_start", { workflowName: "w", startedAt: new Date(start).toISOString() }];

function step(name: string, seq: number, attempt: number, state: string, durationMs?: number, level = "info"): object {
  return { level, message: `${name} ${state}`, attributes: { step: { name, seq, attempt, state, ...(durationMs !== undefined && { durationMs }) } } };
}

function of(fold: ReturnType<typeof foldRun>, name: string, nth = 0): Span {
  const found = [...fold.spans.values()].filter((span) => span.name === name)[nth];
  if (!found) throw new Error(`there is no span ${name}`);
  return found;
}

test("a bar is its start and what it took, whatever the stamp of its last event", () => {
  const fold = foldRun(told(begins, [10, "tool_start", { toolName: "add", toolCallId: "c" }], [900, "tool", { toolName: "add", toolCallId: "c", isError: false, durationMs: 40 }]));
  expect(of(fold, "add").bars).toEqual([{ from: 10, to: 50, state: "done", attempt: undefined }]);
});

test("an end whose start is not there begins as long before its stamp as it took", () => {
  const fold = foldRun(told([900, "turn", { turnId: "t", purpose: "agent", durationMs: 300, isError: false, request: {}, response: {} }]), new Date(start).toISOString());
  expect(of(fold, "turn 1").bars[0]).toMatchObject({ from: 600, to: 900 });
});

test("each attempt of a step is a bar, and one that is tried again has not failed", () => {
  const fold = foldRun(told(begins, [10, "log", step("pay", 0, 1, "started")], [60, "log", step("pay", 0, 1, "failed", 50, "warn")], [100, "log", step("pay", 0, 2, "started")], [180, "log", step("pay", 0, 2, "finished", 80)]));
  expect(of(fold, "pay").bars.map(({ from, to, state }) => [from, to, state])).toEqual([[10, 60, "failed"], [100, 180, "done"]]);
  expect(of(fold, "pay").state).toBe("done");
  expect(failuresOf(fold)).toEqual([]);
});

test("a step between two attempts is not over", () => {
  const fold = foldRun(told(begins, [10, "log", step("pay", 0, 1, "started")], [60, "log", step("pay", 0, 1, "failed", 50, "warn")]));
  expect(of(fold, "pay").state).toBe("open");
});

test("the last failure of a step says why by the end of the run", () => {
  const fold = foldRun(told(begins, [10, "log", step("pay", 0, 1, "started")], [60, "log", step("pay", 0, 1, "failed", 50, "error")], [61, "run_end", { isError: true, durationMs: 61, result: null, error: { name: "CardDeclined", message: "The card was declined." } }]));
  expect(of(fold, "pay").cause).toEqual({ name: "CardDeclined", message: "The card was declined." });
  expect(fold.cause?.name).toBe("CardDeclined");
});

test("a resume cuts what was open at the last sign of life, and the time between is no work", () => {
  const fold = foldRun(told(begins, [10, "log", step("one", 0, 1, "started")], [100, "log", step("one", 0, 1, "finished", 90)], [110, "log", step("two", 1, 1, "started")], [150, "log", { level: "info", message: "half" }], [5_000, "run_resume", { workflowName: "w", startedAt: new Date(start).toISOString() }], [5_001, "log", step("one", 0, 1, "kept", 90)], [5_002, "log", step("two", 1, 2, "started")], [5_100, "log", step("two", 1, 2, "finished", 98)]));
  expect(fold.bands).toEqual([{ from: 150, to: 5_000 }]);
  expect(of(fold, "two").bars.map(({ from, to, state }) => [from, to, state])).toEqual([[110, 150, "interrupted"], [5_002, 5_100, "done"]]);
  expect(workOf(of(fold, "two"), 9_999)).toBe(138);
  expect(of(fold, "one").kept).toEqual([5_001]);
  expect(of(fold, "one").state).toBe("kept");
});

test("the end of a run closes what is left as interrupted", () => {
  const fold = foldRun(told(begins, [10, "operation_start", { operationId: "o", operationKind: "prompt" }], [20, "turn_start", { operationId: "o", turnId: "t", purpose: "agent" }], [70, "run_end", { isError: true, durationMs: 70, result: null, error: { name: "RunCancelled", message: "Cancelled." } }]));
  expect([of(fold, "prompt"), of(fold, "turn 1")].map((span) => [span.state, endedAt(span)])).toEqual([["interrupted", 70], ["interrupted", 70]]);
  expect(failuresOf(fold)).toEqual([]);
  expect(fold.duration).toBe(70);
});

test("the input of a tool is that of the call in its turn's message", () => {
  const call = { role: "assistant", provider: "p", model: "m", content: [{ type: "toolCall", id: "c", name: "send", arguments: { to: ["a@b.example"], subject: "Hello" } }] };
  const fold = foldRun(told(begins, [1, "operation_start", { operationId: "o", operationKind: "prompt" }], [2, "turn_start", { operationId: "o", turnId: "t", purpose: "agent" }], [5, "message_end", { operationId: "o", turnId: "t", message: call }], [6, "tool_start", { operationId: "o", turnId: "t", toolName: "send", toolCallId: "c" }]));
  expect(of(fold, "send")).toMatchObject({ note: "a@b.example", input: { to: ["a@b.example"], subject: "Hello" } });
  expect(of(fold, "send").facts.askedBy).toBe(of(fold, "turn 1"));
  expect(of(fold, "turn 1").note).toBe("p/m");
});

test("an id that a model uses twice is two calls", () => {
  const call = (at: number): [number, string, object][] => [[at, "tool_start", { operationId: "o", toolName: "add", toolCallId: "0" }], [at + 9, "tool", { operationId: "o", toolName: "add", toolCallId: "0", isError: false, durationMs: 5 }]];
  const fold = foldRun(told(begins, ...call(10), ...call(50), ...call(90)));
  expect([...fold.spans.values()].map((span) => span.bars)).toEqual([10, 50, 90].map((from) => [{ from, to: from + 5, state: "done", attempt: undefined }]));
});

test("what an agent does for a task stands below the task", () => {
  const fold = foldRun(
    told(begins, [1, "operation_start", { operationId: "o", operationKind: "prompt" }], [5, "task_start", { operationId: "o", taskId: "k", prompt: "Sum up", agent: "writer" }], [6, "operation_start", { operationId: "p", operationKind: "task", taskId: "k" }], [7, "turn_start", { operationId: "p", turnId: "t", purpose: "agent", taskId: "k" }], [90, "task", { operationId: "o", taskId: "k", agent: "writer", isError: false, result: "Done", durationMs: 80 }]),
  );
  expect([of(fold, "task"), of(fold, "turn 1")].map((span) => [span.note, levelOf(span)])).toEqual([["writer", 2], ["", 4]]);
  expect(of(fold, "task").bars[0]).toMatchObject({ from: 5, to: 85 });
});

test("tokens and costs are those of turns, counted once", () => {
  const usage = { totalTokens: 12, cost: { total: 0.5 } };
  const fold = foldRun(told(begins, [1, "operation_start", { operationId: "o", operationKind: "prompt" }], [2, "turn_start", { operationId: "o", turnId: "t", purpose: "agent" }], [9, "turn", { operationId: "o", turnId: "t", purpose: "agent", durationMs: 7, isError: false, request: { providerId: "p", requestedModel: "m" }, response: { usage, finishReason: "stop" } }], [10, "operation", { operationId: "o", operationKind: "prompt", durationMs: 9, isError: false, usage }]));
  expect([fold.tokens, fold.cost]).toEqual([12, 0.5]);
});

test("the first failure is the deepest and the earliest", () => {
  const fold = foldRun(
    told(begins, [1, "operation_start", { operationId: "o", operationKind: "prompt" }], [2, "tool_start", { operationId: "o", toolName: "late", toolCallId: "b" }], [3, "tool_start", { operationId: "o", toolName: "early", toolCallId: "a" }], [40, "tool", { operationId: "o", toolName: "late", toolCallId: "b", isError: true, durationMs: 30, result: { content: [{ type: "text", text: "no" }], details: { code: "refused" } } }], [41, "tool", { operationId: "o", toolName: "early", toolCallId: "a", isError: true, durationMs: 4 }], [50, "operation", { operationId: "o", operationKind: "prompt", durationMs: 49, isError: true, error: { name: "E", message: "m" } }]),
  );
  expect(failuresOf(fold).map((span) => span.name)).toEqual(["early", "late"]);
  expect(of(fold, "late").cause).toEqual({ name: "refused", message: "no" });
});

test("rows keep what is above a match, and hide what is folded", () => {
  const fold = foldRun(told(begins, [1, "operation_start", { operationId: "o", operationKind: "prompt" }], [2, "turn_start", { operationId: "o", turnId: "t", purpose: "agent" }], [3, "log", step("pay", 0, 1, "started")]));
  const names = (show: "all" | "failed", find: string, folded: string[]): string[] => rowsOf(fold, { show, find, folded: new Set(folded) }).map((row) => `${row.level} ${row.span.name}`);
  expect(names("all", "", [])).toEqual(["1 prompt", "2 turn 1", "1 pay"]);
  expect(names("all", "", ["o"])).toEqual(["1 prompt", "1 pay"]);
  expect(names("all", "TURN", ["o"])).toEqual(["1 prompt", "2 turn 1"]);
  expect(names("failed", "", [])).toEqual([]);
});

test("the slow path is what the end waited for", () => {
  const done = (name: string, seq: number, from: number, took: number): [number, string, object][] => [[from, "log", step(name, seq, 1, "started")], [from + took, "log", step(name, seq, 1, "finished", took)]];
  const events = [...done("a", 0, 0, 100), ...done("b", 1, 100, 400), ...done("c", 2, 120, 50), ...done("d", 3, 500, 100)].sort(([a], [b]) => a - b);
  const fold = foldRun(told(begins, ...events, [600, "run_end", { isError: false, durationMs: 600, result: null }]));
  expect(slowPath(fold).map((span) => span.name)).toEqual(["d", "b", "a"]);
});

test("a real run that was killed: a band, kept steps, a prompt that is repeated, tools with their inputs", () => {
  const fold = foldRun(restart as unknown as RunEvent[]);
  expect(fold.bands).toHaveLength(1);
  expect(of(fold, "fetch-inbox")).toMatchObject({ state: "kept", bars: [{ from: 1, to: 5_001 }] });
  expect(of(fold, "fetch-inbox").kept).toHaveLength(1);
  expect(of(fold, "sort").bars.map((bar) => bar.state)).toEqual(["failed", "done"]);
  expect([of(fold, "prompt").state, of(fold, "prompt", 1).state]).toEqual(["interrupted", "done"]);
  expect(of(fold, "prompt", 1)).toMatchObject({ note: "Triage the inbox and tell accounts.", facts: { attempts: 2 } });
  expect(of(fold, "list_issues").note).toBe("northwind/ops");
  expect(fold.duration).toBe(31_669);
  for (const event of restart as unknown as RunEvent[]) {
    if (event.type !== "tool") continue;
    const span = [...fold.spans.values()].find((each) => each.facts.toolCallId === event.toolCallId);
    expect((span?.bars[0]?.to ?? 0) - (span?.bars[0]?.from ?? 0)).toBe(event.durationMs);
  }
});

test("a real run that was killed while tools ran: one had finished, of the other nobody knows, and neither is a failure", () => {
  const fold = foldRun(failing as unknown as RunEvent[]);
  const cut = [...fold.spans.values()].filter((span) => span.kind === "tool" && span.state === "interrupted");
  expect(cut.map((span) => span.name)).toEqual(["list_issues"]);
  expect(failuresOf(fold).map((span) => span.name)).toEqual(["send_mail", "send_mail", "write-report"]);
  expect(of(fold, "write-report").cause?.message).toContain("refused the stored credential");
  expect([...fold.spans.values()].filter((span) => span.state === "open")).toEqual([]);
});

test("a real digest of a project that is not there fails at the step that looked for it", () => {
  const fold = foldRun(unknownProject as unknown as RunEvent[]);
  expect(failuresOf(fold).map((span) => [span.name, span.cause])).toEqual([["list files", { name: "ItemNotFound", message: 'There is no project named "nothing".' }]]);
});

test("events that come one by one make the same spans as all at once, and the end of a run those of its end", () => {
  const events = restart as unknown as RunEvent[];
  const tail = foldRun(events.slice(60), events[0]!.timestamp);
  const whole = foldRun(events);
  for (const span of tail.spans.values()) {
    const same = whole.spans.get(span.id);
    if (span.state === "done" && span.kind === "tool") expect(endedAt(span)! - endedAt(same!)!).toBeLessThan(1_000);
  }
  expect(tail.spans.size).toBeGreaterThan(2);
});

test("twenty thousand events are folded within a frame or two", () => {
  const many: [number, string, object][] = [];
  for (let i = 0; i < 10_000; i++) many.push([i * 2, "log", step(`step ${i}`, i, 1, "started")], [i * 2 + 1, "log", step(`step ${i}`, i, 1, "finished", 1)]);
  const events = told(begins, ...many);
  // What it costs, not how long the machine let it wait.
  const before = process.cpuUsage();
  const fold = foldRun(events);
  const rows = rowsOf(fold, { show: "all", find: "", folded: new Set() });
  expect(rows).toHaveLength(10_000);
  expect(process.cpuUsage(before).user / 1_000).toBeLessThan(500);
});
