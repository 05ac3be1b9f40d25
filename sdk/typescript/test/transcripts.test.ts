import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { Projection, SvcError, createClient, type Admission, type Chunk, type Conversation, type DeliveredMessage } from "@svc/sdk";
import { Frames } from "../dist/sse.js";
import { read, type Batch } from "../dist/stream.js";
import { Fake, Wire, refusal, type Asked } from "./support/fake.js";
import { wantSame } from "./support/same.js";
import { transcripts, type Exchange, type Transcript } from "./support/transcript.js";

const baseUrl = "http://svc.example";
const all = transcripts();
const seen = { exchanges: 0, refusals: 0, calls: 0, folds: 0 };

for (const transcript of all) {
  test(transcript.name, async (t) => {
    for (const exchange of transcript.exchanges) {
      seen.exchanges++;
      await wantAnswer(exchange);
      await wantCall(exchange);
    }
    wantFolds(transcript, t);
  });
}

test("the transcripts were replayed", (t) => {
  t.diagnostic(`${all.length} transcripts, ${seen.exchanges} exchanges: ${seen.refusals} refusals read, ${seen.calls} made by the client's own verbs, ${seen.folds} histories folded`);
  assert.ok(all.length >= 60 && seen.calls >= 150 && seen.refusals >= 200 && seen.folds >= 8);
});

/** respond is an answer as a runtime hands it over. */
function respond({ method, answer }: Exchange): Response {
  const none = method === "HEAD" || [204, 304].includes(answer.status);
  if (none) return new Response(null, answer);
  const wire = new Wire().send(answer.body);
  return new Response((answer.open ? wire : wire.end()).json().body, answer);
}

/** wantAnswer reads every answer, also those to requests that the client never makes. */
async function wantAnswer(exchange: Exchange): Promise<void> {
  const { status, body } = exchange.answer;
  if (status < 400) return;
  seen.refusals++;
  const { connection } = createClient({ baseUrl, fetch: new Fake(() => respond(exchange)).fetch });
  const error: SvcError = await connection.open({ method: exchange.method, url: new URL(baseUrl) }).then(() => assert.fail("it is refused"), (error) => error);
  assert.ok(error instanceof SvcError);
  assert.equal(error.status, status);
  const told = body.startsWith('{"error":') && exchange.method !== "HEAD" ? JSON.parse(body).error : { type: "http_error" };
  assert.equal(error.type, told.type);
  if (told.message) assert.deepEqual([error.message, error.details, error.meta], [told.message, told.details, told.meta]);
}

/** wantCall has the verb of the client make the request, where there is one, and looks at what it sends and gives. */
async function wantCall(exchange: Exchange): Promise<void> {
  const url = new URL(exchange.target, baseUrl);
  const call = url.pathname + url.search === exchange.target ? callOf(exchange, url) : undefined;
  if (!call) return;
  seen.calls++;
  const fake = new Fake((_, n) => (n === 0 ? respond(exchange) : refusal(418, "enough")));
  const client = createClient({ baseUrl, fetch: fake.fetch, timing: { patience: 0, backoff: 0 } });
  const { status } = exchange.answer;
  if (status < 400) await call(client);
  else await assert.rejects(call(client), { name: "SvcError" });
  wantRequest(fake.asked[0]!, exchange, url);
}

function wantRequest(asked: Asked, exchange: Exchange, url: URL): void {
  assert.equal(asked.method, exchange.method);
  assert.equal(decodeURIComponent(asked.url.pathname), decodeURIComponent(url.pathname));
  const query = (params: URLSearchParams): string[] => [...params].map(([name, value]) => `${name}=${value}`).filter((q) => !q.startsWith("cursor=")).sort();
  const want = new URLSearchParams(url.search);
  if (exchange.method === "GET" && url.pathname.startsWith("/agents/") && !url.pathname.includes("/submissions") && !want.has("view")) want.set("view", "history");
  if (url.pathname.startsWith("/runs/") && !want.has("offset") && !want.has("meta")) want.set("offset", "-1");
  assert.deepEqual(query(asked.url.searchParams), query(want));
  if (asked.body) assert.deepEqual(JSON.parse(asked.body), JSON.parse(exchange.body));
  const key = exchange.headers.get("idempotency-key");
  if (key && asked.headers.has("idempotency-key")) assert.equal(asked.headers.get("idempotency-key"), key);
}

type Call = (client: ReturnType<typeof createClient>) => Promise<void>;

/** callOf is how the client would make a request: undefined where it has no verb for it. */
function callOf(exchange: Exchange, url: URL): Call | undefined {
  const [kind, name = "", ...rest] = url.pathname.slice(1).split("/").map(decoded);
  if ([name, ...rest].some((s) => s.trim() === "" || s.includes("\u{fffd}"))) return undefined;
  const query = Object.fromEntries(url.searchParams);
  if (Object.keys(query).length !== [...url.searchParams].length) return undefined;
  if (kind === "agents" && rest.length === 0) return undefined;
  const verb = [exchange.method, kind, ...rest.slice(kind === "agents" ? 1 : 0)].join(" ");
  if (verb === "POST agents") return send(exchange, name, rest[0]!, query);
  if (verb === "POST agents abort") return abort(exchange, name, rest[0]!, query);
  if (verb === "GET agents") return look(exchange, name, rest[0]!, query);
  if (verb === "GET agents submissions" && !url.search) return async ({ agents }) => assert.deepEqual({ submissions: await agents.submissions(name, rest[0]!) }, json(exchange));
  if (verb === "POST workflows") return invoke(exchange, name, query);
  if (verb === "GET runs") return run(exchange, name, query);
  return undefined;
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return "";
  }
}

const json = (exchange: Exchange): unknown => JSON.parse(exchange.answer.body);

/** input is what a body holds, where a client could have sent it. */
function input(exchange: Exchange): { value: unknown } | undefined {
  const { headers, body } = exchange;
  if (body === "") return headers.has("content-type") || headers.has("content-length") ? undefined : { value: undefined };
  if (headers.get("content-type") !== "application/json" || headers.has("transfer-encoding")) return undefined;
  try {
    return { value: JSON.parse(body) };
  } catch {
    return undefined;
  }
}

function key(exchange: Exchange): { idempotencyKey: string } | {} | undefined {
  if (!exchange.headers.has("idempotency-key")) return {};
  const idempotencyKey = exchange.headers.get("idempotency-key")!;
  return idempotencyKey !== "" && !/[^\x21-\x7e]/.test(idempotencyKey) ? { idempotencyKey } : undefined;
}

function send(exchange: Exchange, name: string, id: string, query: object): Call | undefined {
  const sent = input(exchange);
  const named = key(exchange);
  if (!sent || typeof sent.value !== "object" || !named || Object.keys(query).length > 0) return undefined;
  return async ({ agents }) => {
    const admission: Admission = await agents.send(name, id, { message: sent.value as DeliveredMessage, ...named });
    assert.deepEqual(admission, json(exchange));
  };
}

function abort(exchange: Exchange, name: string, id: string, query: Record<string, string>): Call | undefined {
  const { submission, ...others } = query;
  if (Object.keys(others).length > 0) return undefined;
  return async ({ agents }) => assert.deepEqual(await agents.abort(name, id, submission === undefined ? {} : { submissionId: submission }), json(exchange));
}

function look(exchange: Exchange, name: string, id: string, query: Record<string, string>): Call | undefined {
  const { view = "history", offset, live, cursor: _, ...others } = query;
  if (Object.keys(others).length > 0) return undefined;
  if (view === "history" && offset === undefined && live === undefined) return async ({ agents }) => wantSame(await agents.history(name, id), withUrls(json(exchange) as Conversation, `${baseUrl}/agents/${name}/${id}`));
  if (view !== "updates" || offset === undefined || ![undefined, "sse", "long-poll"].includes(live)) return undefined;
  return async ({ connection }) => {
    const url = connection.url("agents", name, id);
    url.searchParams.set("view", "updates");
    await wantBatches(exchange, read(connection, { url, offset, live: (live ?? false) as "sse" | false }));
  };
}

function withUrls(history: Conversation, at: string): Conversation {
  const messages = history.messages.map((m) => ({ ...m, parts: m.parts.map((p) => (p.type === "file" ? { ...p, url: `${at}/attachments/${p.id}` } : p)) }));
  return { ...history, messages };
}

function invoke(exchange: Exchange, name: string, query: Record<string, string>): Call | undefined {
  const { wait, ...others } = query;
  const sent = input(exchange);
  const named = key(exchange);
  if (!sent || !named || Object.keys(others).length > 0 || ![undefined, "result"].includes(wait)) return undefined;
  const given = sent.value === undefined ? {} : { input: sent.value };
  return async ({ workflows }) => assert.deepEqual(await workflows.invoke(name, { ...given, ...named, ...(wait && { wait: "result" }) }), json(exchange));
}

function run(exchange: Exchange, runId: string, query: Record<string, string>): Call | undefined {
  const { meta, offset = "-1", tail, live, cursor: _, ...others } = query;
  if (Object.keys(others).length > 0 || exchange.headers.has("if-none-match") || exchange.answer.status === 403) return undefined;
  if (meta !== undefined) return meta === "" && Object.keys(query).length === 1 ? async ({ runs }) => assert.deepEqual(await runs.get(runId), json(exchange)) : undefined;
  // The client looks a moving offset up before it follows it.
  if (![undefined, "sse", "long-poll"].includes(live) || (offset === "now" && live) || (live && query["offset"] === undefined)) return undefined;
  return async ({ connection }) => {
    const url = connection.url("runs", runId);
    if (tail !== undefined) url.searchParams.set("tail", tail);
    await wantBatches(exchange, read(connection, { url, offset, live: (live ?? false) as "sse" | false }));
  };
}

/** wantBatches holds a reading to the frames or the page of the answer. */
async function wantBatches({ answer }: Exchange, batches: AsyncIterable<Batch>): Promise<void> {
  const want = answer.headers.get("content-type") === "text/event-stream" ? framed(answer.body) : paged(answer);
  const got: Batch[] = [];
  for await (const batch of batches) if (got.push(batch) === want.length) break;
  assert.deepEqual(got, want);
}

function framed(body: string): Batch[] {
  let items: unknown[] = [];
  const batches: Batch[] = [];
  for (const { event, data } of new Frames().push(new TextEncoder().encode(body))) {
    const value = JSON.parse(data);
    if (event === "data") items = value;
    else batches.push({ items, offset: value.streamNextOffset, upToDate: value.upToDate === true, closed: value.streamClosed === true });
    if (event === "control") items = [];
  }
  return batches;
}

function paged({ headers, body }: Exchange["answer"]): Batch[] {
  const [offset, upToDate, closed] = ["stream-next-offset", "stream-up-to-date", "stream-closed"].map((name) => headers.get(name));
  return [{ items: body === "" ? [] : JSON.parse(body), offset: offset!, upToDate: upToDate === "true", closed: closed === "true" }];
}

/** wantFolds folds what a transcript tells of a conversation from its beginning, and holds it to the history at the same place. */
function wantFolds({ exchanges }: Transcript, t: TestContext): void {
  const histories = new Map<string, Conversation>();
  for (const { method, target, answer } of exchanges) {
    const url = new URL(target, baseUrl);
    if (method !== "GET" || answer.status !== 200 || !/^\/agents\/[^/]+\/[^/]+$/.test(url.pathname)) continue;
    if (url.searchParams.get("view") !== "updates") {
      const history = JSON.parse(answer.body) as Conversation;
      histories.set(`${url.pathname} ${history.offset}`, history);
      continue;
    }
    if (!["-1", `${"0".repeat(16)}_${"0".repeat(16)}`].includes(url.searchParams.get("offset") ?? "")) continue;
    const batches = answer.body.startsWith("event:") ? framed(answer.body) : paged(answer);
    const history = histories.get(`${url.pathname} ${batches.at(-1)?.offset}`);
    if (!history) continue;
    const projection = new Projection();
    for (const chunk of batches.flatMap((batch) => batch.items) as Chunk[]) projection.apply(chunk);
    wantSame(projection.view(), history, target);
    seen.folds++;
    t.diagnostic(`folded ${target}`);
  }
}
