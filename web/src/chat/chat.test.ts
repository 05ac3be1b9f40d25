import { expect, test } from "vitest";
import type { AgentMessage, Pending } from "@svc/react";
import type { Part, ToolPart } from "@svc/sdk";
import { groupsOf } from "./days";
import { matchesIn } from "./Find";
import { fixOf } from "./fix";
import { Heights } from "./heights";
import { cutAtWord, longest, Pacer } from "./pace";
import { standingOf } from "./standing";
import { argumentOf, linkOf, summaryOf, toolName, toolState } from "./tool";
import { piecesOf, proseOf, spentOf, Turns } from "./turns";

function message(id: string, of: Partial<AgentMessage> = {}): AgentMessage {
  return { id, key: id, role: "assistant", purpose: "assistant", display: "visible", parts: [], metadata: {}, ...of };
}

const asked = (id: string, text: string): AgentMessage => message(`q-${id}`, { role: "user", purpose: "user", submissionId: id, parts: [words(text)] });
const words = (text: string): Part => ({ type: "text", text, state: "done" });
const call = (id: string, of: Partial<ToolPart> = {}): ToolPart => ({ type: "dynamic-tool", toolName: "list_files", toolCallId: id, input: {}, state: "output-available", output: 1, durationMs: 10, ...of });

test("messages are turns by their submission, and stay the same objects", () => {
  const turns = new Turns();
  const messages = [asked("a", "one"), message("1", { submissionId: "a", parts: [words("x")] }), asked("b", "two")];
  const first = turns.of(messages, []);
  expect(first.map((turn) => [turn.key, turn.replies.length])).toEqual([["q-a", 1], ["q-b", 0]]);
  expect(turns.of([...messages], [])).toBe(first);
  const next = turns.of([...messages, message("2", { submissionId: "b" })], [{ submissionId: "a", outcome: "completed" }]);
  expect(next[0]).not.toBe(first[0]);
  expect(turns.of([...messages, message("2", { submissionId: "b" })], [{ submissionId: "a", outcome: "completed" }])[0]).toStrictEqual(next[0]);
});

test("the advisory of a prompt that never began makes no turn", () => {
  const advisory = message("entry_submission_aborted_b", { role: "system", purpose: "advisory", display: "diagnostic" });
  expect(new Turns().of([advisory], [])).toEqual([]);
  const turns = new Turns().of([asked("a", "one"), advisory], []);
  expect(turns.map((turn) => turn.replies.length)).toEqual([1]);
  expect(piecesOf(turns[0]?.replies ?? [])).toEqual([]);
});

test("calls that stand together are one piece, a restart is a seam, empty messages are none", () => {
  const replies = [
    message("1", { parts: [words("Half"), call("a")] }),
    message("2", { parts: [call("b")] }),
    message("3", { parts: [] }),
    message("entry_recovery_3_stream_continued", { role: "system", purpose: "advisory", display: "hidden" }),
    message("4", { parts: [{ type: "reasoning", text: "hm", state: "done" }, words("done")] }),
  ];
  expect(piecesOf(replies).map((piece) => piece.kind)).toEqual(["text", "tools", "seam", "reasoning", "text"]);
  expect(proseOf({ replies })).toBe("Half\n\ndone");
});

test("what a turn cost is the sum of its messages", () => {
  const usage = { input: 1, output: 2, cacheRead: 0, cacheWrite: 0, totalTokens: 3, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0.5 } };
  expect(spentOf([message("1", { metadata: { usage } }), message("2", { metadata: { usage, model: { provider: "scripted", id: "words" } } })])).toEqual({ tokens: 6, cost: 1, model: "scripted/words" });
});

test("a call stands as its result says, and as unknown where a restart cut it off", () => {
  expect(toolState(call("a", { state: "input-available" }), true)).toBe("running");
  expect(toolState(call("a", { state: "input-available" }), false)).toBe("lost");
  expect(toolState(call("a", { state: "output-error", errorText: "no" }), false)).toBe("failed");
  expect(toolState(call("a", { state: "output-error", errorText: '{"type":"interrupted","message":"x"}' }), false)).toBe("interrupted");
  expect(summaryOf([call("a"), call("b", { state: "output-error", errorText: "no" })], false)).toEqual({ count: 2, ms: 20, failed: 1, running: 0 });
});

test("tools have names and arguments that people read, and lead on", () => {
  expect([toolName("list_files"), toolName("linear__search_issues")]).toEqual(["List files", "linear: search issues"]);
  expect(argumentOf({ project: "ops", depth: 2, deep: { a: 1 } })).toBe("ops · 2");
  expect(linkOf(call("a", { toolName: "run_workflow", output: { runId: "run_1" } }))?.page).toBe("runs/run_1");
  expect(linkOf(call("a"))).toBeUndefined();
});

test("every failure that a person can mend leads to where it is mended", () => {
  expect(fixOf({ type: "model_key_missing", message: "" }, "central").page).toBe("settings/models");
  expect(fixOf({ type: "model_unknown", message: "" }, "triage").page).toBe("agents/triage");
  expect(fixOf(undefined, "central").says).not.toBe("");
});

test("a burst is spread over the gap between bursts, and never longer than may be", () => {
  const pacer = new Pacer(100, 0);
  expect(pacer.shown).toBe(100);
  pacer.grow(200, 100);
  expect(pacer.at(100)).toBe(100);
  expect(pacer.at(150)).toBeGreaterThan(110);
  expect(pacer.at(100 + longest)).toBe(200);
  expect(pacer.behind).toBe(false);
  pacer.grow(50, 400);
  expect(pacer.shown).toBe(50);
  expect(cutAtWord("one two three", 9)).toBe("one two");
});

test("rows are found by where they stand", () => {
  const heights = new Heights();
  const keys = ["a", "b", "c", "d"];
  for (const key of keys) heights.set(key, 100);
  expect(heights.within(keys, 0, 50)).toEqual([0, 1]);
  expect(heights.within(keys, 150, 250)).toEqual([1, 3]);
  expect(heights.within(keys, -500, 5_000)).toEqual([0, 4]);
  expect(heights.set("a", 150)).toBe(50);
  expect([...heights.tops(keys)]).toEqual([0, 150, 250, 350, 450]);
});

test("what was sent stands in the transcript, and behind a reply in the queue", () => {
  const turns = new Turns().of([asked("a", "one")], []);
  const pending = (key: string, state: Pending["state"]): Pending => ({ key, state, message: { kind: "user", body: key }, submissionId: undefined, error: undefined, submission: undefined, own: true });
  const all = [pending("x", "waiting"), pending("y", "refused")];
  const messages = [asked("a", "one"), ...all.map((each) => message(each.key, { role: "user", purpose: "user", pending: each }))];
  const busy = standingOf({ status: "streaming", pending: all, messages }, turns);
  expect(busy.queue.map((each) => each.key)).toEqual(["x"]);
  expect(busy.rows.map((turn) => turn.key)).toEqual(["q-a", "y"]);
  expect(busy.running?.key).toBe("q-a");
  const unread = standingOf({ status: "error", pending: [], messages: [asked("a", "one")] }, turns);
  expect([unread.running, unread.unsure?.key]).toEqual([undefined, "q-a"]);
  const settled = new Turns().of([asked("a", "one")], [{ submissionId: "a", outcome: "completed" }]);
  const idle = standingOf({ status: "submitted", pending: all, messages }, settled);
  expect([idle.queue.length, idle.rows.length, idle.running]).toEqual([0, 3, undefined]);
});

test("conversations are grouped by days", () => {
  const now = new Date(2026, 10, 17, 12);
  const on = (day: number): { usedAt: string } => ({ usedAt: new Date(2026, 10, day, 9).toISOString() });
  expect(groupsOf([on(17), on(17), on(16), on(12), on(2)], now).map((group) => [group.name, group.items.length])).toEqual([["Today", 2], ["Yesterday", 1], ["Last week", 1], ["November 2026", 1]]);
});

test("find looks at questions and replies", () => {
  const turns = new Turns().of([asked("a", "Apples"), message("1", { submissionId: "a", parts: [words("pears")] }), asked("b", "plums")], []);
  expect([matchesIn(turns, "PEAR"), matchesIn(turns, "p").length, matchesIn(turns, " ")]).toEqual([["q-a"], 2, []]);
});
