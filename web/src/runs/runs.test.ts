import { expect, test } from "vitest";
import { SvcError, type RunEvent } from "@svc/sdk";
import { curlOf } from "./curl";
import { doEach } from "./many";
import { argumentOf, resultText, saidOf } from "./message";
import { askedOf, piecesOf, spentOf } from "../chat/turns";
import { hasEnded, merge, since } from "./news";
import { isRunId, statusOf, whyOf, type RunRow } from "./run";
import { foldRun } from "./fold";
import { rowsOf } from "./rows";
import { Talk } from "./talk";
import { check, humane, inputsOf, typedOf } from "./schema";
import restart from "./transcripts/restart.json";
import { moved } from "./useRows";
import { seenOf } from "./window";

function row(runId: string, more: Partial<RunRow> = {}): RunRow {
  return { runId, workflowName: "w", status: "completed", startedAt: "2026-11-17T06:00:00.000Z", scope: "users/ada/labs", ...more };
}

test("a run that was cancelled is stopped, and one that failed says why", () => {
  const cancelled = row("1", { status: "errored", error: { name: "RunCancelled", message: "Cancelled by ada." } });
  expect([statusOf(cancelled), whyOf(cancelled)]).toEqual(["stopped", { name: undefined, message: "Cancelled by ada." }]);
  const failed = row("2", { status: "errored", error: { name: "Error", message: "no such order" } });
  expect([statusOf(failed), whyOf(failed)]).toEqual(["failed", { name: undefined, message: "no such order" }]);
  expect(whyOf(row("3", { status: "errored", error: { name: "ItemNotFound", message: "gone" } }))).toEqual({ name: "ItemNotFound", message: "gone" });
  expect(whyOf(row("4", { status: "errored" }))).toBeUndefined();
  expect(statusOf(row("5", { status: "odd" }))).toBe("unknown");
});

test("rows change in their place, and new ones wait to be asked for", () => {
  const before = [row("b", { status: "active" }), row("a")];
  const fresh = [row("d", { status: "active" }), row("c"), row("b")];
  const shown = merge(before, fresh, new Set(["c"]));
  expect(shown.rows.map((run) => `${run.runId} ${run.status}`)).toEqual(["c completed", "b completed", "a completed"]);
  expect(shown.news.map((run) => run.runId)).toEqual(["d"]);
});

test("what is done to many goes past a refusal, and stops where nobody answers", async () => {
  const full = new SvcError({ status: 409, type: "name_taken", message: "" });
  const lost = new SvcError({ type: "network_error", message: "" });
  const done: string[] = [];
  const act = async (runId: string) => (runId === "full" ? full : runId === "lost" ? lost : { answer: {} });
  expect(await doEach(["a", "full", "b", "lost", "c"], act, (runId) => done.push(runId))).toEqual([full, lost]);
  expect(done).toEqual(["a", "b"]);
});

test("an older answer does not bring a run back to life", () => {
  expect(merge([row("a")], [row("a", { status: "active" })], new Set()).rows[0]?.status).toBe("completed");
});

test("a range ends at the first run that is too old", () => {
  const rows = [row("b", { startedAt: "2026-11-17T06:00:00Z" }), row("a", { startedAt: "2026-11-17T04:00:00Z" })];
  expect(since(rows, Date.parse("2026-11-17T05:00:00Z"))).toEqual({ rows: [rows[0]], whole: true });
  expect(since(rows, undefined)).toEqual({ rows, whole: false });
  expect(hasEnded([row("a", { status: "active" })], [])).toBe(true);
  expect(hasEnded([row("a", { status: "active" })], [row("a", { status: "active" })])).toBe(false);
});

test("an id of a run is known by its form", () => {
  expect([isRunId("run_01M7MM1ACTYG327T32JQKEWGC2"), isRunId("run_1"), isRunId("key_01M7MM1ACTYG327T32JQKEWGC2")]).toEqual([true, false, false]);
});

test("curl starts the same run, whatever is in its input, and holds no key", () => {
  expect(curlOf("http://agents.example/v1/ada/labs", { workflowName: "digest", input: { project: "it's" } })).toBe(
    `curl -X POST 'http://agents.example/v1/ada/labs/workflows/digest' \\\n  -H "Authorization: Bearer $SVC_KEY" \\\n  -H 'Content-Type: application/json' \\\n  --data-raw '{"project":"it'\\''s"}'`,
  );
  expect(curlOf("b", { workflowName: "w" })).not.toContain("--data");
});

const schema = {
  type: "object",
  required: ["month", "limit"],
  properties: {
    month: { type: "string", description: "Which month.", pattern: "^\\d{4}-\\d\\d$" },
    customers: { type: ["null", "array"], items: { type: "string" } },
    limit: { type: "integer", minimum: 1, maximum: 500 },
    dryRun: { type: "boolean" },
    format: { enum: ["pdf", "html"], default: "pdf" },
    note: { type: "string", maxLength: 200 },
    extra: { type: "object" },
  },
};

test("a form has a field for each property of a schema", () => {
  expect(inputsOf(schema)?.map(({ name, kind, label, required }) => [name, kind, label, required])).toEqual([
    ["month", "text", "Month", true], ["customers", "list", "Customers", false], ["limit", "integer", "Limit", true], ["dryRun", "switch", "Dry run", false], ["format", "choice", "Format", false], ["note", "long", "Note", false], ["extra", "json", "Extra", false],
  ]);
  expect([inputsOf(null), inputsOf({ type: "string" }), inputsOf({ type: "object" })]).toEqual([undefined, undefined, undefined]);
  expect([humane("dryRun"), humane("max_files"), humane("x")]).toEqual(["Dry run", "Max files", "X"]);
});

test("what is typed becomes the input, and what is wrong is said by its field", () => {
  const inputs = inputsOf(schema)!;
  const typed = { ...typedOf(inputs), month: "2025-10", customers: "fjordline\n harbor \n", limit: "20", dryRun: "true", extra: '{"a":1}' };
  expect(check(inputs, typed)).toEqual({ value: { month: "2025-10", customers: ["fjordline", "harbor"], limit: 20, dryRun: true, format: "pdf", extra: { a: 1 } }, wrong: {} });
  const wrong = check(inputs, { month: "October", limit: "900", extra: "{", note: "x".repeat(201) }).wrong;
  expect(wrong).toMatchObject({ month: "This is not of the form that is asked for.", limit: "At most 500.", note: "At most 200 characters." });
  expect(wrong["extra"]).toMatch(/^This is no JSON/);
  expect(check(inputs, {}).wrong).toEqual({ month: "This is needed.", limit: "This is needed." });
  expect(check(inputs, { month: "2025-10", limit: "1.5" }).wrong["limit"]).toBe("A whole number is asked for.");
  expect(typedOf(inputs, { customers: ["a", "b"], limit: 3 })).toMatchObject({ customers: "a\nb", limit: "3", format: "pdf" });
});

test("messages are read however much of them is there", () => {
  expect(saidOf({ role: "user", content: "Hello" })?.text).toBe("Hello");
  expect([saidOf(undefined), saidOf({ role: "system", content: "" })]).toEqual([undefined, undefined]);
  expect([argumentOf({ n: 3 }), argumentOf({ deep: {} }), argumentOf({ a: "", b: "two\nlines" })]).toEqual(["3", "", "two"]);
  expect(resultText({ content: [{ type: "text", text: "a" }, { type: "image" }, { type: "text", text: "b" }] })).toBe("a\nb");
});

test("a real conversation: asked once, answered in one turn, with results at their calls, and a seam where a restart was", () => {
  const talk = new Talk();
  for (const event of restart as unknown as RunEvent[]) talk.add(event);
  const turns = talk.turns();
  expect(turns.map(askedOf)).toEqual(["Triage the inbox and tell accounts."]);
  expect(turns[0]?.settlement).toMatchObject({ outcome: "completed", took: 15_386 });
  const pieces = piecesOf(turns[0]?.replies ?? []);
  expect(pieces.slice(0, 4).map((piece) => (piece.kind === "text" ? piece.part.text.trim() : piece.kind))).toEqual(["I will look at the open i", "seam", "I will look at the open issues first.", "tools"]);
  const calls = pieces.flatMap((piece) => (piece.kind === "tools" ? piece.calls : []));
  expect(calls.find((call) => call.toolName === "send_mail")).toMatchObject({ state: "output-error", errorText: "mail was not sent: the e-mail connector needs a new credential", durationMs: 801 });
  expect(calls.find((call) => call.toolName === "list_issues")).toMatchObject({ state: "output-available", input: { repository: "northwind/ops" }, output: ["#12 Login fails", "#13 Slow list"] });
  expect(spentOf(turns[0]?.replies ?? [])).toMatchObject({ tokens: 13_592, model: "rich/large" });
  // What has not changed is the same object, so that it is not drawn again.
  expect(talk.turns()[0]).toBe(turns[0]);
});

test("a prompt that is being answered grows, and its words are those of its events", () => {
  const talk = new Talk();
  for (const event of (restart as unknown as RunEvent[]).slice(0, 16)) talk.add(event);
  expect(talk.turns().map((turn) => [turn.settlement, piecesOf(turn.replies).map((piece) => piece.kind === "text" && [piece.part.text, piece.part.state])])).toEqual([[undefined, [["I will look at the open i", "streaming"]]]]);
});

test("a window draws what can be seen and a little more", () => {
  expect(seenOf(0, 320, 10_000, 32)).toEqual({ from: 0, to: 22 });
  expect(seenOf(32_000, 320, 10_000, 32)).toEqual({ from: 988, to: 1_022 });
  expect(seenOf(0, 320, 3, 32)).toEqual({ from: 0, to: 3 });
});

test("arrows move through the tree as its rows stand", () => {
  const rows = rowsOf(foldRun(restart as unknown as RunEvent[]), { show: "all", find: "", folded: new Set() });
  const prompt = rows.findIndex((row) => row.span.name === "prompt");
  expect([moved("ArrowDown", rows, 0), moved("ArrowUp", rows, 0), moved("End", rows, 0), moved("x", rows, 0)]).toEqual([1, 0, rows.length - 1, undefined]);
  expect([moved("ArrowRight", rows, prompt), moved("ArrowLeft", rows, prompt), moved("ArrowLeft", rows, prompt + 1)]).toEqual([prompt + 1, undefined, prompt]);
});
