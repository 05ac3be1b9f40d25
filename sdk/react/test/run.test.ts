import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import type { Page } from "playwright-core";
import { createClient, type Client } from "@svc/sdk";
import { eventually } from "../../typescript/test/support/contract.js";
import { Stage, skip } from "./support/stage.js";

describe("runs in a browser", { skip }, () => {
  let stage: Stage;
  let direct: Client;

  before(async () => {
    stage = await Stage.open();
    direct = createClient({ baseUrl: stage.contract.url });
  });
  after(() => stage?.close());
  afterEach(() => stage.clear());

  const open = async (query: Record<string, string>): Promise<Page> => {
    stage.asked = [];
    return stage.page("run", query, "development");
  };
  const until = (page: Page, holds: () => boolean): Promise<unknown> => page.waitForFunction(holds, undefined, { polling: 10, timeout: 20_000 });
  const press = (page: Page, name: string): Promise<void> => page.getByRole("button", { name }).click();
  const close = async (page: Page): Promise<void> => {
    await page.close();
    await eventually("no stream is left", () => stage.streams === 0);
    assert.deepEqual(stage.complaints, []);
  };

  test("a workflow is started once, followed to its end, and gives its result", async () => {
    const page = await open({ workflow: "steps", input: '{"n":4,"sleep":20}' });
    assert.deepEqual(await page.evaluate(() => [workflow.status, workflow.runId]), ["idle", undefined]);
    await press(page, "Start");
    await until(page, () => workflow.phase === "closed");
    // One that is over before the page has read it is never seen at work.
    const phases = await page.evaluate(() => seen);
    assert.deepEqual(phases.filter((phase) => phase !== "active"), ["idle", "starting", "loading", "completed"]);
    assert.ok(!phases.includes("active") || phases[3] === "active", phases.join());
    assert.equal(await page.locator("output").textContent(), "6");
    const told = await page.evaluate(() => ({ runId: workflow.runId!, events: workflow.events }));
    assert.deepEqual(told.events, await direct.runs.events(told.runId));
    assert.equal(stage.asked.filter((line) => line.startsWith("POST")).length, 1);
    await press(page, "Start");
    await page.waitForFunction((before) => workflow.runId !== undefined && workflow.runId !== before && workflow.phase === "closed", told.runId, { polling: 10, timeout: 20_000 });
    await close(page);
  });

  test("a run that fails, and one that is refused, say why", async () => {
    const failing = await open({ workflow: "failing" });
    await press(failing, "Start");
    await until(failing, () => workflow.status === "errored");
    const error = await failing.evaluate(() => ({ ...(workflow.error as object), runId: workflow.runId }));
    assert.deepEqual([(error as { type?: string }).type, typeof error.runId], ["run_failed", "string"]);
    await close(failing);
    const unknown = await open({ workflow: "nothing" });
    await press(unknown, "Start");
    await until(unknown, () => workflow.error !== undefined);
    assert.deepEqual(await unknown.evaluate(() => [workflow.status, (workflow.error as { type: string }).type]), ["idle", "workflow_not_found"]);
    await close(unknown);
  });

  test("a start whose answer was lost is the same run when it is retried", async () => {
    const page = await open({ workflow: "steps", input: '{"n":2}', patience: "0" });
    const runs: string[] = [];
    stage.play = async (asked, answer) => {
      if (asked.method !== "POST") return false;
      const headers = { "content-type": "application/json", "idempotency-key": String(asked.headers["idempotency-key"]) };
      const told = await fetch(`${stage.contract.url}/workflows/steps`, { method: "POST", headers, body: '{"n":2}' });
      runs.push(((await told.json()) as { runId: string }).runId);
      answer.destroy();
      return true;
    };
    await press(page, "Start");
    await until(page, () => workflow.error !== undefined);
    stage.play = () => false;
    await press(page, "Retry");
    await until(page, () => workflow.status === "completed");
    assert.deepEqual(new Set(runs), new Set([await page.evaluate(() => workflow.runId!)]));
    await close(page);
  });

  test("a run is followed over a reload and over a death of the service, each event once", async () => {
    const { runId } = await direct.workflows.invoke("chatty", { input: { n: 80, delay: 60 } });
    const page = await open({ run: runId });
    await until(page, () => run.events.length > 5 && run.phase === "live");
    await page.reload();
    await until(page, () => run.events.length > 15 && run.phase === "live");
    await stage.contract.kill();
    await until(page, () => run.phase === "connecting" && run.error !== undefined && run.status === "active");
    await stage.contract.run();
    await until(page, () => run.status === "completed" && run.phase === "closed");
    assert.deepEqual(await page.evaluate(() => run.events), await direct.runs.events(runId));
    assert.equal(await page.evaluate(() => run.error), undefined);
    await close(page);
  });

  test("a long run can be begun at its end, and one that nobody has is an error", async () => {
    const { runId } = await direct.workflows.invoke("chatty", { input: { n: 3_000 }, wait: "result" });
    const page = await open({ run: runId, tail: "10" });
    await until(page, () => run.phase === "closed");
    assert.equal(await page.evaluate(() => run.events.length), 10);
    await close(page);
    const whole = await open({ run: runId });
    await until(whole, () => run.phase === "closed");
    assert.equal(await whole.evaluate(() => run.events.length), 3_002);
    await close(whole);
    const nobody = await open({ run: "run_01JZZZZZZZZZZZZZZZZZZZZZZZ" });
    await until(nobody, () => run.phase === "error");
    assert.equal(await nobody.evaluate(() => (run.error as { type: string }).type), "run_not_found");
    await close(nobody);
    const none = await open({});
    assert.deepEqual(await none.evaluate(() => [run.phase, run.status]), ["idle", "idle"]);
    assert.deepEqual(stage.asked, []);
    await close(none);
  });
});
