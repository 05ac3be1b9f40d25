import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Projection, createClient, type Chunk, type Client, type Conversation, type Observation, type RunEvent } from "@svc/sdk";
import { Contract, eventually, missing } from "./support/contract.js";
import { wantSame } from "./support/same.js";

const start: Conversation = { conversationId: "", messages: [], settlements: [], offset: "-1" };

describe("against the contract program", { skip: missing, concurrency: true }, () => {
  let contract: Contract;
  let client: Client;
  before(async () => {
    contract = await Contract.start();
    client = createClient({ baseUrl: contract.url });
  });
  after(() => contract.stop());

  const folded = async (name: string, id: string, observation: Observation, settlements: number, middle = false): Promise<void> => {
    await eventually("all is settled", () => observation.getSnapshot().settlements.length === settlements);
    const history = await client.agents.history(name, id);
    await eventually("it is where the history is", () => observation.getSnapshot().offset === history.offset);
    wantSame(observation.getSnapshot(), history, id, middle);
    observation.close();
  };

  test("an agent is sent a message, waited for and looked at", async () => {
    const admission = await client.agents.send("assistant", "first", { message: "think n=3" });
    const types: string[] = [];
    const reply = await client.agents.wait(admission, { onUpdate: (chunk: Chunk) => void types.push(chunk.type) });
    assert.equal(reply.text, "word0 word1 word2 ");
    assert.deepEqual(reply.messages.map((m) => m.role), ["user", "assistant"]);
    assert.deepEqual([types[0], types.at(-1)], ["message-appended", "submission-settled"]);
    const history = await client.agents.history("assistant", "first");
    assert.equal(history.messages.length, 2);
    assert.deepEqual(history.settlements, [{ submissionId: admission.submissionId, outcome: "completed" }]);
    wantSame({ messages: reply.messages, settlements: history.settlements }, history);
  });

  for (const live of ["auto", "sse", "long-poll"] as const) {
    test(`an observation by ${live} equals the history, with tools and images`, async (t) => {
      const id = `observed-${live}`;
      const observation = client.agents.observe("tooluser", id, { live });
      t.after(observation.close);
      observation.subscribe(() => {});
      await eventually("it is absent", () => observation.getSnapshot().phase === "absent");
      const pixel = { type: "image", data: "iVBORw0KGgo=", mimeType: "image/png", filename: "a.png" } as const;
      await client.agents.send("tooluser", id, { message: { kind: "user", body: "add", attachments: [pixel] } });
      await client.agents.send("tooluser", id, { message: { kind: "signal", type: "t", body: "b", attributes: { k: "v" }, tagName: "x" } });
      await folded("tooluser", id, observation, 2);
      const file = observation.getSnapshot().messages[0]!.parts[1]!;
      assert.ok(file.type === "file");
      const image = await fetch(file.url!);
      assert.deepEqual([image.status, image.headers.get("content-type"), (await image.arrayBuffer()).byteLength], [200, "image/png", 8]);
      assert.equal(file.url, client.agents.attachmentUrl("tooluser", id, file.id));
    });
  }

  test("the updates up to any place fold to the history at that place", async (t) => {
    await client.agents.send("assistant", "grows", { message: "think n=10000 delay=10" });
    const chunks: Chunk[] = [];
    const observation = client.agents.observe("assistant", "grows", { from: start, onUpdate: (chunk) => void chunks.push(chunk) });
    t.after(observation.close);
    // The service shows what is now, so a reply is asked about while it grows, and then stopped.
    const histories = new Map<string, Conversation>();
    while (histories.size < 8) {
      const history = await client.agents.history("assistant", "grows");
      histories.set(history.offset, history);
    }
    await client.agents.abort("assistant", "grows");
    await folded("assistant", "grows", observation, 1);
    for (const [offset, history] of histories) {
      const projection = new Projection();
      for (const chunk of chunks.filter(({ position }) => position.batch <= Number(offset.split("_")[1]))) projection.apply(chunk);
      wantSame(projection.view(), history, offset);
    }
  });

  test("a history in the middle of a reply goes on to the same end", async (t) => {
    await client.agents.send("assistant", "middle", { message: "n=20 delay=15" });
    await eventually("it speaks", async () => {
      const { messages } = await client.agents.history("assistant", "middle").catch(() => ({ messages: [] }));
      return messages.some((m) => m.role === "assistant" && m.parts.length > 0);
    });
    const observation = client.agents.observe("assistant", "middle");
    t.after(observation.close);
    observation.subscribe(() => {});
    await folded("assistant", "middle", observation, 1, true);
  });

  test("work is listed and aborted, all of it or one", async () => {
    const first = await client.agents.send("assistant", "aborted", { message: "n=1000 delay=50" });
    const second = await client.agents.send("assistant", "aborted", { message: "n=1000 delay=50" });
    await eventually("one runs", async () => (await client.agents.submissions("assistant", "aborted"))[0]?.state === "running");
    const listed = await client.agents.submissions("assistant", "aborted");
    assert.deepEqual(listed.map((s) => [s.submissionId, s.state]), [[first.submissionId, "running"], [second.submissionId, "queued"]]);
    assert.deepEqual(await client.agents.abort("assistant", "aborted", { submissionId: second.submissionId }), { aborted: true });
    assert.deepEqual(await client.agents.abort("assistant", "aborted", { submissionId: "nobody" }), { aborted: false });
    assert.deepEqual(await client.agents.abort("assistant", "aborted"), { aborted: true });
    await assert.rejects(client.agents.wait(first), { type: "submission_aborted", submissionId: first.submissionId });
    await assert.rejects(client.agents.wait(second), { type: "submission_aborted" });
    assert.deepEqual(await client.agents.submissions("assistant", "aborted"), []);
  });

  test("a failing model is a failed submission", async () => {
    const admission = await client.agents.send("assistant", "failed", { message: "fail" });
    await assert.rejects(client.agents.wait(admission), { type: "operation_failed", status: 0, submissionId: admission.submissionId });
  });

  test("the same key is the same submission, and with another message a conflict", async () => {
    const idempotencyKey = `key-${process.pid}`;
    const options = { message: "n=1", idempotencyKey };
    assert.deepEqual(await client.agents.send("assistant", "keyed", options), await client.agents.send("assistant", "keyed", options));
    await assert.rejects(client.agents.send("assistant", "keyed", { message: "n=2", idempotencyKey }), { type: "idempotency_conflict", status: 409, idempotencyKey });
  });

  test("a workflow is invoked, waited for and run", async () => {
    const { result } = await client.workflows.invoke<{ sum: number }>("steps", { input: { n: 3 }, wait: "result" });
    assert.equal(result.sum, 3);
    const steps: string[] = [];
    const ran = await client.workflows.run<{ sum: number }>("steps", {
      input: { n: 4 },
      onEvent: (event: RunEvent) => void (event.type === "log" && event.attributes?.step?.state === "finished" && steps.push(event.attributes.step.name)),
    });
    assert.equal(ran.result.sum, 6);
    assert.deepEqual(steps, ["step 0", "step 1", "step 2", "step 3"]);
    const record = await client.runs.get<{ sum: number }>(ran.runId);
    assert.deepEqual([record.status, record.result?.sum, record.workflowName], ["completed", 6, "steps"]);
    await assert.rejects(client.workflows.run("failing"), { type: "run_failed", message: "failed on purpose" });
    await assert.rejects(client.workflows.invoke("failing", { wait: "result" }), { type: "internal_error", status: 500 });
    await assert.rejects(client.workflows.invoke("chatty", { input: { n: "x" } }), { type: "action_input_validation", status: 400 });
    await assert.rejects(client.workflows.run("hidden"), { type: "run_not_found", status: 404 });
  });

  for (const live of ["auto", "sse", "long-poll"] as const) {
    test(`a run is followed by ${live}, each event once, from any place`, async () => {
      const { runId } = await client.workflows.invoke("chatty", { input: { n: 30, delay: 10 } });
      const got: RunEvent[] = [];
      const stream = client.runs.stream(runId, { live });
      for await (const event of stream) got.push(event);
      const events = await client.runs.events(runId);
      assert.deepEqual(got, events);
      assert.equal(events.length, 32);
      assert.equal(stream.closed, true);
      assert.deepEqual(await client.runs.events(runId, { tail: 3 }), events.slice(-3));
      assert.deepEqual(await client.runs.events(runId, { offset: stream.offset }), []);
      const rest: RunEvent[] = [];
      await client.runs.stream(runId, { live, offset: "0_9" }).forEach((event) => void rest.push(event));
      assert.deepEqual(rest, events.slice(10));
    });
  }

  test("a long run is read in pages", async () => {
    const { runId } = await client.workflows.invoke("chatty", { input: { n: 2_500 }, wait: "result" });
    const events = await client.runs.events(runId);
    assert.deepEqual(events.map((e) => e.eventIndex), Array.from({ length: 2_502 }, (_, i) => i));
  });

  test("what is not there is told by its type", async () => {
    await assert.rejects(client.agents.send("nobody", "x", { message: "m" }), { type: "agent_not_found", status: 404 });
    await assert.rejects(client.agents.history("assistant", "never"), { type: "stream_not_found", status: 404 });
    const error = await client.runs.get("run_00000000000000000000000000").catch((error) => error);
    assert.deepEqual([error.type, error.status], ["run_not_found", 404]);
    assert.match(error.requestId, /^req_[0-9A-HJKMNP-TV-Z]{26}$/);
    await assert.rejects(client.runs.stream("run_00000000000000000000000000").forEach(() => {}), { type: "run_not_found" });
  });
});

describe("over the death of the contract program", { skip: missing }, () => {
  test("an observation, a waiting and a run go on when it is back", async (t) => {
    const contract = await Contract.start();
    t.after(() => contract.stop());
    const client = createClient({ baseUrl: contract.url, timing: { backoffMax: 100 } });
    const admission = await client.agents.send("assistant", "killed", { message: "n=60 delay=25" });
    const observation = client.agents.observe("assistant", "killed");
    t.after(observation.close);
    observation.subscribe(() => {});
    const replied = client.agents.wait(admission);
    const events: number[] = [];
    const { runId } = await client.workflows.invoke("chatty", { input: { n: 40, delay: 25 } });
    const stream = client.runs.stream(runId);
    t.after(stream.cancel);
    const followed = stream.forEach((event) => void events.push(event.eventIndex));
    for (let i = 1; i <= 2; i++) {
      const grown = events.length;
      await eventually("something has happened", () => events.length > grown + 5 && observation.getSnapshot().messages.length > 1);
      await contract.kill();
      await contract.run();
    }
    await followed;
    await replied;
    const history = await client.agents.history("assistant", "killed");
    await eventually("it is where the history is", () => observation.getSnapshot().offset === history.offset);
    wantSame(observation.getSnapshot(), history, "over two deaths", true);
    assert.deepEqual(events, (await client.runs.events(runId)).map((e) => e.eventIndex));
  });
});
