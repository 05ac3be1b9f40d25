import { expect, test } from "vitest";
import type { AgentMessage, Pending } from "@svc/react";
import type { Part, ToolPart } from "@svc/sdk";
import { SvcError } from "@svc/sdk";
import { isComposing } from "./composing";
import { whyUnread } from "./ConnectionBar";
import { groupsOf } from "./days";
import { closedBy } from "./door";
import { matchesIn } from "./Find";
import { fixOf } from "./fix";
import { Heights } from "./heights";
import { cutAtWord, longest, Pacer } from "./pace";
import { lacksImages, unsentIn } from "./sendings";
import { standingOf } from "./standing";
import { argumentOf, linkOf, summaryOf, toolName, toolState } from "./tool";
import { traceOf } from "./trace";
import { piecesOf, proseOf, spentOf, Turns } from "./turns";
import { stoppedIn, waitingIn } from "./unsent";

function message(id: string, of: Partial<AgentMessage> = {}): AgentMessage {
  return { id, key: id, role: "assistant", purpose: "assistant", display: "visible", parts: [], metadata: {}, ...of };
}

const asked = (id: string, text: string): AgentMessage => message(`q-${id}`, { role: "user", purpose: "user", submissionId: id, parts: [words(text)] });
const words = (text: string): Part => ({ type: "text", text, state: "done" });
const call = (id: string, of: Partial<ToolPart> = {}): ToolPart => ({ type: "dynamic-tool", toolName: "list_files", toolCallId: id, input: {}, state: "output-available", output: 1, durationMs: 10, ...of });

const pending = (key: string, state: Pending["state"], submissionId?: string): Pending => ({ key, state, message: { kind: "user", body: key }, submissionId, error: undefined, submission: undefined, own: true });

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

test("turns that grow are those that are made at once", () => {
  const growing = new Turns();
  const none = [{ submissionId: "a", outcome: "completed" as const }];
  const stray = message("note", { role: "system", purpose: "advisory" });
  const all = [stray, asked("a", "one"), message("1", { submissionId: "a" }), stray, asked("b", "two"), message("2", { submissionId: "b" }), message("3", { submissionId: "c" }), asked("d", "four"), message("4", { submissionId: "d", pending: {} as Pending })];
  for (let end = 0; end <= all.length; end++) expect(growing.of(all.slice(0, end), none)).toEqual(new Turns().of(all.slice(0, end), none));
  // Any one of them may change, and then it is another object.
  for (const [i, changed] of all.entries()) {
    for (const other of [{ ...changed, parts: [words("more")] }, { ...changed, submissionId: "b" }, { ...changed, purpose: "assistant" as const }]) {
      const next = all.with(i, other);
      expect(growing.of(next, none)).toEqual(new Turns().of(next, none));
      expect(growing.of(all, none)).toEqual(new Turns().of(all, none));
    }
  }
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
  expect(spentOf([message("1", { metadata: { usage } }), message("2", { metadata: { usage, model: { provider: "scripted", id: "words" } } })])).toEqual({ tokens: 6, cost: 1, model: "scripted/words", version: undefined });
  expect([spentOf([message("1", { metadata: { agentVersion: "3" } })]).version, spentOf([message("1", { metadata: { agentVersion: "a3f9" } })]).version]).toEqual(["3", undefined]);
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
  expect(linkOf(call("a", { toolName: "run_workflow", state: "output-error", output: undefined, errorText: '{"runId":"run_2","error":{}}' }))?.page).toBe("runs/run_2");
  expect(linkOf(call("a", { toolName: "ask_agent", input: { agent: "triage" } }))?.page).toBe("agents/triage");
  expect(linkOf(call("a"))).toBeUndefined();
});

test("what is forbidden or gone closes where one writes, with the reason; what may come right does not", () => {
  const refused = (status: number): Pending => ({ ...pending("x", "refused"), error: new SvcError({ type: "refused", message: "No agent named x.", status }) });
  const open = { phase: "live" as const, error: undefined };
  expect([403, 404, 409, 503].map((status) => closedBy({ ...open, pending: [refused(status)] }))).toEqual(["No agent named x.", "No agent named x.", undefined, undefined]);
  expect(closedBy({ phase: "error", error: new SvcError({ type: "forbidden", message: "no", status: 403, meta: { role: "viewer" } }), pending: [] })).toBe("You need the viewer role.");
  expect(closedBy({ phase: "connecting", error: new SvcError({ type: "network_error", message: "no" }), pending: [] })).toBeUndefined();
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
  // Bursts that follow each other closely are not fallen behind.
  for (let i = 1; i <= 100; i++) pacer.grow(200 + 10 * i, 400 + 20 * i);
  expect(pacer.shown).toBeGreaterThan(1_100);
  pacer.grow(50, 3_000);
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

test("the text of a prompt that waits is kept until it is begun, and offered when it was stopped before", () => {
  const none = { messages: [], pending: [], settlements: [] };
  const waits = waitingIn({}, { ...none, pending: [pending("one", "waiting", "a"), pending("two", "sending")] });
  expect(waits).toEqual({ a: { kind: "user", body: "one" } });
  expect(waitingIn(waits, none)).toBe(waits);
  const settlements = [{ submissionId: "a", outcome: "aborted" as const }];
  expect([stoppedIn(waits, none), stoppedIn(waits, { ...none, settlements })]).toEqual([[], ["a"]]);
  // What the page itself offers is not offered twice.
  expect(stoppedIn(waits, { ...none, settlements, pending: [pending("one", "stopped", "a")] })).toEqual([]);
  expect(waitingIn(waits, { ...none, messages: [asked("a", "one")] })).toEqual({});
  // Of an image its name is kept: what is offered says that it is missing.
  const attachments = [{ type: "image" as const, data: "eA==", mimeType: "image/png", filename: "a.png" }];
  const pictured = waitingIn({}, { ...none, pending: [{ ...pending("three", "waiting", "c"), message: { kind: "user", body: "three", attachments } }] });
  expect([lacksImages(pictured["c"]!), pictured["c"]]).toEqual([true, { kind: "user", body: "three", attachments: [{ ...attachments[0], data: "" }] }]);
});

test("a prompt that has no submission is kept with its key, and its images as far as there is room", () => {
  const image = (length: number) => ({ type: "image" as const, data: "x".repeat(length), mimeType: "image/png", filename: "a.png" });
  const sent = (key: string, state: Pending["state"], ...images: ReturnType<typeof image>[]): Pending => ({ ...pending(key, state), message: { kind: "user", body: key, attachments: images }, sending: { idempotencyKey: `key of ${key}` } });
  const all = [sent("one", "sending", image(600_000)), sent("two", "refused", image(600_000)), sent("three", "unknown", image(300_000))];
  const kept = unsentIn([...all, { ...sent("four", "waiting"), submissionId: "a" }, { ...pending("five", "waiting"), own: false }]);
  expect(kept.map(({ state, message, sending }) => [message.body, state, sending.idempotencyKey, lacksImages(message)])).toEqual([
    ["one", "sending", "key of one", false],
    ["two", "refused", "key of two", true],
    ["three", "unknown", "key of three", false],
  ]);
  expect(kept[1]?.message).toMatchObject({ attachments: [{ filename: "a.png", data: "" }] });
  expect(all.some(({ message }) => lacksImages(message))).toBe(false);
});

test("a key belongs to a word that is being composed, also where the browser tells it late", () => {
  expect([{ isComposing: true, keyCode: 27 }, { isComposing: false, keyCode: 229 }, { isComposing: false, keyCode: 27 }].map(isComposing)).toEqual([true, true, false]);
});

test("a conversation that does not come says why", () => {
  const gone = new SvcError({ type: "network_error", message: "no" });
  expect(whyUnread("loading", gone, true)).toBe("The server cannot be reached. Check the connection and try again.");
  expect([whyUnread("loading", undefined, false), whyUnread("loading", undefined, true), whyUnread("error", "odd", true)]).toEqual(["You are offline. This is read when you are back.", "The server has not answered yet. It is asked again.", "This conversation cannot be read."]);
});

const at = (seconds: number): { timestamp: string } => ({ timestamp: new Date(Date.UTC(2026, 10, 17, 6, 0, 0) + seconds * 1_000).toISOString() });

/** A turn that asked two tools at once: 200 ms and 1.5 s, and went on at 5 s. */
const worked = (of: Partial<AgentMessage> = {}): AgentMessage[] => [
  { ...asked("a", "one"), metadata: at(0) },
  message("m1", { submissionId: "a", metadata: at(1), parts: [words("Let me see."), call("t1", { durationMs: 200 }), call("t2", { durationMs: 1_500, state: "output-error", output: undefined, errorText: "no" })] }),
  message("m2", { submissionId: "a", metadata: at(5), parts: [words("Done.")], ...of }),
];

const barsOf = (messages: readonly AgentMessage[], settlements: Parameters<Turns["of"]>[1], running = false): unknown =>
  [...traceOf(new Turns().of(messages, settlements)[0]!, running).spans.values()].map(({ name, state, bars }) => [name, state, bars[0]?.from, bars[0]?.to, bars[0]?.unsure ?? false]);

test("the timeline of a turn has its messages and tools where the conversation tells", () => {
  expect(barsOf(worked(), [{ submissionId: "a", outcome: "completed", took: 7_000 }])).toEqual([
    ["prompt", "done", 0, 7_000, false],
    ["turn 1", "done", 1_000, 3_500, false],
    ["List files", "done", 3_500, 3_700, false],
    ["List files", "failed", 3_500, 5_000, false],
    ["turn 2", "done", 5_000, 7_000, false],
  ]);
});

test("a timeline does not make up an end that nobody recorded, and a turn that runs has none", () => {
  expect(barsOf(worked(), [{ submissionId: "a", outcome: "completed" }])).toMatchObject({ 0: ["prompt", "done", 0, 5_000, true], 4: ["turn 2", "done", 5_000, 5_000, true] });
  expect(barsOf(worked(), [], true)).toMatchObject({ 0: ["prompt", "open", 0, undefined, false], 4: ["turn 2", "open", 5_000, undefined, false] });
});

test("what was stopped ended when its advisory says, and what failed failed in its last turn", () => {
  const advisory = message("entry_submission_aborted_a", { role: "system", purpose: "advisory", display: "diagnostic", metadata: at(6) });
  expect(barsOf([...worked(), advisory], [{ submissionId: "a", outcome: "aborted" }])).toMatchObject({ 0: ["prompt", "interrupted", 0, 6_000, false], 4: ["turn 2", "done", 5_000, 6_000, false] });
  const error = { name: "Error", message: "no", type: "operation_failed", details: "" };
  expect(barsOf(worked(), [{ submissionId: "a", outcome: "failed", error }])).toMatchObject({ 0: ["prompt", "failed", 0, 5_000, true], 4: ["turn 2", "failed", 5_000, 5_000, true] });
});
