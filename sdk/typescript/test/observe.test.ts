import assert from "node:assert/strict";
import { test } from "node:test";
import { createClient, SvcError, type Chunk, type ConversationState, type Message, type Observation } from "@svc/sdk";
import { Clock, Fake, Wire, control, data, offset, refusal, settle, type Asked } from "./support/fake.js";

const baseUrl = "https://svc.example/v1/ada/personal";

const message = (id: string): Message => ({ id, role: "user", purpose: "user", display: "visible", parts: [{ type: "text", text: id, state: "done" }], metadata: {} });
const appended = (batch: number, index = 0): Chunk => ({ type: "message-appended", conversationId: "conv_1", message: message(`entry_${batch}_${index}`), position: { batch, index } });
const started = (batch: number): Chunk => ({ type: "message-started", conversationId: "conv_1", messageId: "entry_a", position: { batch, index: 0 } });
const delta = (batch: number, text: string): Chunk => ({ type: "message-delta", conversationId: "conv_1", messageId: "entry_a", kind: "text", delta: text, position: { batch, index: 0 } });

const history = (n: number, ...messages: Message[]): Response => Response.json({ v: 1, conversationId: "conv_1", offset: offset(n), messages, settlements: [] });

/** Service answers with a history, and keeps the wires of those who follow. */
class Service {
  readonly wires: Wire[] = [];
  histories = 0;
  history: (asked: Asked) => Response | Promise<Response> = () => history(1, message("entry_1_0"));
  updates: ((asked: Asked) => Response) | undefined;
  readonly fake = new Fake((asked) => {
    if (asked.method === "POST") return Response.json({ streamUrl: asked.url.href, offset: offset(0), submissionId: "s" }, { status: 202 });
    if (asked.url.searchParams.get("view") === "history") {
      this.histories++;
      return this.history(asked);
    }
    if (this.updates) return this.updates(asked);
    const wire = new Wire(asked.signal);
    this.wires.push(wire);
    return wire.send(control(Number(asked.url.searchParams.get("offset")!.split("_")[1] ?? -1))).sse();
  });
  readonly client = createClient({ baseUrl, fetch: this.fake.fetch });

  get wire(): Wire {
    return this.wires.at(-1)!;
  }
}

const ids = (observation: Observation): string[] => observation.getSnapshot().messages.map((m) => m.id);
const phase = (observation: Observation): string => observation.getSnapshot().phase;

test("it goes from its history through its updates, and tells of each batch once", async () => {
  const service = new Service();
  const observation = service.client.agents.observe("assistant", "x");
  assert.equal(phase(observation), "loading");
  const seen: string[] = [];
  observation.subscribe(() => seen.push(`${phase(observation)} ${observation.getSnapshot().offset?.at(-1)} ${ids(observation).length}`));
  await settle();
  service.wire.send(data(appended(2), appended(2, 1), appended(3)), control(3));
  await settle();
  service.wire.send(control(3), ": heartbeat\n\n", control(4));
  await settle();
  assert.deepEqual(seen, ["connecting 1 1", "live 1 1", "live 3 4", "live 4 4"]);
  assert.equal(service.fake.last.url.searchParams.get("view"), "updates");
  observation.close();
  assert.equal(phase(observation), "closed");
  assert.equal(service.wire.open, false);
});

test("finished messages keep their identity while one streams, over a cut as well", async () => {
  const service = new Service();
  const observation = service.client.agents.observe("assistant", "x");
  observation.subscribe(() => {});
  await settle();
  service.wire.send(data(started(2), appended(1)), control(2));
  await settle();
  const first = observation.getSnapshot();
  service.wire.send(data(delta(3, "one ")), control(3), data(delta(4, "lost ")));
  await settle();
  service.wire.break();
  while (service.wires.length < 2) await settle(1);
  service.wire.send(data(delta(4, "two ")), control(4));
  await settle();
  const last = observation.getSnapshot();
  assert.equal(last.messages[0], first.messages[0]);
  assert.equal(last.settlements, last.settlements);
  assert.deepEqual(last.messages[1]!.parts, [{ type: "text", text: "one two ", state: "streaming" }]);
  assert.deepEqual(first.messages[1]!.parts, []);
  assert.equal(service.histories, 1, "a cut is no reason to read everything again");
  observation.close();
});

test("a connection that is lost shows, with what is known, until it is back", async (t) => {
  const clock = new Clock(t);
  const service = new Service();
  const observation = service.client.agents.observe("assistant", "x");
  observation.subscribe(() => {});
  await settle();
  service.updates = () => refusal(503, "runtime_unavailable", { "retry-after": "1" });
  service.wire.break();
  await clock.advance(500, 50);
  assert.equal(phase(observation), "connecting");
  assert.equal((observation.getSnapshot().error as SvcError).type, "runtime_unavailable");
  assert.deepEqual(ids(observation), ["entry_1_0"]);
  service.updates = undefined;
  await clock.advance(3_000, 50);
  assert.deepEqual([phase(observation), observation.getSnapshot().error], ["live", undefined]);
  observation.close();
});

test("without a conversation it is absent, until this client prompts it or it is refreshed", async () => {
  const service = new Service();
  service.history = () => refusal(404, "stream_not_found");
  const observation = service.client.agents.observe("assistant", "new");
  observation.subscribe(() => {});
  await settle();
  assert.equal(phase(observation), "absent");
  observation.refresh();
  await settle();
  assert.equal(service.histories, 2);
  assert.equal(phase(observation), "absent");
  service.history = () => history(0);
  await service.client.agents.send("assistant", "other", { message: "hello" });
  await settle();
  assert.equal(service.histories, 2, "another instance is none of its business");
  await service.client.agents.send("assistant", "new", { message: "hello" });
  await settle();
  assert.equal(phase(observation), "live");
  observation.close();
  assert.equal(service.client.connection.prompted.size, 1);
  await settle();
  assert.equal(service.client.connection.prompted.size, 0, "nothing is left behind");
});

test("a fresh one is not asked for until this client prompts it", async () => {
  const service = new Service();
  const observation = service.client.agents.observe("assistant", "new", { fresh: true });
  observation.subscribe(() => {});
  await settle();
  assert.deepEqual([phase(observation), service.histories], ["absent", 0]);
  await service.client.agents.send("assistant", "new", { message: "hello" });
  await settle();
  assert.deepEqual([phase(observation), service.histories], ["live", 1]);
  observation.close();
});

test("a fresh one that was prompted while nobody listened is asked for when somebody does", async () => {
  const service = new Service();
  const fresh = (id: string): Observation => service.client.agents.observe("assistant", id, { fresh: true });
  const [observation, other] = [fresh("new"), fresh("other")];
  const leave = other.subscribe(() => {});
  await service.client.agents.send("assistant", "new", { message: "hello" });
  assert.equal(service.client.connection.prompted.size, 1, "one to which nobody listens is not held");
  observation.subscribe(() => {});
  await settle();
  assert.deepEqual([phase(observation), service.histories], ["live", 1]);
  leave();
  await settle();
  other.subscribe(() => {});
  await settle();
  assert.deepEqual([phase(other), service.histories], ["absent", 1], "it was told that another was prompted");
  observation.close();
  other.close();
});

test("a refusal is an error until it is refreshed", async () => {
  const service = new Service();
  service.history = () => refusal(403, "insufficient_scope");
  const observation = service.client.agents.observe("assistant", "x");
  observation.subscribe(() => {});
  await settle();
  const { error } = observation.getSnapshot();
  assert.equal(phase(observation), "error");
  assert.ok(error instanceof SvcError && error.type === "insufficient_scope");
  service.history = () => history(1);
  observation.refresh();
  await settle();
  assert.deepEqual([phase(observation), observation.getSnapshot().error], ["live", undefined]);
  observation.close();
});

test("an offset that is gone, and a stream that is, lead back to the history", async (t) => {
  const clock = new Clock(t);
  for (const answer of [() => refusal(410, "stream_offset_gone"), () => refusal(404, "stream_not_found")]) {
    const service = new Service();
    service.updates = () => {
      service.updates = undefined;
      service.history = () => history(0, message("entry_new"));
      return answer();
    };
    const observation = service.client.agents.observe("assistant", "x");
    observation.subscribe(() => {});
    await clock.advance(1_000, 50);
    assert.deepEqual([phase(observation), ids(observation), service.histories], ["live", ["entry_new"], 2]);
    observation.close();
  }
});

test("a state that was kept goes on without a history", async () => {
  const service = new Service();
  const first = service.client.agents.observe("assistant", "x");
  first.subscribe(() => {});
  await settle();
  service.wire.send(data(appended(2)), control(2));
  await settle();
  const { conversationId, messages, settlements, offset: at } = JSON.parse(JSON.stringify(first.getSnapshot())) as ConversationState;
  first.close();
  const second = service.client.agents.observe("assistant", "x", { from: { conversationId: conversationId!, messages, settlements, offset: at! } });
  assert.deepEqual(ids(second), ["entry_1_0", "entry_2_0"]);
  second.subscribe(() => {});
  await settle();
  service.wire.send(data(appended(3)), control(3));
  await settle();
  assert.equal(service.histories, 1);
  assert.deepEqual(ids(second), ["entry_1_0", "entry_2_0", "entry_3_0"]);
  second.close();
});

test("it reads while somebody listens, and goes on where it was", async () => {
  const service = new Service();
  const observation = service.client.agents.observe("assistant", "x");
  await settle();
  assert.equal(service.fake.asked.length, 0, "nobody listens yet");
  // A component that is mounted twice: it leaves, and comes at once.
  observation.subscribe(() => {})();
  const leave = observation.subscribe(() => {});
  await settle();
  assert.equal(service.wires.length, 1);
  assert.equal(service.histories, 1);
  leave();
  leave();
  await settle();
  assert.equal(service.wire.open, false);
  assert.equal(phase(observation), "connecting");
  observation.subscribe(() => {});
  await settle();
  assert.equal(service.histories, 1, "what is known is kept");
  assert.equal(service.wires.length, 2);
  observation.close();
});

test("a listener that throws harms nobody else", async (t) => {
  const thrown: unknown[] = [];
  const catching = t.mock.method(globalThis, "queueMicrotask", (call: () => void) => {
    void Promise.resolve().then(call).catch((error) => thrown.push(error));
  });
  const service = new Service();
  const observation = service.client.agents.observe("assistant", "x");
  observation.subscribe(() => {
    throw new Error("mine");
  });
  observation.subscribe(() => {});
  await settle();
  assert.equal(phase(observation), "live");
  observation.close();
  await settle();
  catching.mock.restore();
  assert.ok(thrown.length > 0);
});

test("for await gives states until it is closed, and throws what is final", async () => {
  const service = new Service();
  const observation = service.client.agents.observe("assistant", "x");
  const seen: string[] = [];
  for await (const state of observation) {
    seen.push(state.phase);
    if (state.phase === "live") service.history = () => refusal(400, "invalid_request");
    if (state.phase === "live") break;
  }
  await settle();
  assert.deepEqual(seen, ["loading", "connecting", "live"]);
  assert.equal(service.wire.open, false, "nobody listens any more");
  observation.refresh();
  await assert.rejects(async () => {
    for await (const _ of observation);
  }, { type: "invalid_request" });
});

test("for await ends when the observation is closed", async () => {
  const stop = new AbortController();
  const observation = new Service().client.agents.observe("assistant", "x", { signal: stop.signal });
  const seen: string[] = [];
  for await (const state of observation) {
    if (seen.push(state.phase) === 3) stop.abort();
  }
  assert.deepEqual(seen, ["loading", "connecting", "live", "closed"]);
});

test("each update is handed over before the state that has it, and the offset waits for all of them", async () => {
  const service = new Service();
  const seen: string[] = [];
  const observation: Observation = service.client.agents.observe("assistant", "x", {
    onUpdate: async ({ position }) => {
      await settle(1);
      seen.push(`${position.batch}/${position.index} at ${observation.getSnapshot().offset?.at(-1)}`);
      if (position.batch === 4) throw new Error("no room");
    },
  });
  await settle();
  service.wire.send(data(appended(2), appended(2, 1), appended(3)), control(3), data(appended(4), appended(4, 1)), control(4));
  await settle(20);
  assert.deepEqual(seen, ["2/0 at 1", "2/1 at 1", "3/0 at 1", "4/0 at 3"]);
  assert.equal(phase(observation), "error");
  assert.match(String(observation.getSnapshot().error), /no room/);
  assert.equal(observation.getSnapshot().offset, offset(3), "the batch counts as not delivered");
  assert.deepEqual(ids(observation).length, 4);
  observation.close();
});

test("files say where they are", async () => {
  const service = new Service();
  const file = { type: "file", mediaType: "image/png", id: "att_1", size: 8 } as const;
  service.history = () => history(1, { ...message("entry_1"), parts: [file] });
  const observation = service.client.agents.observe("assistant", "x/y");
  observation.subscribe(() => {});
  await settle();
  service.wire.send(data({ ...appended(2), message: { ...message("entry_2"), parts: [{ ...file, id: "att_2" }] } }), control(2));
  await settle();
  const urls = observation.getSnapshot().messages.map((m) => (m.parts[0] as { url?: string }).url);
  assert.deepEqual(urls, [1, 2].map((n) => `${baseUrl}/agents/assistant/x%2Fy/attachments/att_${n}`));
  observation.close();
});
