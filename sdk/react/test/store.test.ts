import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { createClient, type Chunk, type Message, type Submission } from "@svc/sdk";
import { Fake, Wire, control, data, offset, refusal, settle, type Asked } from "../../typescript/test/support/fake.js";
import { deliveredOf } from "../src/again.js";
import type { AgentStore } from "../src/agent.js";
import { Stores } from "../src/stores.js";

const baseUrl = "https://svc.example/v1/ada/personal";

const input = (submissionId: string, text: string): Message => ({
  ...{ id: `entry_direct_${submissionId}`, role: "user", purpose: "user", display: "visible", submissionId },
  ...{ parts: [{ type: "text", text, state: "done" }], metadata: {} },
});
const reply = (submissionId: string): Message => ({ ...input(submissionId, "an answer"), id: `entry_${submissionId}`, role: "assistant", purpose: "assistant" });

type Told = { [Type in Chunk["type"]]: Omit<Extract<Chunk, { type: Type }>, "conversationId" | "position"> }[Chunk["type"]];
const appended = (message: Message): Told => ({ type: "message-appended", message });
const settled = (submissionId: string, outcome: "completed" | "failed" | "aborted"): Told => ({ type: "submission-settled", submissionId, outcome });

/** A service that the test plays: what it was sent waits for the test's answer. */
class Service {
  readonly posts: { asked: Asked; answer: (response: Response) => void }[] = [];
  history: Message[] = [];
  queue: Submission[] = [];
  asks = 0; // for the queue
  aborts: string[] = [];
  closed = false;
  #wire: Wire | undefined;
  #batch = 1;
  readonly fake = new Fake((asked) => {
    if (asked.url.pathname.endsWith("/abort")) {
      this.aborts.push(asked.url.searchParams.get("submission") ?? "all");
      return Response.json({ aborted: true });
    }
    if (asked.url.pathname.endsWith("/submissions")) {
      this.asks++;
      return Response.json({ submissions: this.queue });
    }
    if (asked.method === "POST" && this.closed) return refusal(400, "invalid_request");
    if (asked.method === "POST") return new Promise<Response>((answer) => this.posts.push({ asked, answer }));
    if (asked.url.searchParams.get("view") === "history") return Response.json({ v: 1, conversationId: "c", offset: offset(1), messages: this.history, settlements: [] });
    return (this.#wire = new Wire(asked.signal)).send(control(this.#batch)).sse();
  });
  readonly client = createClient({ baseUrl, fetch: this.fake.fetch, timing: { backoff: 0, patience: -1 } });
  readonly stores = new Stores(this.client, {});

  admit(n: number, submissionId: string): void {
    this.posts[n]!.answer(Response.json({ streamUrl: `${baseUrl}/agents/a/i`, offset: offset(1), submissionId }, { status: 202 }));
  }

  get open(): boolean {
    return this.#wire?.open ?? false;
  }

  /** tell sends a batch of updates. */
  async tell(...chunks: Told[]): Promise<void> {
    const batch = ++this.#batch;
    this.#wire!.send(data(...chunks.map((chunk, index) => ({ ...chunk, conversationId: "c", position: { batch, index } }))), control(batch));
    await rest();
  }
}

/** rest lets everything happen that was begun. */
async function rest(): Promise<void> {
  await settle();
  await new Promise((resolve) => setTimeout(resolve, 2));
  await settle();
}

async function scene(t: TestContext, change: (service: Service) => void = () => {}, wait = rest): Promise<{ service: Service; store: AgentStore; leave: () => void }> {
  const service = new Service();
  change(service);
  const store = service.stores.agent("a", "i");
  const leave = store.subscribe(() => {});
  t.after(() => {
    leave();
    service.closed = true;
    for (const { answer } of service.posts) answer(refusal(400, "invalid_request"));
  });
  await wait();
  return { service, store, leave };
}

const keys = (service: Service): (string | null)[] => service.posts.map(({ asked }) => asked.headers.get("idempotency-key"));
const rows = (store: AgentStore): string[] => store.getSnapshot().messages.map(({ key, pending, parts }) => `${key} ${pending?.state ?? "there"} ${(parts[0] as { text: string }).text}`);

test("a message shows at once, and keeps its key and place when the conversation has it", async (t) => {
  const { service, store } = await scene(t);
  const sent = store.send("hello");
  assert.deepEqual(rows(store), ["new-1 sending hello"]);
  assert.equal(store.getSnapshot().status, "submitted");
  await rest();
  service.admit(0, "s1");
  assert.equal(await sent, true);
  assert.deepEqual(rows(store), ["new-1 waiting hello"]);
  await service.tell(appended(input("s1", "hello")));
  assert.deepEqual(rows(store), ["new-1 there hello"]);
  assert.deepEqual(store.getSnapshot().pending, []);
  await service.tell(appended(reply("s1")));
  assert.equal(store.getSnapshot().status, "streaming");
  await service.tell(settled("s1", "completed"));
  assert.equal(store.getSnapshot().status, "idle");
  assert.deepEqual(rows(store), ["new-1 there hello", "entry_s1 there an answer"]);
});

test("a message that is in the conversation before its answer came is shown once, under its key", async (t) => {
  const { service, store } = await scene(t, (service) => (service.history = [input("s0", "hello")]));
  void store.send("hello");
  await rest();
  assert.deepEqual(rows(store), ["entry_direct_s0 there hello", "new-1 sending hello"], "one that was there before is another");
  await service.tell(appended(input("s1", "hello")));
  assert.deepEqual(rows(store), ["entry_direct_s0 there hello", "new-1 there hello"]);
  service.admit(0, "s1");
  await rest();
  assert.deepEqual(rows(store), ["entry_direct_s0 there hello", "new-1 there hello"]);
  assert.deepEqual(store.getSnapshot().pending, []);
});

test("a message of somebody else that says the same is told apart when the answer comes", async (t) => {
  const { service, store } = await scene(t);
  void store.send("hello");
  await rest();
  await service.tell(appended(input("other", "hello")));
  assert.deepEqual(rows(store), ["new-1 there hello"]);
  service.admit(0, "s1");
  await rest();
  assert.deepEqual(rows(store), ["entry_direct_other there hello", "new-1 waiting hello"]);
});

test("what is sent is sent in the order of its writing", async (t) => {
  const { service, store } = await scene(t);
  void store.send("one");
  void store.send("two");
  await rest();
  assert.equal(service.posts.length, 1);
  service.posts[0]!.answer(refusal(400, "invalid_request"));
  await rest();
  assert.equal(service.posts.length, 2, "a refusal holds nobody up");
  assert.deepEqual(rows(store), ["new-1 refused one", "new-2 sending two"]);
});

test("a refusal is kept with its reason, and is sent again with the same key, behind the others", async (t) => {
  const { service, store } = await scene(t);
  const first = store.send("one");
  const second = store.send("two");
  await rest();
  service.posts[0]!.answer(refusal(400, "invalid_request"));
  await rest();
  service.admit(1, "s2");
  assert.deepEqual([await first, await second], [false, true]);
  const [pending] = store.getSnapshot().pending;
  assert.deepEqual([pending!.state, pending!.error!.type, pending!.error!.requestId?.slice(0, 4)], ["refused", "invalid_request", "req_"]);
  void store.retry("new-1");
  await rest();
  assert.deepEqual(rows(store), ["new-2 waiting two", "new-1 sending one"]);
  const [one, two, again] = keys(service);
  assert.notEqual(one, two);
  assert.equal(again, one);
});

test("a message that was refused after its answer was lost is the same sending when it is retried", async (t) => {
  const { service, store } = await scene(t);
  void store.send("one");
  for (const [n, refused] of [refusal(502, "bad_gateway"), refusal(429, "rate_limited")].entries()) {
    await rest();
    service.posts[n]!.answer(refused);
    await rest();
    void store.retry("new-1");
  }
  await rest();
  assert.equal(service.posts.length, 3);
  assert.equal(new Set(keys(service)).size, 1);
  service.admit(2, "s1");
  await rest();
  assert.deepEqual(rows(store), ["new-1 waiting one"]);
});

test("a workspace without room is a refusal: nothing is asked again by itself", async (t) => {
  const { service, store } = await scene(t);
  const sent = store.send("one");
  await rest();
  service.posts[0]!.answer(refusal(507, "storage_quota_exceeded"));
  assert.equal(await sent, false);
  assert.equal(service.posts.length, 1);
  assert.deepEqual(rows(store), ["new-1 refused one"]);
});

test("a message whose answer was lost is unknown, and is the same sending when it is retried", async (t) => {
  const { service, store } = await scene(t);
  void store.send("one");
  await rest();
  service.posts[0]!.answer(refusal(502, "bad_gateway"));
  await rest();
  assert.deepEqual(rows(store), ["new-1 unknown one"]);
  assert.equal(store.getSnapshot().status, "idle");
  void store.retry("new-1");
  await rest();
  const [first, second] = keys(service);
  assert.equal(first, second);
  service.admit(1, "s1");
  await rest();
  assert.deepEqual(rows(store), ["new-1 waiting one"]);
});

test("a message whose answer was lost is known again when the conversation has it", async (t) => {
  const { service, store } = await scene(t);
  void store.send("one");
  await rest();
  service.posts[0]!.answer(refusal(502, "bad_gateway"));
  await rest();
  await service.tell(appended(input("s1", "one")));
  assert.deepEqual(rows(store), ["new-1 there one"]);
  assert.deepEqual(store.getSnapshot().pending, []);
});

const queued = (submissionId: string, preview: string): Submission => ({ submissionId, preview, state: "queued", kind: "direct", admittedAt: "2026-07-01T12:00:00.000Z" });

test("a message whose answer was lost is known again when the queue has it, and is one row", async (t) => {
  const { service, store } = await scene(t);
  const long = "😀".repeat(300);
  void store.send(long);
  await rest();
  service.queue = [queued("s1", "😀".repeat(280))];
  service.posts[0]!.answer(refusal(502, "bad_gateway"));
  store.refresh();
  await rest();
  await rest();
  assert.deepEqual(rows(store), [`new-1 waiting ${long}`]);
  assert.deepEqual(store.getSnapshot().pending.map(({ own, submissionId, error }) => [own, submissionId, error]), [[true, "s1", undefined]]);
  await service.tell(appended(input("s1", long)));
  assert.deepEqual(rows(store), [`new-1 there ${long}`]);
  assert.deepEqual(store.getSnapshot().pending, []);
});

test("a message that was taken for one of somebody else's is one row again when it is recognised", async (t) => {
  const { service, store } = await scene(t);
  void store.send("one");
  for (const [n, refused] of [refusal(502, "bad_gateway"), refusal(429, "rate_limited")].entries()) {
    await rest();
    if (n > 0) void store.retry("new-1");
    await rest();
    service.posts[n]!.answer(refused);
    await rest();
  }
  service.queue = [queued("s1", "one")];
  store.refresh();
  await rest();
  assert.deepEqual(rows(store), ["s1 waiting one", "new-1 refused one"]);
  void store.retry("new-1");
  await rest();
  assert.deepEqual(rows(store), ["new-1 sending one"]);
  await service.tell(appended(input("s1", "one")));
  assert.deepEqual(rows(store), ["new-1 there one"]);
  service.posts[2]!.answer(refusal(502, "bad_gateway"));
  await rest();
  assert.deepEqual([rows(store), store.getSnapshot().pending], [["new-1 there one"], []]);
});

test("what somebody else had queued before is not taken for a message that says the same", async (t) => {
  const { service, store } = await scene(t, (service) => (service.queue = [queued("s0", "one")]));
  void store.send("one");
  await rest();
  service.posts[0]!.answer(refusal(502, "bad_gateway"));
  await rest();
  assert.deepEqual(rows(store), ["s0 waiting one", "new-1 unknown one"]);
  await service.tell(appended(input("s0", "one")));
  assert.deepEqual(rows(store), ["s0 there one", "new-1 unknown one"]);
});

/** reloaded is a store of another page that has taken up, once over and in JSON, what was pending in the first. */
async function reloaded(t: TestContext, before: AgentStore, change: (service: Service) => void = () => {}): Promise<{ service: Service; store: AgentStore }> {
  const kept = before.getSnapshot().pending.flatMap(({ state, message, sending }) => (sending ? { state, message, sending } : []));
  const page = await scene(t, change);
  for (const unsent of [...kept, ...kept]) page.store.restore(JSON.parse(JSON.stringify(unsent)));
  await rest();
  return page;
}

test("what was not admitted before a reload rests after it, and is the same sending when it is retried", async (t) => {
  const { service: first, store: before } = await scene(t);
  for (const text of ["one", "two"]) void before.send(text);
  await rest();
  first.posts[0]!.answer(refusal(429, "rate_limited"));
  await rest();
  const { service, store } = await reloaded(t, before);
  assert.deepEqual(rows(store), ["new-1 refused one", "new-2 unknown two"]);
  for (const key of ["new-1", "new-2"]) void store.retry(key);
  await rest();
  service.admit(0, "s1");
  await rest();
  assert.deepEqual(keys(service), keys(first));
  assert.deepEqual(rows(store), ["new-2 sending two", "new-1 waiting one"]);
});

test("what was admitted before a reload, though its answer was lost, is not offered after it", async (t) => {
  const { store: before } = await scene(t, (service) => {
    service.history = [input("s0", "one")];
    service.queue = [queued("s1", "one")];
  });
  for (const text of ["one", "two"]) void before.send(text);
  await rest();
  const { service, store } = await reloaded(t, before, (service) => {
    service.history = [input("s0", "one"), input("s1", "one"), input("s2", "two")];
  });
  assert.deepEqual(rows(store), ["entry_direct_s0 there one", "entry_direct_s1 there one", "new-2 there two", "new-1 unknown one"], "one that waited before is another");
  await service.tell(appended(input("s3", "one")));
  assert.deepEqual([rows(store).at(-1), store.getSnapshot().pending], ["new-1 there one", []]);
});

test("a fresh conversation is read when the answer to its first message was lost", async (t) => {
  const { service, store } = await scene(t, (service) => void service.stores.agent("a", "i", true));
  assert.equal(store.getSnapshot().phase, "absent");
  void store.send("one");
  await rest();
  service.history = [input("s1", "one")];
  service.posts[0]!.answer(refusal(502, "bad_gateway"));
  await rest();
  await rest();
  assert.deepEqual([rows(store), store.getSnapshot().pending], [["new-1 there one"], []]);
});

test("a fresh conversation that was begun while nobody looked is read when somebody does", async (t) => {
  const service = new Service();
  const store = service.stores.agent("a", "i", true);
  void store.send("one");
  await rest();
  service.admit(0, "s1");
  await rest();
  service.history = [input("s1", "one")];
  t.after(store.subscribe(() => {}));
  await rest();
  assert.deepEqual([rows(store), store.getSnapshot().phase], [["new-1 there one"], "live"]);
});

test("an image that falls silent while it is fetched to be sent again is an error", async () => {
  const fake = new Fake(() => new Wire().send("half").json({ "content-type": "image/png" }));
  const client = createClient({ baseUrl, fetch: fake.fetch, timing: { idle: 5, patience: -1 } });
  const image = { type: "file", id: "att_1", mediaType: "image/png", size: 8, url: `${baseUrl}/agents/a/i/attachments/att_1` } as const;
  await assert.rejects(deliveredOf(client, { ...input("s1", "look"), parts: [image] }), { type: "stalled" });
});

test("what was stopped before it was begun stays, and is sent anew or let go", async (t) => {
  const { service, store } = await scene(t);
  for (const [n, id] of ["s1", "s2", "s3"].entries()) {
    void store.send(id);
    await rest();
    service.admit(n, id);
    await rest();
  }
  await service.tell(appended(input("s1", "s1")), appended(reply("s1")));
  assert.equal(await store.stop(), true);
  assert.deepEqual(service.aborts, ["all"]);
  await service.tell(settled("s1", "aborted"), settled("s2", "aborted"), settled("s3", "aborted"));
  assert.deepEqual(rows(store).slice(2), ["new-2 stopped s2", "new-3 stopped s3"]);
  assert.equal(store.getSnapshot().status, "idle");
  store.discard("new-2");
  void store.retry("new-3");
  await rest();
  assert.deepEqual(rows(store).slice(2), ["new-3 sending s3"]);
  assert.equal(new Set(keys(service)).size, 4, "what was admitted once is admitted again under another key");
  service.admit(3, "s4");
  await rest();
  await service.tell(appended(input("s4", "s3")));
  assert.deepEqual(rows(store).slice(2), ["new-3 there s3"]);
});

test("what is on its way when all is stopped is stopped too", async (t) => {
  const { service, store } = await scene(t);
  void store.send("one");
  const second = store.send("two");
  await rest();
  assert.equal(await store.stop(), true);
  service.admit(0, "s1");
  await rest();
  assert.deepEqual(service.aborts, ["all", "s1"]);
  assert.equal(await second, false);
  assert.equal(service.posts.length, 1, "it had not left");
  await service.tell(settled("s1", "aborted"));
  assert.deepEqual(rows(store), ["new-1 stopped one", "new-2 stopped two"]);
});

test("the queue of others is shown in its order, and its messages keep their keys", async (t) => {
  const item = (submissionId: string, state: "running" | "queued"): Submission => ({ submissionId, state, kind: "direct", preview: `text of ${submissionId}`, admittedAt: "2026-07-01T12:00:00.000Z" });
  const { service, store } = await scene(t, (service) => {
    service.history = [input("s1", "text of s1")];
    service.queue = [item("s1", "running"), item("s2", "queued")];
  });
  assert.deepEqual(rows(store), ["entry_direct_s1 there text of s1", "s2 waiting text of s2"]);
  assert.equal(store.getSnapshot().status, "submitted");
  assert.equal(store.getSnapshot().pending[0]!.own, false);
  assert.equal(await store.retry("s2"), false, "it is on its way already");
  await service.tell(settled("s1", "completed"), appended(input("s2", "text of s2")));
  assert.deepEqual(rows(store)[1], "s2 there text of s2");
  assert.deepEqual(store.getSnapshot().pending, []);
  assert.equal(service.asks, 1, "nothing is asked that the stream tells");
});

test("dispatched work, whose end the stream does not tell, is not taken to go on for ever", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const later = async (ms = 1): Promise<void> => {
    for (const step of [1, ms, 1]) {
      await settle();
      t.mock.timers.tick(step);
    }
    await settle();
  };
  const { service, store } = await scene(t, (service) => void (service.history = [input("d0", "dispatched"), reply("d0")]), later);
  assert.equal(store.getSnapshot().status, "idle");
  service.queue = [{ submissionId: "d1", state: "running", kind: "dispatch", preview: "", admittedAt: "" }];
  void service.tell(appended(input("d1", "dispatched")));
  await later();
  assert.equal(store.getSnapshot().status, "submitted");
  service.queue = [];
  await later(3_000);
  assert.equal(store.getSnapshot().status, "idle");
  const { asks } = service;
  await later(60_000);
  assert.equal(service.asks, asks);
});

test("finished messages, and lists in which nothing changed, stay the same objects", async (t) => {
  const { service, store } = await scene(t, (service) => (service.history = [input("s1", "one"), reply("s1")]));
  const first = store.getSnapshot();
  await service.tell(settled("s1", "completed"));
  const second = store.getSnapshot();
  assert.notEqual(second, first);
  assert.equal(second.messages, first.messages);
  assert.equal(second.send, first.send);
  await service.tell({ type: "message-started", messageId: "entry_new", submissionId: "s1" });
  const third = store.getSnapshot();
  assert.equal(third.messages[0], first.messages[0]);
  assert.equal(third.messages[1], first.messages[1]);
  assert.equal(third.settlements, second.settlements);
});

test("a burst of updates is one state", async (t) => {
  const { service, store } = await scene(t);
  let states = 0;
  t.after(store.subscribe(() => states++));
  const told = Array.from({ length: 50 }, (_, i) => service.tell(appended(input(`s${i}`, "x"))));
  await Promise.all(told);
  assert.equal(store.getSnapshot().messages.length, 50);
  assert.ok(states <= 5, `${states} states`);
});

test("conversations are shared by name, and few are kept that nobody shows", async (t) => {
  const { service, store, leave } = await scene(t);
  assert.equal(service.stores.agent("a", "i"), store);
  for (let i = 0; i < 20; i++) service.stores.agent("a", `other-${i}`);
  assert.equal(service.stores.agent("a", "i"), store, "somebody listens");
  leave();
  await rest();
  assert.equal(service.open, false);
  assert.equal(service.stores.agent("a", "i"), store, "it is the newest of those that are kept");
  for (let i = 0; i < 20; i++) service.stores.agent("a", `other-${i}`);
  assert.notEqual(service.stores.agent("a", "i"), store);
});

test("what could not be sent is kept with its conversation", async (t) => {
  const { service, store, leave } = await scene(t);
  void store.send("one");
  await rest();
  service.posts[0]!.answer(refusal(400, "invalid_request"));
  leave();
  await rest();
  for (let i = 0; i < 20; i++) service.stores.agent("a", `other-${i}`);
  assert.equal(service.stores.agent("a", "i"), store);
});

test("a name that is none is an error, and no crash", async () => {
  const store = new Service().stores.agent("a", "");
  const leave = store.subscribe(() => {});
  await rest();
  assert.deepEqual([store.getSnapshot().status, (store.getSnapshot().error as { type: string }).type], ["error", "invalid_request"]);
  assert.equal(await store.send("hello"), false);
  assert.equal(store.getSnapshot().pending[0]!.state, "refused");
  leave();
});
