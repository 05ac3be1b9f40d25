import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import type { Page } from "playwright-core";
import { createClient, type Client } from "@svc/sdk";
import { eventually, soak } from "../../typescript/test/support/contract.js";
import { Stage, skip, type Variant } from "./support/stage.js";

const variants: Variant[] = ["production", "development", "old-development"];

describe("components that come and go", { skip }, () => {
  let stage: Stage;
  let direct: Client;

  before(async () => {
    stage = await Stage.open();
    direct = createClient({ baseUrl: stage.contract.url });
    for (const id of ["a", "b", "c"]) await direct.agents.wait(await direct.agents.send("assistant", id, { message: `n=1 in ${id}` }));
  });
  after(() => stage?.close());
  afterEach(() => stage.clear());

  const open = async (variant: Variant, query: Record<string, string> = {}): Promise<Page> => {
    stage.asked = [];
    return stage.page("life", query, variant);
  };
  const show = (page: Page, scene: Parameters<typeof life.show>[0]): Promise<void> => page.evaluate((scene) => life.show(scene), scene);
  const texts = (page: Page): Promise<string[]> => page.locator("p").allTextContents();
  const shows = (page: Page, ...want: string[]): Promise<void> => eventually(want.join(), async () => JSON.stringify(await texts(page)) === JSON.stringify(want));

  /** close sees that nothing is left of what was shown. */
  const close = async (page: Page, listeners: number): Promise<void> => {
    await show(page, { ids: [] });
    await eventually("no stream is left", () => stage.streams === 0);
    assert.equal(await page.evaluate(() => life.client.connection.prompted.size), 0);
    assert.equal(await page.evaluate(() => life.listeners), listeners);
    assert.deepEqual(await page.evaluate(() => life.wrong), []);
    assert.deepEqual(stage.complaints, []);
    await page.close();
  };

  for (const variant of variants) {
    test(`two that name the same conversation share one stream, and leave none (${variant})`, async () => {
      const page = await open(variant);
      const listeners = await page.evaluate(() => life.listeners);
      await show(page, { ids: ["a"] });
      await shows(page, "idle 2", "idle 2");
      await eventually("it is live", () => stage.streams === 1);
      assert.equal(stage.asked.filter((line) => line.includes("view=history")).length, 1, "mounted twice, read once");
      assert.equal(stage.asked.filter((line) => line.includes("live=sse")).length, 1);
      await close(page, listeners);
    });

    test(`a component that waits for something else opens nothing until it is shown (${variant})`, async () => {
      const page = await open(variant);
      const listeners = await page.evaluate(() => life.listeners);
      await show(page, { ids: [], slow: "a" });
      await shows(page, "waiting");
      await show(page, { ids: [], slow: "b" });
      await show(page, { ids: [] });
      await show(page, { ids: [], slow: "c" });
      assert.equal(stage.asked.length, 0, "nobody has seen anything");
      await page.evaluate(() => life.resume());
      await shows(page, "idle 2");
      await eventually("it is live", () => stage.streams === 1);
      assert.ok(stage.asked.every((line) => line.includes("/c")));
      await close(page, listeners);
    });
  }

  test("one who goes from conversation to conversation sees each under its own name, and comes back to what was there", async () => {
    const page = await open("development");
    const listeners = await page.evaluate(() => life.listeners);
    for (const id of ["a", "b", undefined, "c", "a"]) {
      await show(page, { ids: [id] });
      await shows(page, ...Array(2).fill(id ? "idle 2" : "idle 0"));
    }
    assert.equal(stage.asked.filter((line) => line.includes("/a?view=history")).length, 1, "it goes on where it was");
    await page.evaluate(() => {
      for (let i = 0; i < 50; i++) life.show({ ids: [["a", "b", "c"][i % 3]] });
    });
    await shows(page, "idle 2", "idle 2");
    await eventually("one stream is left", () => stage.streams === 1);
    await close(page, listeners);
  });

  test("hundreds that came and went leave nothing behind", async (t) => {
    const page = await open("production");
    const listeners = await page.evaluate(() => life.listeners);
    const { runId } = await direct.workflows.invoke("chatty", { input: { n: 1, delay: 600_000 } });
    const session = await page.context().newCDPSession(page);
    const heap = async (): Promise<number> => {
      for (let i = 0; i < 3; i++) await session.send("HeapProfiler.collectGarbage");
      return ((await session.send("Runtime.getHeapUsage")) as { usedSize: number }).usedSize / 2 ** 20;
    };
    const cycles = (n: number): Promise<void> =>
      page.evaluate(
        async ([n, run]) => {
          for (let i = 0; i < n; i++) {
            life.show(i % 2 === 0 ? { ids: [`fresh-${i}`, "a"], run } : { ids: [] });
            await new Promise((resolve) => setTimeout(resolve));
          }
        },
        [n, runId] as const,
      );
    await cycles(200);
    const early = await heap();
    await cycles(soak ? 4_000 : 400);
    await show(page, { ids: [] });
    await eventually("no stream is left", () => stage.streams === 0);
    const late = await heap();
    t.diagnostic(`${early.toFixed(1)} MB after 100 times, ${late.toFixed(1)} MB after ${soak ? 2_100 : 300}`);
    assert.ok(late - early < 1, `grown by ${(late - early).toFixed(2)} MB`);
    await close(page, listeners);
  });

  test("what a server rendered is what the page begins with", async () => {
    for (const variant of ["development", "old-development"] as const) {
      const page = await open(variant, { hydrate: "1", ids: '["a"]' });
      await shows(page, "idle 2", "idle 2");
      assert.deepEqual(stage.complaints, []);
      await page.close();
    }
  });
});
