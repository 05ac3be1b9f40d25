import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { after, afterEach, before, describe, test } from "node:test";
import type { Page } from "playwright-core";
import { createClient, type Client } from "@svc/sdk";
import type { Agent, AgentMessage } from "@svc/react";
import { eventually, soak } from "../../typescript/test/support/contract.js";
import { wantSame } from "../../typescript/test/support/same.js";
import { Stage, skip, type Variant } from "./support/stage.js";

/** Chat is the page as a person sees it. */
class Chat {
  readonly page: Page;

  constructor(page: Page) {
    this.page = page;
  }

  async send(text: string): Promise<void> {
    await this.page.fill("textarea", text);
    await this.press("Send");
  }

  async press(name: string, row = "main"): Promise<void> {
    await this.page.locator(row).getByRole("button", { name, exact: true }).first().click();
  }

  /** rows are the visible rows: who, how they stand, what they say. */
  rows(): Promise<string[]> {
    const tell = (rows: Element[]): string[] =>
      (rows as HTMLElement[]).map((row) => `${row.dataset["role"]} ${row.dataset["state"]}: ${row.querySelector("span")!.textContent!.trim()}`);
    return this.page.locator("li:not([hidden])").evaluateAll(tell);
  }

  status(): Promise<string> {
    return this.page.evaluate(() => chat.status);
  }

  messages(): Promise<readonly AgentMessage[]> {
    return this.page.evaluate(() => chat.messages);
  }

  /** until waits until the page says something. */
  async until(what: string, ok: (chat: Agent) => boolean, within = 20_000): Promise<void> {
    const holds = `(${ok})(globalThis.chat)`;
    await this.page.waitForFunction(holds, undefined, { timeout: within, polling: 10 }).catch(async () => {
      assert.fail(`not yet: ${what}\n${await this.status()}\n${(await this.rows()).join("\n")}`);
    });
  }

  settled(n: number): Promise<void> {
    return this.until(`${n} settled`, new Function("chat", `return chat.settlements.length === ${n} && chat.status === "idle"`) as never);
  }
}

const words = (n: number): string => Array.from({ length: n }, (_, i) => `word${i}`).join(" ");

/** A reply that is not over before somebody stops it, on however slow a machine. */
const endless = "n=100000 delay=20";

describe("a chat in a browser", { skip }, () => {
  let stage: Stage;
  let direct: Client;

  before(async () => {
    stage = await Stage.open();
    direct = createClient({ baseUrl: stage.contract.url });
  });
  after(() => stage?.close());
  afterEach(() => stage.clear());

  const open = async (id: string, query: Record<string, string> = {}, variant?: Variant): Promise<Chat> => {
    return new Chat(await stage.page("chat", { id, ...query }, variant));
  };

  /** close holds what the page showed to the history, and sees that nothing stays behind. */
  const close = async (id: string, ...chats: Chat[]): Promise<void> => {
    const agent = await chats[0]!.page.evaluate(() => location.search.match(/agent=(\w+)/)?.[1] ?? "assistant");
    const history = await direct.agents.history(agent, id);
    for (const chat of chats) {
      await eventually("all is there", async () => (await chat.messages()).length >= history.messages.length);
      const messages = (await chat.messages()).map(({ key, pending, ...message }) => message);
      const settlements = await chat.page.evaluate(() => globalThis.chat.settlements);
      const served = JSON.parse(JSON.stringify(messages).replaceAll(`${stage.origin}/api`, stage.contract.url));
      wantSame({ messages: served, settlements }, history, id, true);
      await chat.page.close();
    }
    await eventually("no stream is left", () => stage.streams === 0);
    assert.deepEqual(stage.complaints, []);
  };

  /** hold keeps what is sent from the service until it is called. */
  const hold = (): (() => void) => {
    let pass: () => void = () => {};
    const held = new Promise<void>((resolve) => (pass = resolve));
    stage.play = async (asked) => (asked.method === "POST" && (await held), false);
    return pass;
  };

  /** unaware waits until a page has found no conversation. It looks again when somebody turns to it, and not before. */
  const unaware = (chat: Chat): Promise<void> => chat.until("it has looked", ({ phase }) => phase === "absent");
  const turnTo = (chat: Chat): Promise<unknown> => chat.page.evaluate(() => window.dispatchEvent(new Event("focus")));

  for (const variant of soak ? (["production", "development", "old", "old-development"] as const) : (["production", "old-development"] as const)) {
    test(`a message is there at once, is replaced in its place, and is answered word by word (${variant})`, async () => {
      const id = `streams-${variant}`;
      const chat = await open(id, {}, variant);
      const pass = hold();
      await chat.send("n=40 delay=25");
      assert.deepEqual(await chat.rows(), ["user sending: n=40 delay=25"]);
      await chat.page.evaluate(() => void (globalThis.kept = document.querySelector("li")));
      pass();
      await chat.until("it speaks", ({ status }) => status === "streaming");
      await chat.settled(1);
      assert.deepEqual(await chat.rows(), ["user there: n=40 delay=25", `assistant there: ${words(40)}`]);
      assert.ok(await chat.page.evaluate(() => kept === document.querySelector("li")), "it is the same row");
      const counts = await chat.page.evaluate(() => renders);
      assert.ok(Math.max(...Object.values(counts)) >= 4, `it grows: ${JSON.stringify(counts)}`);
      const twice = variant.endsWith("development") ? 2 : 1; // in development each is rendered twice
      assert.equal(counts["new-1"], twice, "what is finished is rendered once");
      await close(id, chat);
    });
  }

  test("a page that is loaded again in the middle has the beginning at once and the rest as it comes", async () => {
    const chat = await open("reloads");
    await chat.send("n=200 delay=20");
    await chat.send("n=2 the next");
    await chat.until("it speaks", ({ messages }) => messages.some(({ role, parts }) => role === "assistant" && parts.length > 0));
    await chat.page.reload();
    await chat.until("the beginning is there", ({ messages, pending }) => messages.length === 3 && pending.length === 1);
    const [user, assistant, next] = await chat.rows();
    assert.equal(user, "user there: n=200 delay=20");
    assert.match(assistant!, /^assistant there: word0 .*word\d+$/);
    assert.equal(next, "user waiting: n=2 the next", "the queue is the service's memory too");
    assert.equal(await chat.status(), "streaming");
    await chat.page.evaluate(() => void (globalThis.kept = document.querySelectorAll("li")[2]!));
    await chat.settled(2);
    assert.deepEqual(await chat.rows(), [user, `assistant there: ${words(200)}`, "user there: n=2 the next", `assistant there: ${words(2)}`]);
    assert.ok(await chat.page.evaluate(() => kept === document.querySelectorAll("li")[2]), "it is the same row");
    await close("reloads", chat);
  });

  test("a service that is killed and started again in the middle goes on in the same turn", async () => {
    const chat = await open("killed");
    await chat.send("n=80 delay=25");
    await chat.until("it speaks", ({ messages }) => messages.some(({ role, parts }) => role === "assistant" && parts.length > 0));
    await stage.contract.kill();
    await chat.until("the loss shows", ({ phase, error, status, messages }) => phase === "connecting" && error !== undefined && status === "streaming" && messages.length >= 2);
    await chat.send("n=1 while it is down");
    assert.equal((await chat.rows()).at(-1), "user sending: n=1 while it is down");
    await stage.contract.run();
    await chat.settled(2);
    const said = (await chat.rows()).map((row) => row.replace(/^assistant there: /, "")).filter((row) => row.startsWith("word"));
    assert.equal(said.slice(0, -1).join(" "), words(80), "each word once");
    assert.equal((await chat.rows()).filter((row) => row.startsWith("user")).length, 2);
    assert.equal(await chat.page.evaluate(() => globalThis.chat.error), undefined);
    await close("killed", chat);
  });

  test("two tabs show the same, and what one stops ends in both", async () => {
    const a = await open("tabs");
    const b = await open("tabs");
    await unaware(b);
    await a.send(endless);
    await a.until("it speaks", ({ status }) => status === "streaming");
    await turnTo(b); // not before there is something to find
    await b.until("it speaks", ({ status }) => status === "streaming");
    await b.send("n=1 from b");
    await b.until("it waits", ({ pending }) => pending[0]?.state === "waiting");
    await b.press("Stop");
    for (const tab of [a, b]) await tab.settled(2);
    const rows = await a.rows();
    assert.match(rows[1]!, /^assistant there: word0 /);
    assert.deepEqual(await b.rows(), [...rows, "user stopped: n=1 from b"], "what was not begun is not lost");
    await b.press("Retry", "[data-state=stopped]");
    for (const tab of [a, b]) await tab.settled(3);
    assert.deepEqual((await a.rows()).slice(-2), ["user there: n=1 from b", "assistant there: word0"]);
    assert.deepEqual(await a.rows(), await b.rows());
    await close("tabs", a, b);
  });

  test("what is queued is stopped with the rest, is sent again, or is let go", async () => {
    const chat = await open("stops");
    await chat.press("Stop");
    await chat.page.getByText("Already finished").waitFor();
    await chat.send(endless);
    await chat.send("n=1 second");
    await chat.send("n=2 third");
    // One that is still on its way when all is stopped has no name yet, and may be answered before it is stopped by its own.
    await chat.until("it speaks, and both wait", ({ status, pending }) => status === "streaming" && pending.length === 2 && pending.every(({ state }) => state === "waiting"));
    await chat.press("Stop");
    await chat.settled(3);
    assert.deepEqual((await chat.rows()).slice(-2), ["user stopped: n=1 second", "user stopped: n=2 third"]);
    await chat.press("Discard", "li:has-text('second')");
    await chat.press("Retry", "li:has-text('third')");
    await chat.settled(4);
    assert.deepEqual((await chat.rows()).slice(-2), ["user there: n=2 third", `assistant there: ${words(2)}`]);
    await close("stops", chat);
  });

  test("a refusal shows its reason, and goes through when it is retried", async () => {
    const chat = await open("refused", { patience: "0" });
    stage.play = (asked, answer) => {
      if (asked.method !== "POST") return false;
      answer.writeHead(429, { "content-type": "application/json" }).end('{"error":{"type":"rate_limited","message":"Too many.","details":""}}');
      return true;
    };
    await chat.send("n=1");
    await chat.until("it is refused", ({ pending }) => pending[0]?.state === "refused");
    assert.equal(await chat.page.locator("em").textContent(), "rate_limited");
    stage.play = () => false;
    await chat.press("Retry", "[data-state=refused]");
    await chat.settled(1);
    assert.deepEqual(await chat.rows(), ["user there: n=1", "assistant there: word0"]);
    await close("refused", chat);
  });

  test("a message whose answers are all lost is found in the conversation, and not sent twice", async () => {
    const chat = await open("lost", { patience: "0" });
    await unaware(chat);
    stage.play = async (asked, answer) => {
      // What is read is from before.
      if (asked.method !== "POST") return absent(answer);
      await fetch(stage.contract.url + asked.url!.slice(4), { method: "POST", headers: { "content-type": "application/json", "idempotency-key": String(asked.headers["idempotency-key"]) }, body: await bodyOf(asked) });
      answer.destroy();
      return true;
    };
    await chat.send("n=1");
    await chat.until("it is not known", ({ pending }) => pending[0]?.state === "unknown");
    await chat.press("Retry", "[data-state=unknown]"); // in vain
    stage.play = () => false;
    // A look that is on its way may be from before.
    await eventually("it is found", async () => (await turnTo(chat), (await chat.rows())[0]?.startsWith("user there") ?? false));
    await chat.settled(1);
    assert.deepEqual(await chat.rows(), ["user there: n=1", "assistant there: word0"]);
    assert.equal(await chat.page.evaluate(() => globalThis.chat.pending.length), 0);
    await close("lost", chat);
  });

  test("what failed can be asked again, with its images", async () => {
    const chat = await open("again", { agent: "tooluser" });
    const image = { type: "image", data: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", mimeType: "image/png", filename: "dot.png" } as const;
    const pass = hold();
    await chat.page.evaluate((image) => void globalThis.chat.send({ kind: "user", body: "look", attachments: [image] }), image);
    assert.match((await chat.page.locator("img").getAttribute("src"))!, /^data:/);
    pass();
    await chat.settled(1);
    await chat.press("Retry", "[data-role=user]");
    await chat.settled(2);
    const sources = await chat.page.locator("img").evaluateAll((images) => images.map((image) => (image as HTMLImageElement).src));
    assert.equal(new Set(sources).size, 2);
    for (const source of sources) assert.deepEqual(Buffer.from(await (await fetch(source)).arrayBuffer()).toString("base64"), image.data);
    await close("again", chat);
    const failing = await open("fails");
    await failing.send("fail");
    await failing.settled(1);
    assert.equal(await failing.page.evaluate(() => globalThis.chat.settlements[0]!.error!.type), "operation_failed");
    await failing.press("Retry", "[data-role=user]");
    await failing.settled(2);
    assert.deepEqual(await failing.rows(), ["user there: fail", "user there: fail"]);
    await close("fails", failing);
  });

  test("dispatched work is shown while it lasts, and is over when it is over", async () => {
    const chat = await open("dispatched");
    const body = JSON.stringify({ id: "dispatched", text: "n=80 delay=20" });
    await unaware(chat);
    await fetch(`${stage.contract.url}/channels/echo/in`, { method: "POST", body });
    await turnTo(chat);
    await chat.until("it speaks", ({ status }) => status === "streaming");
    await chat.until("it is over", ({ status }) => status === "idle");
    assert.deepEqual(await chat.rows(), ["user there: n=80 delay=20", `assistant there: ${words(80)}`]);
    await close("dispatched", chat);
  });

  test("a conversation that cannot be read says why, and is read when it can be", async () => {
    const chat = await open("unread");
    stage.play = (asked, answer) => {
      answer.writeHead(401, { "content-type": "application/json", "x-request-id": "req_1" }).end('{"error":{"type":"session_expired","message":"Sign in.","details":""}}');
      return asked.method === "GET";
    };
    await chat.page.reload();
    await chat.until("it is an error", ({ status, error }) => status === "error" && (error as { type?: string }).type === "session_expired");
    stage.play = () => false;
    await chat.page.evaluate(() => globalThis.chat.refresh());
    await chat.until("it is read", ({ status, error }) => status === "idle" && error === undefined);
    await chat.send("n=1");
    await chat.settled(1);
    await close("unread", chat);
    const nobody = await open("nobody", { agent: "nobody" });
    await nobody.until("there is no such agent", ({ error }) => (error as { type?: string })?.type === "agent_not_found");
    await nobody.page.close();
  });
});

/** absent answers that there is no conversation. */
function absent(answer: ServerResponse): boolean {
  answer.writeHead(404, { "content-type": "application/json" }).end('{"error":{"type":"stream_not_found","message":"It is not there.","details":""}}');
  return true;
}

async function bodyOf(asked: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of asked) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
