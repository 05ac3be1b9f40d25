import assert from "node:assert/strict";
import { test } from "node:test";
import { createClient, SvcError } from "@svc/sdk";
import { Clock, Fake, Wire, control, data, event, offset, refusal, settle, type Asked } from "./support/fake.js";

const baseUrl = "https://svc.example/v1/ada/personal";
const minute = 60_000;

/** Guarded is a service whose tokens last for a quarter of an hour, and whose streams end soon after theirs. */
class Guarded {
  events = 0;
  issued = 0;
  asking = 0;
  together = 0;
  refused = 0;
  readonly #expiry = new Map<string, number>();
  readonly #wires = new Map<Wire, { kind: "run" | "agent"; token: string }>();
  readonly fake = new Fake((asked) => this.#answer(asked));

  /** token gives a new one, as a call to somebody else would, in its time. */
  token = async (): Promise<string> => {
    this.together = Math.max(this.together, ++this.asking);
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    this.asking--;
    const token = `t${++this.issued}`;
    this.#expiry.set(token, Date.now() + 15 * minute);
    return token;
  };

  #answer(asked: Asked): Response {
    const token = asked.headers.get("authorization")?.replace("Bearer ", "") ?? "";
    if (!this.#valid(token)) {
      this.refused++;
      return refusal(401, "unauthenticated");
    }
    if (asked.url.searchParams.get("view") === "history") {
      return Response.json({ v: 1, conversationId: "conv_1", offset: offset(-1), messages: [], settlements: [] });
    }
    const kind = asked.url.pathname.includes("/runs/") ? "run" : "agent";
    const wire = new Wire(asked.signal);
    const next = Number(asked.url.searchParams.get("offset")!.split("_")[1] ?? -1) + 1;
    for (let i = next; i < this.events; i++) wire.send(data(item(kind, i)), control(i, {}));
    wire.send(control(this.events - 1));
    this.#wires.set(wire, { kind, token });
    return wire.sse();
  }

  #valid(token: string): boolean {
    return (this.#expiry.get(token) ?? 0) > Date.now();
  }

  /** beat sends heartbeats, and ends the streams of those who may no longer read. */
  beat(): void {
    for (const [wire, { token }] of this.#wires) {
      if (this.#valid(token)) wire.send(": heartbeat\n\n");
      else wire.end();
      if (!wire.open) this.#wires.delete(wire);
    }
  }

  tell(): void {
    const i = this.events++;
    for (const [wire, { kind }] of this.#wires) wire.send(data(item(kind, i)), control(i));
  }
}

function item(kind: "run" | "agent", i: number): unknown {
  if (kind === "run") return event(i);
  const message = { id: `entry_${i}`, role: "user", purpose: "user", display: "visible", parts: [], metadata: {} };
  return { type: "message-appended", conversationId: "conv_1", message, position: { batch: i, index: 0 } };
}

test("24 hours with tokens of 15 minutes: no stream is lost, and one request asks for all", async (t) => {
  const clock = new Clock(t);
  const service = new Guarded();
  const client = createClient({ baseUrl, fetch: service.fake.fetch, token: service.token });
  const stream = client.runs.stream("run_1");
  const got: number[] = [];
  void stream.forEach((e) => void got.push(e.eventIndex));
  const conversation = client.agents.observe("assistant", "day");
  const phases = new Set<string>();
  conversation.subscribe(() => void phases.add(conversation.getSnapshot().phase));

  for (let second = 0; second < 24 * 3600; second += 15) {
    await clock.advance(15_000, 5_000);
    service.beat();
    if (second % 60 === 0) service.tell();
  }
  await clock.advance(5_000, 1_000);

  assert.equal(service.events, 1440);
  assert.deepEqual(got, Array.from({ length: 1440 }, (_, i) => i), "each event came once");
  assert.deepEqual(conversation.getSnapshot().messages.map((m) => m.id), got.map((i) => `entry_${i}`), "so did each message");
  assert.equal(service.together, 1, "one request asks for a token");
  assert.ok(service.issued >= 94 && service.issued <= 97, `${service.issued} tokens in a day`);
  assert.ok(!phases.has("error"), [...phases].join());
  stream.cancel();
  conversation.close();
});

test("requests that are refused together ask for one token", async () => {
  let issued = 0;
  const fake = new Fake((asked) => (asked.headers.get("authorization") === "Bearer t2" ? Response.json({ submissions: [] }) : refusal(401, "unauthenticated")));
  const client = createClient({ baseUrl, fetch: fake.fetch, token: async () => `t${++issued}` });
  await Promise.all(Array.from({ length: 20 }, () => client.agents.submissions("a", "b")));
  assert.equal(issued, 2);
  assert.equal(fake.asked.length, 40);
});

test("a token that is refused although it is new is the end", async () => {
  let issued = 0;
  const fake = new Fake(() => refusal(401, "invalid_api_key"));
  const client = createClient({ baseUrl, fetch: fake.fetch, token: () => `t${++issued}` });
  await assert.rejects(client.agents.history("a", "b"), { name: "SvcError", type: "invalid_api_key", status: 401 });
  assert.equal(issued, 2);
  // Somebody may sign in meanwhile: the next request asks again.
  await assert.rejects(client.agents.history("a", "b"), { status: 401 });
  assert.equal(issued, 3);
});

test("a fixed token that is refused is not tried twice", async () => {
  const fake = new Fake(() => refusal(401, "invalid_api_key"));
  await assert.rejects(createClient({ baseUrl, fetch: fake.fetch, token: "t" }).runs.get("run_1"), { status: 401 });
  assert.equal(fake.asked.length, 1);
});

test("a stream outlives a token that cannot be had for a while, unless it is told that there will be none", async (t) => {
  const clock = new Clock(t);
  let asked = 0;
  const fake = new Fake(() => new Wire().send(data(event(0)), control(0, { streamClosed: true })).sse());
  const token = (): string => {
    if (++asked < 5) throw new Error("the sign-in service is away");
    return "t";
  };
  const got: number[] = [];
  const done = createClient({ baseUrl, fetch: fake.fetch, token }).runs.stream("run_1").forEach((e) => void got.push(e.eventIndex));
  await clock.advance(10_000, 50);
  await done;
  assert.deepEqual([got, asked], [[0], 5]);

  const gone = (): never => {
    throw new SvcError({ type: "signed_out", message: "You signed out.", status: 401 });
  };
  await assert.rejects(createClient({ baseUrl, fetch: fake.fetch, token: gone }).runs.stream("run_1").forEach(() => {}), { type: "signed_out" });
});

test("credentials that never come are given up, and asked for again by the next request", async (t) => {
  const clock = new Clock(t);
  for (const name of ["token", "headers"] as const) {
    let asked = 0;
    const later = async <T>(given: T): Promise<T> => {
      if (++asked === 1) await new Promise(() => {});
      return given;
    };
    const credentials = name === "token" ? { token: () => later("t") } : { headers: () => later({ authorization: "Bearer t" }) };
    const fake = new Fake(() => Response.json({ submissions: [] }));
    const client = createClient({ baseUrl, fetch: fake.fetch, ...credentials, timing: { patience: -1 } });
    let error: unknown;
    void client.agents.submissions("a", "b").catch((thrown) => (error = thrown));
    await clock.advance(minute + 1_000, 1_000);
    assert.ok(error instanceof SvcError && error.type === "credentials_error", name);
    assert.deepEqual(await client.agents.submissions("a", "b"), []);
    assert.deepEqual([asked, fake.last.headers.get("authorization")], [2, "Bearer t"]);
  }
});

test("headers are asked for each time, and win over the token", async () => {
  let n = 0;
  const fake = new Fake(() => Response.json({ submissions: [] }));
  const client = createClient({ baseUrl, fetch: fake.fetch, token: "t", headers: async () => ({ "x-n": String(++n), ...(n === 2 && { Authorization: "Basic x" }) }) });
  await client.agents.submissions("a", "b");
  await client.agents.submissions("a", "b");
  assert.deepEqual(fake.asked.map((a) => [a.headers.get("x-n"), a.headers.get("authorization")]), [["1", "Bearer t"], ["2", "Basic x"]]);
  await settle();
});
