import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { createClient, SvcError, type Live, type RunEvent, type RunStream } from "@svc/sdk";
import { Clock, Fake, Wire, control, data, event, offset, page, refusal, settle, type Asked } from "./support/fake.js";

const baseUrl = "https://svc.example/v1/ada/personal";

/** Reader collects the events of a run as they come. */
class Reader {
  readonly got: number[] = [];
  readonly stream: RunStream;
  error: unknown;
  ended = false;
  readonly done: Promise<void>;

  constructor(fake: Fake, options: { live?: Live; offset?: string; signal?: AbortSignal; token?: () => string } = {}) {
    const client = createClient({ baseUrl, fetch: fake.fetch, ...(options.token && { token: options.token }) });
    this.stream = client.runs.stream("run_1", options);
    this.done = this.stream
      .forEach((e: RunEvent) => void this.got.push(e.eventIndex))
      .catch((error) => void (this.error = error))
      .finally(() => (this.ended = true));
  }
}

const live = (asked: Asked): string | null => asked.url.searchParams.get("live");
const from = (asked: Asked): string | null => asked.url.searchParams.get("offset");
const numbers = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

test("data counts when its control frame has come, and a cut between them loses and doubles nothing", async () => {
  const wires: Wire[] = [];
  const fake = new Fake((asked) => {
    const wire = new Wire(asked.signal);
    wires.push(wire);
    return wire.sse();
  });
  const reader = new Reader(fake);
  await settle();
  wires[0]!.send(data(event(0)), control(0, {}), data(event(1), event(2)));
  await settle();
  assert.deepEqual(reader.got, [0]);
  assert.equal(reader.stream.offset, offset(0));
  wires[0]!.break();
  while (wires.length < 2) await settle(1);
  assert.equal(from(fake.last), offset(0));
  // A server that splits pages elsewhere repeats an event: it is dropped by its index.
  wires[1]!.send(data(event(0), event(1), event(2)), control(2, { streamClosed: true }));
  await reader.done;
  assert.deepEqual(reader.got, numbers(3));
  assert.equal(reader.stream.offset, offset(2));
  assert.equal(reader.stream.closed, true);
  assert.equal(fake.asked.length, 2);
});

test("a reader who asks is told how the stream stands: of what passes, and that it is read again", async () => {
  let answers = 0;
  const fake = new Fake(() => (++answers === 2 ? refusal(503, "runtime_unavailable") : new Wire().send(control(0, answers > 2 ? { streamClosed: true } : {})).end().sse()));
  const health: (string | undefined)[] = [];
  const client = createClient({ baseUrl, fetch: fake.fetch, timing: { backoff: 0 } });
  for await (const _ of client.runs.stream("run_1", { onHealth: (failure) => void health.push(failure?.type) }));
  assert.deepEqual(health, [undefined, "runtime_unavailable", undefined]);
});

test("the offset moves when the last event of a batch has been dealt with", async () => {
  const fake = new Fake(() => new Wire().send(data(event(0), event(1)), control(1, {}), data(event(2)), control(2, { streamClosed: true })).sse());
  const stream = createClient({ baseUrl, fetch: fake.fetch }).runs.stream("run_1");
  const seen: string[] = [];
  for await (const { eventIndex } of stream) seen.push(`${eventIndex} at ${stream.offset}`);
  assert.deepEqual(seen, ["0 at -1", "1 at -1", `2 at ${offset(1)}`]);
});

test("a reader that stops within a batch goes on behind the last event that it was given", async () => {
  const fake = new Fake((asked) => {
    const first = from(asked) === "-1" ? 0 : 2;
    return new Wire().send(...(first === 0 ? [data(event(0), event(1)), control(1, {})] : []), data(event(2)), control(2, { streamClosed: true })).sse();
  });
  const stream = createClient({ baseUrl, fetch: fake.fetch }).runs.stream("run_1");
  const got: number[] = [];
  for await (const { eventIndex } of stream) if (got.push(eventIndex) === 1) break;
  assert.equal(stream.offset, "-1");
  for await (const { eventIndex } of stream) got.push(eventIndex);
  assert.deepEqual(got, [0, 1, 2]);
});

test("a callback that fails ends the reading before its batch counts", async () => {
  const fake = new Fake(() => new Wire().send(data(event(0)), control(0, {}), data(event(1), event(2)), control(2, {})).sse());
  const stream = createClient({ baseUrl, fetch: fake.fetch }).runs.stream("run_1");
  const broken = stream.forEach(async ({ eventIndex }) => {
    if (eventIndex === 1) throw new Error("no room");
  });
  await assert.rejects(broken, /no room/);
  assert.equal(stream.offset, offset(0));
});

test("a stream that is held back becomes a long-poll, and server-sent events again later", async (t) => {
  const clock = new Clock(t);
  let held = true;
  const fake = new Fake((asked) => {
    const next = Number(from(asked)!.split("_")[1] ?? -1) + 1;
    if (live(asked) === "sse") {
      const wire = new Wire(asked.signal);
      return held ? wire.sse() : wire.send(data(event(next)), control(next)).sse();
    }
    return new Promise((resolve) => setTimeout(() => resolve(page([event(next)], next, { "stream-cursor": "17" })), 10_000));
  });
  const reader = new Reader(fake);
  await clock.advance(4_900, 100);
  assert.deepEqual(fake.asked.map(live), ["sse"]);
  await clock.advance(1_000, 100);
  assert.deepEqual(fake.asked.map(live), ["sse", "long-poll"]);
  await clock.advance(30_000, 500);
  assert.deepEqual(reader.got, [0, 1, 2]);
  assert.equal(fake.last.url.searchParams.get("cursor"), "17");
  // After a minute it is tried again, and is held back again: now for two.
  await clock.advance(45_000, 500);
  assert.equal(fake.asked.filter((asked) => live(asked) === "sse").length, 2);
  await clock.advance(100_000, 500);
  assert.equal(fake.asked.filter((asked) => live(asked) === "sse").length, 2);
  held = false;
  await clock.advance(15_000, 500);
  assert.equal(live(fake.last), "sse");
  const before = fake.asked.length;
  await clock.advance(25_000, 500);
  assert.equal(fake.asked.length, before, "it stays with what works");
  assert.deepEqual(reader.got, numbers(reader.got.length), "nothing is lost or doubled on the way");
  reader.stream.cancel();
});

test("a stream that falls silent in the middle becomes a long-poll from where it was", async (t) => {
  const clock = new Clock(t);
  const fake = new Fake((asked) => (live(asked) === "sse" ? new Wire(asked.signal).send(data(event(0)), control(0)).sse() : page([event(1)], 1, { "stream-closed": "true" })));
  const reader = new Reader(fake);
  await clock.advance(44_000, 1_000);
  assert.deepEqual(reader.got, [0]);
  assert.equal(fake.asked.length, 1);
  await clock.advance(3_000, 100);
  await reader.done;
  assert.deepEqual(fake.asked.map(live), ["sse", "long-poll"]);
  assert.equal(from(fake.last), offset(0));
  assert.deepEqual(reader.got, [0, 1]);
});

test("heartbeats keep a silent stream", async (t) => {
  const clock = new Clock(t);
  const wire = new Wire();
  const fake = new Fake(() => wire.send(control(-1)).sse());
  const reader = new Reader(fake);
  for (let i = 0; i < 40; i++) {
    await clock.advance(15_000);
    wire.send(": heartbeat\n\n");
  }
  wire.send(data(event(0)), control(0, { streamClosed: true }));
  await reader.done;
  assert.equal(fake.asked.length, 1);
  assert.deepEqual(reader.got, [0]);
});

test("streams that are cut at once become a long-poll", async (t) => {
  const clock = new Clock(t);
  const fake = new Fake((asked) => (live(asked) === "sse" ? new Wire().send(control(-1)).end().sse() : page([event(0)], 0, { "stream-closed": "true" })));
  const reader = new Reader(fake);
  await clock.advance(5_000, 50);
  await reader.done;
  assert.deepEqual(fake.asked.map(live), ["sse", "sse", "sse", "long-poll"]);
});

for (const way of ["sse", "long-poll"] as const) {
  test(`a reader who asks for ${way} gets nothing else`, async (t) => {
    const clock = new Clock(t);
    const fake = new Fake((asked, n) => {
      if (n < 6) throw new TypeError("fetch failed");
      return live(asked) === "sse" ? new Wire().send(data(event(0)), control(0, { streamClosed: true })).sse() : page([event(0)], 0, { "stream-closed": "true" });
    });
    const reader = new Reader(fake, { live: way });
    await clock.advance(60_000, 50);
    await reader.done;
    assert.deepEqual(reader.got, [0]);
    assert.deepEqual(new Set(fake.asked.map(live)), new Set([way]));
  });
}

test("pauses grow by chance up to half a minute, and begin anew after progress", async (t) => {
  const clock = new Clock(t);
  t.mock.method(Math, "random", () => 0.999);
  let works = false;
  const fake = new Fake((asked) => {
    if (!works) throw new TypeError("fetch failed");
    works = false;
    const next = Number(from(asked)!.split("_")[1] ?? -1) + 1;
    return new Wire().send(data(event(next)), control(next)).end().sse();
  });
  const reader = new Reader(fake);
  await clock.advance(300_000, 50);
  const gaps = fake.asked.slice(1).map((asked, i) => asked.at - fake.asked[i]!.at);
  for (let i = 0; i < 8; i++) assert.ok(Math.abs(gaps[i]! - 100 * 2 ** i) <= 50, `pause ${i} is ${gaps[i]}`);
  assert.ok(gaps.slice(10).every((gap) => Math.abs(gap - 30_000) <= 50), "half a minute is the most");
  works = true;
  while (reader.got.length === 0) await clock.advance(50);
  const worked = fake.asked.length - 1;
  await clock.advance(1_000, 50);
  const [first = 0, second = 0, third = 0] = fake.asked.slice(worked).map((asked) => asked.at);
  assert.ok(second - first <= 150 && third - second <= 250, "it is quick again");
  assert.deepEqual(reader.got, [0]);
  reader.stream.cancel();
});

test("Retry-After is heeded, and what cannot get better is thrown", async (t) => {
  const clock = new Clock(t);
  const fake = new Fake((_, n) => (n === 0 ? refusal(503, "runtime_unavailable", { "retry-after": "7" }) : refusal(404, "run_not_found")));
  const reader = new Reader(fake);
  await clock.advance(6_900, 100);
  assert.equal(fake.asked.length, 1);
  await clock.advance(1_000, 100);
  await reader.done;
  const error = reader.error as SvcError;
  assert.ok(error instanceof SvcError);
  assert.deepEqual([error.type, error.status, error.requestId], ["run_not_found", 404, "req_01K0WEZ7H3Q9V5B2C8D4F6G1JK"]);
});

test("a Retry-After that is far away is ten minutes", async (t) => {
  const clock = new Clock(t);
  for (const far of [String(30 * 24 * 3600), "9".repeat(400), "Fri, 31 Dec 9999 23:59:59 GMT"]) {
    const fake = new Fake((_, n) => (n === 0 ? refusal(503, "runtime_unavailable", { "retry-after": far }) : refusal(404, "run_not_found")));
    const reader = new Reader(fake);
    await clock.advance(599_000, 1_000);
    assert.equal(fake.asked.length, 1, far);
    await clock.advance(2_000, 100);
    assert.equal(fake.asked.length, 2, far);
    await reader.done;
  }
});

test("a pause that is longer than a timer can be does not end at once", async (t) => {
  t.mock.method(Math, "random", () => 0.5);
  const fake = new Fake(() => {
    throw new TypeError("fetch failed");
  });
  const stream = createClient({ baseUrl, fetch: fake.fetch, timing: { backoff: 2 ** 40, backoffMax: 2 ** 40 } }).runs.stream("run_1");
  const done = stream.forEach(() => {});
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(fake.asked.length, 1);
  stream.cancel();
  await done;
});

test("a server that answers long-polls at once with nothing is not besieged", async (t) => {
  const clock = new Clock(t);
  const fake = new Fake(() => page([], -1));
  const reader = new Reader(fake, { live: "long-poll" });
  await clock.advance(60_000, 50);
  assert.ok(fake.asked.length < 30, `${fake.asked.length} requests in a minute`);
  reader.stream.cancel();
});

test("now is looked up before it is followed, so that nothing falls between two connections", async () => {
  const fake = new Fake((asked) => {
    if (from(asked) === "now") return page([], 41);
    return new Wire().send(data(event(42)), control(42, { streamClosed: true })).sse();
  });
  const reader = new Reader(fake, { offset: "now" });
  await reader.done;
  assert.deepEqual(reader.got, [42]);
  assert.deepEqual(fake.asked.map((asked) => [from(asked), live(asked)]), [["now", null], [offset(41), "sse"]]);
});

test("pages are read until they are up to date", async () => {
  const fake = new Fake((_, n) => page([event(2 * n), event(2 * n + 1)], 2 * n + 1, n === 2 ? { "stream-up-to-date": "true" } : {}));
  const events = await createClient({ baseUrl, fetch: fake.fetch }).runs.events("run_1");
  assert.deepEqual(events.map((e) => e.eventIndex), numbers(6));
  assert.deepEqual(fake.asked.map(from), ["-1", offset(1), offset(3)]);
});

test("what is no stream, no JSON or no event of ours is not taken for one", async (t) => {
  const clock = new Clock(t);
  const answers = [
    () => new Response("<html>sign in to this network</html>", { headers: { "content-type": "text/html" } }),
    () => new Wire().send("event: control\ndata:{}\n\n").end().sse(),
    () => new Wire().send("event: data\ndata:[{\n\n").end().sse(),
    () => new Wire().send(data({ ...event(0), v: 4 }), control(0)).sse(),
  ];
  const fake = new Fake((_, n) => answers[n]!());
  const reader = new Reader(fake, { live: "sse" });
  await clock.advance(5_000, 50);
  await reader.done;
  assert.equal(fake.asked.length, 4);
  assert.equal((reader.error as SvcError).type, "product_event_version_unsupported");
  assert.deepEqual((reader.error as SvcError).meta, { storedVersion: 4, supportedVersion: 3 });
});

test("a signal ends a reader wherever it waits, with its reason", async (t: TestContext) => {
  const clock = new Clock(t);
  const waits: [string, () => Response | Promise<Response>][] = [
    ["the answer", () => new Promise(() => {})],
    ["the next bytes", () => new Wire().send(control(-1)).sse()],
    ["the next attempt", () => refusal(503, "runtime_unavailable", { "retry-after": "20" })],
  ];
  for (const [where, answer] of waits) {
    const stop = new AbortController();
    const reader = new Reader(new Fake(answer), { signal: stop.signal });
    await clock.advance(200, 50);
    assert.equal(reader.ended, false, where);
    stop.abort(new Error("enough"));
    await settle();
    assert.equal(reader.ended, true, where);
    assert.match(String(reader.error), /enough/, where);
  }
});

test("cancel ends a reader in silence, and lets go of its connection", async () => {
  let wire!: Wire;
  const fake = new Fake((asked) => (wire = new Wire(asked.signal)).send(control(-1)).sse());
  const reader = new Reader(fake);
  await settle();
  assert.equal(wire.open, true);
  reader.stream.cancel();
  await reader.done;
  assert.equal(reader.error, undefined);
  assert.equal(wire.open, false);
});
