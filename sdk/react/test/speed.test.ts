import assert from "node:assert/strict";
import { after, before, describe, test, type TestContext } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type { Page } from "playwright-core";
import { createClient, type Message } from "@svc/sdk";
import { eventually, soak } from "../../typescript/test/support/contract.js";
import { control, data, offset } from "../../typescript/test/support/fake.js";
import { Stage, skip, type Play } from "./support/stage.js";

const seconds = soak ? 60 : 5;
const rate = 50; // updates a second
const history = 2_000; // messages
const longest = 100; // ms of a task

const text = "A paragraph that somebody wrote, about as long as people write them when they talk to an agent of theirs. ".repeat(3);
const message = (i: number): Message => {
  const who = i % 2 === 0 ? ({ role: "user", purpose: "user" } as const) : ({ role: "assistant", purpose: "assistant" } as const);
  return { id: `entry_${i}`, ...who, display: "visible", submissionId: `s${i >> 1}`, parts: [{ type: "text", text, state: "done" }], metadata: {} };
};

/** played is a service with a long history that says so many words a second, each in a batch of its own. */
function played(begin: Promise<void>, words: number): Play {
  return (asked, answer) => {
    const url = new URL(asked.url!, "http://service");
    if (url.pathname.endsWith("/submissions")) return answer.setHeader("content-type", "application/json").end('{"submissions":[]}') && true;
    if (url.searchParams.get("view") === "history") {
      const messages = Array.from({ length: history }, (_, i) => message(i));
      const settlements = messages.filter((_, i) => i % 2 === 0).map(({ submissionId }) => ({ submissionId, outcome: "completed" }));
      answer.setHeader("content-type", "application/json");
      answer.end(JSON.stringify({ v: 1, conversationId: "c", offset: offset(0), messages, settlements }));
      return true;
    }
    answer.writeHead(200, { "content-type": "text/event-stream" });
    answer.write(control(0));
    void speak();
    return true;

    async function speak(): Promise<void> {
      await begin;
      const at = (batch: number): object => ({ conversationId: "c", messageId: "entry_new", position: { batch, index: 0 } });
      answer.write(data({ type: "message-started", submissionId: "new", ...at(1) }) + control(1));
      const start = Date.now();
      for (let said = 0; said < words; await delay(5)) {
        for (const due = ((Date.now() - start) * rate) / 1000; said < due && said < words; said++) {
          answer.write(data({ type: "message-delta", kind: "text", delta: `word${said} `, ...at(said + 2) }) + control(said + 2));
        }
      }
      const last = words + 2;
      answer.write(data({ type: "message-completed", ...at(last) }, { type: "submission-settled", submissionId: "new", outcome: "completed", ...at(last), position: { batch: last, index: 1 } }) + control(last));
    }
  };
}

/** Task is how long a task took, and for how long of that it had a processor, in ms. */
interface Task {
  wall: number;
  busy: number;
}

/** tasks are those of the pages' own threads. */
function tasks(trace: Buffer): Task[] {
  interface Event { name: string; pid: number; tid: number; dur?: number; tdur?: number; args?: { name?: string } }
  const { traceEvents: events } = JSON.parse(trace.toString()) as { traceEvents: Event[] };
  const thread = ({ pid, tid }: Event): string => `${pid} ${tid}`;
  const pages = new Set(events.filter(({ name, args }) => name === "thread_name" && args?.name === "CrRendererMain").map(thread));
  const ran = events.filter((event) => event.name.endsWith("RunTask") && event.dur !== undefined && pages.has(thread(event)));
  return ran.map(({ dur, tdur }) => ({ wall: dur! / 1000, busy: (tdur ?? dur!) / 1000 }));
}

describe("a long conversation", { skip }, () => {
  let stage: Stage;
  before(async () => void (stage = await Stage.open()));
  after(() => stage?.close());

  /** trace gives the tasks of the browser while something happens. */
  async function trace(page: Page, happens: () => Promise<void>): Promise<Task[]> {
    await stage.browser.startTracing(page, { categories: ["toplevel"] });
    await happens();
    const all = tasks(await stage.browser.stopTracing());
    assert.ok(all.length > 100 && all.some((task) => task.busy > 0), "the trace has its tasks");
    return all;
  }

  /** longestOf tells how long tasks were. A machine that does other things makes any task long: then it is its work that counts. */
  async function longestOf(t: TestContext, page: Page, when: string, all: Task[]): Promise<number> {
    const long = await page.evaluate(() => speed.longTasks.splice(0));
    const seen = Math.max(0, ...long.map(([, duration]) => duration));
    const busiest = Math.max(...all.map((task) => task.busy));
    const wall = Math.max(...all.map((task) => task.wall));
    t.diagnostic(`figure tasks-${when} ${long.length} above 50 ms, the longest ${seen.toFixed(0)} ms; of all ${all.length} the longest ${wall.toFixed(0)} ms, the most at work ${busiest.toFixed(0)} ms`);
    return Math.min(seen, busiest);
  }

  /** watch looks at a page while it loads, and while it streams. */
  async function watch(t: TestContext, id: string, begin: () => Promise<void> | void, words: number): Promise<void> {
    const page = await stage.page("speed", { id: "nothing" });
    const loading = await trace(page, async () => {
      await page.goto(page.url().replace("nothing", id));
      await eventually("the history is there", () => page.evaluate((n) => speed.renders.size >= n && speed.agent.phase === "live", history));
      await page.evaluate(() => new Promise((resolve) => requestIdleCallback(resolve)));
    });
    await longestOf(t, page, `${id}-loading`, loading); // all rows at once: it is as long as they are many
    const before = await page.evaluate(() => [...speed.renders.keys()]);
    const began = Date.now();
    const streaming = await trace(page, async () => {
      await begin();
      await page.locator("input").pressSequentially("typed while it speaks", { delay: 50 });
      await eventually("all is said", () => page.evaluate((n) => speed.agent.status === "idle" && speed.agent.settlements.length > n, history / 2), (2 * seconds + 30) * 1000);
    });
    const took = (Date.now() - began) / 1000;
    const most = await longestOf(t, page, `${id}-streaming`, streaming);
    assert.ok(most <= longest, `a task of ${most.toFixed(0)} ms`);
    const { renders, said } = await page.evaluate(() => {
      const last = speed.agent.messages.at(-1)!.parts[0];
      return { renders: [...speed.renders], said: last?.type === "text" ? last.text : "" };
    });
    const counts = new Map(renders);
    const streamed = Math.max(...counts.values());
    t.diagnostic(`figure renders-${id} ${words} words in ${took.toFixed(1)} s: ${streamed} renders of the last row, one of each of ${before.length} others`);
    assert.equal(said, Array.from({ length: words }, (_, i) => `word${i} `).join(""));
    assert.equal(await page.locator("input").inputValue(), "typed while it speaks");
    assert.deepEqual(before.filter((key) => counts.get(key) !== 1), [], "finished messages are rendered once");
    assert.ok(streamed >= seconds * 10, `${streamed} renders`);
    await page.close();
  }

  test(`${rate} updates a second render no finished message again, and make no task above ${longest} ms`, async (t) => {
    let begin: () => void = () => {};
    stage.play = played(new Promise((resolve) => (begin = resolve)), seconds * rate);
    await watch(t, "played", begin, seconds * rate);
  });

  test("neither does the service itself", { skip: !soak && "a thousand prompts are for the soak" }, async (t) => {
    stage.play = () => false;
    const { agents } = createClient({ baseUrl: stage.contract.url });
    for (let i = 0; i < history / 2; i++) await agents.send("assistant", "real", { message: `n=1 ${text}` });
    await eventually("all is said", async () => (await agents.submissions("assistant", "real")).length === 0, 300_000);
    const begin = async (): Promise<void> => void (await agents.send("assistant", "real", { message: `n=${seconds * rate} delay=${1000 / rate}` }));
    await watch(t, "real", begin, seconds * rate);
  });
});
