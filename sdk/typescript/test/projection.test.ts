import assert from "node:assert/strict";
import { test } from "node:test";
import { Projection, type Chunk, type Message, type Part } from "@svc/sdk";

type Loose = { type: Chunk["type"] } & Record<string, unknown>;

/** Log numbers chunks as a service does: one batch each, or with `with` in the batch before. */
class Log {
  readonly chunks: Chunk[] = [];
  #batch = -1;
  #index = 0;

  add(...chunks: Loose[]): this {
    this.#batch++;
    this.#index = 0;
    for (const chunk of chunks) {
      const position = { batch: this.#batch, index: this.#index++ };
      this.chunks.push({ conversationId: "conv_1", ...chunk, position } as unknown as Chunk);
    }
    return this;
  }
}

const reset: Loose = { type: "conversation-reset", snapshot: { v: 1, conversationId: "conv_1", offset: "x", messages: [], settlements: [] } };
const user = (id: string): Message => ({
  id,
  role: "user",
  purpose: "user",
  display: "visible",
  parts: [{ type: "text", text: "hello", state: "done" }],
  metadata: { timestamp: "2026-07-01T12:00:00.120Z" },
});
const started = (messageId: string): Loose => ({ type: "message-started", messageId, timestamp: "2026-07-01T12:00:01.120Z", submissionId: "s", turnId: "t", model: { provider: "acme", id: "large" } });
const delta = (messageId: string, text: string, kind = "text"): Loose => ({ type: "message-delta", messageId, kind, delta: text });
const completed = (messageId: string): Loose => ({ type: "message-completed", messageId, usage: { input: 1 } });

function fold(log: Log): Projection {
  const projection = new Projection();
  for (const chunk of log.chunks) projection.apply(chunk);
  return projection;
}

const states = (log: Log): unknown[] => fold(log).view().messages.at(-1)!.parts.map((part: Part) => [part.type, "state" in part && part.state]);

test("a reply grows, and is done when it is completed", () => {
  const log = new Log().add(reset).add({ type: "message-appended", message: user("u") }).add(started("a")).add(delta("a", "Hel"), delta("a", "lo"));
  assert.deepEqual(fold(log).view().messages[1], {
    id: "a",
    role: "assistant",
    purpose: "assistant",
    display: "visible",
    submissionId: "s",
    turnId: "t",
    parts: [{ type: "text", text: "Hello", state: "streaming" }],
    metadata: { timestamp: "2026-07-01T12:00:01.120Z", model: { provider: "acme", id: "large" } },
  });
  log.add(completed("a"), { type: "submission-settled", submissionId: "s", outcome: "completed" });
  const { messages, settlements } = fold(log).view();
  assert.deepEqual(messages[1]!.parts, [{ type: "text", text: "Hello", state: "done" }]);
  assert.deepEqual(messages[1]!.metadata.usage, { input: 1 });
  assert.deepEqual(settlements, [{ submissionId: "s", outcome: "completed" }]);
});

test("a part is done at the first word of the next, and at a tool call", () => {
  const log = new Log().add(reset).add(started("a")).add(delta("a", "hm", "reasoning"), delta("a", "Yes"));
  assert.deepEqual(states(log), [["reasoning", "done"], ["text", "streaming"]]);
  log.add({ type: "tool-input", messageId: "a", toolCallId: "c", toolName: "add", input: { a: 1 } });
  log.add({ type: "tool-input", messageId: "a", toolCallId: "c", toolName: "again", input: {} });
  assert.deepEqual(states(log), [["reasoning", "done"], ["text", "done"], ["dynamic-tool", "input-available"]]);
});

test("a snapshot in which the next part has begun without a word goes on as the service does", () => {
  const message: Message = { ...user("a"), role: "assistant", parts: [{ type: "reasoning", text: "hm", state: "streaming" }, { type: "text", text: "", state: "streaming" }] };
  const projection = new Projection({ conversationId: "conv_1", messages: [message], settlements: [] });
  projection.apply({ ...delta("a", "Yes"), conversationId: "conv_1", position: { batch: 9, index: 0 } } as unknown as Chunk);
  assert.deepEqual(projection.view().messages[0]!.parts, [{ type: "reasoning", text: "hm", state: "done" }, { type: "text", text: "Yes", state: "streaming" }]);
});

test("a tool's result goes to the last message that called it", () => {
  const call = (messageId: string): Loose => ({ type: "tool-input", messageId, toolCallId: "c", toolName: "add", input: {} });
  const log = new Log().add(reset).add(started("a"), call("a"), completed("a")).add({ type: "tool-output", toolCallId: "c", output: 1, durationMs: 0 });
  log.add(started("b"), call("b"), completed("b")).add({ type: "tool-output-error", toolCallId: "c", errorText: "no" });
  const [a, b] = fold(log).view().messages.map((message) => message.parts[0]);
  assert.deepEqual(a, { type: "dynamic-tool", toolName: "add", toolCallId: "c", input: {}, state: "output-available", output: 1, durationMs: 0 });
  assert.deepEqual(b, { type: "dynamic-tool", toolName: "add", toolCallId: "c", input: {}, state: "output-error", errorText: "no" });
});

test("what comes twice changes nothing, whatever was repeated", () => {
  const log = new Log().add(reset).add({ type: "message-appended", message: user("u") }).add(started("a")).add(delta("a", "a"), delta("a", "b")).add(delta("a", "c")).add(completed("a"));
  const want = fold(log).view();
  for (let from = 0; from < log.chunks.length; from++) {
    for (let to = from; to <= log.chunks.length; to++) {
      const projection = new Projection();
      for (const chunk of [...log.chunks.slice(0, to), ...log.chunks.slice(from)]) projection.apply(chunk);
      assert.deepEqual(projection.view(), want);
    }
  }
});

test("what names no message that is known, and what is of an unknown kind, is passed over", () => {
  const log = new Log().add(reset).add(delta("nobody", "x"), completed("nobody"), { type: "tool-output", toolCallId: "none", output: 1 });
  log.add({ type: "message-applauded" as Chunk["type"], messageId: "nobody" });
  assert.deepEqual(fold(log).view().messages, []);
});

test("finished messages are the same objects while one streams, and views never change", () => {
  const log = new Log().add(reset).add({ type: "message-appended", message: user("u") });
  log.add(started("a"), delta("a", "one"), completed("a")).add({ type: "message-appended", message: user("v") }).add(started("b"));
  const projection = fold(log);
  const before = projection.view();
  assert.equal(projection.view(), before, "without news it is the same view");
  const kept = structuredClone(before);
  const shown = [before];
  for (let i = 0; i < 50; i++) {
    projection.apply({ ...delta("b", `w${i} `), conversationId: "conv_1", position: { batch: 100 + i, index: 0 } } as unknown as Chunk);
    if (i % 3 === 0) shown.push(projection.view());
  }
  const after = projection.view();
  assert.notEqual(after, before);
  for (let i = 0; i < 3; i++) assert.equal(after.messages[i], before.messages[i], `message ${i}`);
  assert.notEqual(after.messages[3], before.messages[3]);
  assert.deepEqual(before, kept, "what was shown stays as it was");
  assert.deepEqual(shown.slice(1).map((view) => (view.messages[3]!.parts[0] as { text: string }).text.trim().split(" ").length), shown.slice(1).map((_, i) => 3 * i + 1));
});

test("a message that is sent again is replaced where it stands", () => {
  const log = new Log().add(reset).add({ type: "message-appended", message: user("u") }).add({ type: "message-appended", message: user("v") });
  log.add({ type: "message-appended", message: { ...user("u"), display: "hidden" } });
  assert.deepEqual(fold(log).view().messages.map((m) => [m.id, m.display]), [["u", "hidden"], ["v", "visible"]]);
});

test("a settlement that comes again replaces the first", () => {
  const error = { name: "Error", message: "m", type: "operation_failed", details: "" };
  const log = new Log().add(reset).add({ type: "submission-settled", submissionId: "s", outcome: "completed" });
  log.add({ type: "submission-settled", submissionId: "s", outcome: "failed", error });
  assert.deepEqual(fold(log).view().settlements, [{ submissionId: "s", outcome: "failed", error }]);
});
