import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { createClient, SvcError } from "@svc/sdk";
import { Clock, Fake, Wire, control, data, event, offset, page, refusal, settle } from "./support/fake.js";

const baseUrl = "https://svc.example/v1/ada/personal/";
const admission = { streamUrl: "https://elsewhere.example/x/agents/assistant/t%2F1", offset: offset(0), submissionId: "s" };
const admitted = (): Response => Response.json(admission, { status: 202 });

test("a sending whose answer was lost is asked for again, with the same key and the same bytes", async (t) => {
  const clock = new Clock(t);
  const answers: (() => Response)[] = [
    () => {
      throw new TypeError("fetch failed");
    },
    () => new Wire().send('{"stream').break().json(),
    () => refusal(502, "bad_gateway"),
    () => refusal(503, "runtime_unavailable", { "retry-after": "1" }),
    () => refusal(429, "rate_limited", { "retry-after": "2" }),
    admitted,
  ];
  const fake = new Fake((_, n) => answers[n]!());
  const sent = createClient({ baseUrl, fetch: fake.fetch }).agents.send("assistant", "t/1", { message: "hello" });
  await clock.advance(20_000, 50);
  assert.deepEqual(await sent, admission);
  assert.equal(fake.asked.length, 6);
  assert.equal(new Set(fake.asked.map((a) => a.headers.get("idempotency-key"))).size, 1);
  assert.match(fake.last.headers.get("idempotency-key")!, /^[0-9a-f]{32}$/);
  assert.deepEqual(new Set(fake.asked.map((a) => a.body)), new Set(['{"kind":"user","body":"hello"}']));
  assert.equal(fake.last.url.href, "https://svc.example/v1/ada/personal/agents/assistant/t%2F1");
});

test("two sendings have two keys, unless they are given one", async () => {
  const fake = new Fake(admitted);
  const { agents } = createClient({ baseUrl, fetch: fake.fetch });
  for (const more of [{}, {}, { idempotencyKey: "mine" }, { idempotencyKey: "mine" }]) await agents.send("assistant", "x", { message: { kind: "signal", type: "t", body: "b" }, ...more });
  const keys = fake.asked.map((a) => a.headers.get("idempotency-key"));
  assert.notEqual(keys[0], keys[1]);
  assert.deepEqual(keys.slice(2), ["mine", "mine"]);
});

test("one who gives up is told the key to go on with", async (t) => {
  const clock = new Clock(t);
  const fake = new Fake(() => {
    throw new TypeError("fetch failed");
  });
  const failed = createClient({ baseUrl, fetch: fake.fetch }).agents.send("assistant", "x", { message: "hello" }).catch((error) => error);
  await clock.advance(200_000, 100);
  const error = (await failed) as SvcError;
  assert.ok(error instanceof SvcError);
  assert.deepEqual([error.type, error.status], ["network_error", 0]);
  assert.equal(error.idempotencyKey, fake.last.headers.get("idempotency-key"));
  assert.ok(error.cause instanceof TypeError);
  assert.ok(fake.asked.length >= 7 && fake.asked.length < 60, `${fake.asked.length} attempts`);
});

test("what the service refuses is not asked for again", async () => {
  for (const [status, type] of [[400, "invalid_request"], [409, "idempotency_conflict"], [413, "body_too_large"], [500, "internal_error"], [507, "storage_quota_exceeded"]] as const) {
    const fake = new Fake(() => refusal(status, type));
    await assert.rejects(createClient({ baseUrl, fetch: fake.fetch }).agents.send("assistant", "x", { message: "hello" }), { type, status });
    assert.equal(fake.asked.length, 1);
  }
});

test("an abort whose answer was lost is asked for again only where it names what it stops", async (t) => {
  const clock = new Clock(t);
  const lost = (_: unknown, n: number): Response => {
    if (n === 0) throw new TypeError("fetch failed");
    return Response.json({ aborted: true });
  };
  await assert.rejects(createClient({ baseUrl, fetch: new Fake(lost).fetch }).agents.abort("assistant", "x"), { type: "network_error" });
  const fake = new Fake(lost);
  const aborted = createClient({ baseUrl, fetch: fake.fetch }).agents.abort("assistant", "x", { submissionId: "s" });
  await clock.advance(1_000, 50);
  assert.deepEqual(await aborted, { aborted: true });
  assert.equal(fake.last.url.search, "?submission=s");
  // A refusal has stopped nothing.
  const busy = new Fake((_, n) => (n === 0 ? refusal(503, "runtime_unavailable") : Response.json({ aborted: false })));
  const again = createClient({ baseUrl, fetch: busy.fetch }).agents.abort("assistant", "x");
  await clock.advance(1_000, 50);
  assert.deepEqual(await again, { aborted: false });
});

test("a run that is waited for is found again by its key, however long it takes", async (t) => {
  const clock = new Clock(t);
  const fake = new Fake((_, n) => {
    if (n < 4) return new Promise((resolve) => setTimeout(() => resolve(refusal(504, "runtime_timeout")), 100_000));
    return Response.json({ result: { ok: true }, runId: "run_1" });
  });
  const done = createClient({ baseUrl, fetch: fake.fetch }).workflows.invoke<{ ok: boolean }>("trivial", { wait: "result" });
  await clock.advance(420_000, 500);
  assert.deepEqual(await done, { result: { ok: true }, runId: "run_1" });
  assert.equal(new Set(fake.asked.map((a) => a.headers.get("idempotency-key"))).size, 1);
  assert.equal(fake.last.headers.get("content-type"), null, "without input there is no body");
});

test("an answer that never begins is given up", async (t) => {
  const clock = new Clock(t);
  const fake = new Fake((_, n) => (n === 0 ? new Promise(() => {}) : Response.json({ submissions: [] })));
  const answer = createClient({ baseUrl, fetch: fake.fetch }).agents.submissions("a", "b");
  await clock.advance(61_000, 500);
  assert.deepEqual(await answer, []);
});

test("a refusal that falls silent in its middle is given up", async (t) => {
  const clock = new Clock(t);
  const fake = new Fake((_, n) => (n === 0 ? new Response(new Wire().send("{").json().body, { status: 404 }) : Response.json({ submissions: [] })));
  const answer = createClient({ baseUrl, fetch: fake.fetch }).agents.submissions("a", "b");
  await clock.advance(61_000, 500);
  assert.equal(fake.asked.length, 2);
  assert.deepEqual(await answer, []);
});

test("an answer that is not in the envelope keeps what it said", async () => {
  const fake = new Fake(() => Response.json({ blocked: true }, { status: 403, headers: { "x-request-id": "req_1" } }));
  await assert.rejects(createClient({ baseUrl, fetch: fake.fetch }).runs.get("run_1"), { type: "http_error", status: 403, requestId: "req_1", body: { blocked: true } });
});

test("names that lead elsewhere are refused before anything is sent", async () => {
  const fake = new Fake(() => Response.json({}));
  const client = createClient({ baseUrl, fetch: fake.fetch });
  for (const id of ["", " ", ".", ".."]) {
    await assert.rejects(client.agents.send("assistant", id, { message: "x" }), { type: "invalid_request" });
    assert.throws(() => client.runs.stream(id), { type: "invalid_request" });
  }
  assert.equal(fake.asked.length, 0);
});

test("no credential goes to another address than ours, whatever an answer says", async () => {
  const settled = { type: "submission-settled", conversationId: "c", submissionId: "s", outcome: "completed", position: { batch: 1, index: 0 } };
  const fake = new Fake(() => new Wire().send(data(settled), control(1)).sse());
  await createClient({ baseUrl, fetch: fake.fetch, token: "secret" }).agents.wait(admission);
  assert.equal(fake.last.url.href, `${baseUrl}agents/assistant/t%2F1?view=updates&offset=${offset(0)}&live=sse`);
});

test("a redirect is an error at once, and nothing of the request goes where it leads", async (t) => {
  const seen: string[] = [];
  const server = createServer((asked, answer) => {
    seen.push(asked.url!);
    answer.writeHead(307, { location: "/elsewhere" }).end();
  });
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const client = createClient({ baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, token: "secret" });
  await assert.rejects(client.agents.send("assistant", "x", { message: "hello" }), { name: "SvcError", type: "redirected", status: 307 });
  assert.deepEqual(seen, ["/v1/agents/assistant/x"]);
});

test("a redirect of which a page is told nothing is an error at once as well, of a stream too", async () => {
  const fake = new Fake(() => Object.defineProperty(Response.error(), "type", { value: "opaqueredirect" }));
  const client = createClient({ baseUrl, fetch: fake.fetch });
  await assert.rejects(client.agents.history("a", "b"), { type: "redirected", status: 0, message: /elsewhere/ });
  await assert.rejects(client.runs.stream("run_1").forEach(() => {}), { type: "redirected" });
  assert.equal(fake.asked.length, 2);
});

test("a submission that failed is thrown as the service words it", async () => {
  const error = { name: "SvcError", message: "The model failed.", type: "operation_failed", details: "d", meta: { n: 1 } };
  const settled = { type: "submission-settled", conversationId: "c", submissionId: "s", outcome: "failed", error, position: { batch: 1, index: 0 } };
  const fake = new Fake(() => new Wire().send(data({ ...settled, submissionId: "another" }), control(1), data({ ...settled, position: { batch: 2, index: 0 } }), control(2)).sse());
  await assert.rejects(createClient({ baseUrl, fetch: fake.fetch }).agents.wait(admission), { type: "operation_failed", submissionId: "s", message: "The model failed.", details: "d", meta: { n: 1 }, status: 0 });
});

test("a run that failed is thrown with its id, by the name of its error", async () => {
  for (const [name, type] of [["Error", "run_failed"], ["RunCancelled", "run_cancelled"], ["RunInterrupted", "run_interrupted"], ["RunDefinitionChanged", "run_definition_changed"]]) {
    const end = { ...event(0), type: "run_end", isError: true, result: null, error: { name, message: "m" } };
    const fake = new Fake((asked) => (asked.method === "POST" ? Response.json({ runId: "run_1" }, { status: 202 }) : new Wire().send(data(end), control(0, { streamClosed: true })).sse()));
    await assert.rejects(createClient({ baseUrl, fetch: fake.fetch }).workflows.run("w"), { type, runId: "run_1", message: "m" });
  }
});

test("a run whose stream tells no end is looked up", async () => {
  const fake = new Fake((asked) => {
    if (asked.method === "POST") return Response.json({ runId: "run_1" }, { status: 202 });
    if (asked.url.searchParams.has("meta")) return Response.json({ runId: "run_1", status: "completed", isError: false, result: 7 });
    return page([event(0)], 0, { "stream-up-to-date": "true", "stream-closed": "true" });
  });
  assert.deepEqual(await createClient({ baseUrl, fetch: fake.fetch }).workflows.run("w", { live: "long-poll" }), { runId: "run_1", result: 7 });
});

test("a signal ends a question, with its reason", async () => {
  const stop = new AbortController();
  const asked = createClient({ baseUrl, fetch: new Fake(() => new Promise(() => {})).fetch }).agents.history("a", "b", { signal: stop.signal });
  await settle();
  stop.abort(new Error("enough"));
  await assert.rejects(asked, /enough/);
  await assert.rejects(createClient({ baseUrl }).agents.history("a", "b", { signal: AbortSignal.abort() }), { name: "AbortError" });
});
