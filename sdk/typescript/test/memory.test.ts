import assert from "node:assert/strict";
import { setImmediate as immediate } from "node:timers/promises";
import { test } from "node:test";
import { createClient, type Chunk } from "@svc/sdk";
import { Fake, control, data, event, offset } from "./support/fake.js";

const baseUrl = "https://svc.example/v1/ada/personal";
const many = 100_000;
const perFrame = 50;

/** flow answers with frames as they are taken, and cuts each connection after a while. */
function flow(item: (i: number) => unknown): Fake {
  return new Fake((asked) => {
    let i = Number(asked.url.searchParams.get("offset")!.split("_")[1] ?? -1) + 1;
    const end = Math.min(i + many / 5, many);
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        const batch = Array.from({ length: perFrame }, () => item(i++));
        const last = i === many ? { streamClosed: true } : {};
        controller.enqueue(new TextEncoder().encode(data(...batch) + control(i - 1, last)));
        if (i >= end) controller.close();
      },
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  });
}

async function heap(): Promise<number> {
  for (let i = 0; i < 3; i++) {
    await immediate();
    globalThis.gc!();
  }
  return process.memoryUsage().heapUsed / 2 ** 20;
}

test("a reader of 100,000 events holds no more at the end than at the beginning", { skip: !globalThis.gc && "needs --expose-gc" }, async (t) => {
  const fake = flow(event);
  const stream = createClient({ baseUrl, fetch: fake.fetch, timing: { backoff: 0 } }).runs.stream("run_1");
  let [n, early] = [0, 0];
  for await (const _ of stream) if (++n === many / 10) early = await heap();
  const late = await heap();
  t.diagnostic(`${early.toFixed(1)} MB after ${many / 10} events, ${late.toFixed(1)} MB after ${n}, over ${fake.asked.length} connections`);
  assert.equal(n, many);
  assert.equal(fake.asked.length, 5);
  assert.ok(late - early < 2, `grown by ${(late - early).toFixed(1)} MB`);
});

test("an observer of 100,000 words holds the words, and nothing for each update", { skip: !globalThis.gc && "needs --expose-gc" }, async (t) => {
  const position = (batch: number): object => ({ conversationId: "conv_1", position: { batch, index: 0 } });
  const item = (i: number): unknown =>
    i === 0 ? { type: "message-started", messageId: "entry_1", ...position(i) } : { type: "message-delta", messageId: "entry_1", kind: "text", delta: "word ", ...position(i) };
  const fake = flow(item);
  const from = { conversationId: "conv_1", messages: [], settlements: [], offset: offset(-1) };
  let [updates, early] = [0, 0];
  const onUpdate = (_: Chunk): void | Promise<void> => {
    if (++updates === many / 10) return heap().then((used) => void (early = used));
  };
  const observation = createClient({ baseUrl, fetch: fake.fetch, timing: { backoff: 0 } }).agents.observe("a", "b", { from, onUpdate });
  for await (const state of observation) if (state.offset === offset(many - 1)) break;
  observation.close();
  const late = await heap();
  const part = observation.getSnapshot().messages[0]!.parts[0]!;
  assert.ok(part.type === "text");
  assert.equal(part.text.length, 5 * (many - 1));
  t.diagnostic(`${early.toFixed(1)} MB after ${many / 10} updates, ${late.toFixed(1)} MB after ${updates}`);
  assert.ok(late - early < 8, `grown by ${(late - early).toFixed(1)} MB`);
});
