import assert from "node:assert/strict";
import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import { build } from "esbuild";
import { chromium, type Browser, type Page } from "playwright-core";
import { createClient, type Client, type Observation } from "@svc/sdk";
import { Contract, missing } from "./support/contract.js";
import { wantSame } from "./support/same.js";

// The browser of CHROMIUM: go test names one.
const executablePath = process.env["CHROMIUM"];
const skip = missing || (!executablePath && "CHROMIUM names no browser; go test runs this with one");

declare const sdk: { createClient: typeof createClient };
declare let observation: Observation;

describe("in a browser", { skip }, () => {
  let contract: Contract;
  let direct: Client;
  let server: Server;
  let browser: Browser;
  let page: Page;
  let streams = 0; // connections that are open now

  before(async () => {
    contract = await Contract.start();
    direct = createClient({ baseUrl: contract.url });
    const resolveDir = new URL("..", import.meta.url).pathname;
    const { outputFiles } = await build({ stdin: { contents: 'export * from "@svc/sdk";', resolveDir }, bundle: true, format: "iife", globalName: "sdk", write: false });
    const script = outputFiles[0]!.text;
    // One origin, as a program has it that mounts the API beside its pages.
    server = createServer((asked, answer) => {
      if (!asked.url!.startsWith("/api/")) return void answer.setHeader("content-type", "text/html").end(`<!doctype html><script>${script}</script>`);
      const live = asked.url!.includes("live=sse");
      if (live) streams++;
      const onward = request(contract.url + asked.url!.slice(4), { method: asked.method!, headers: asked.headers }, (told) => {
        answer.writeHead(told.statusCode!, told.headers);
        told.pipe(answer);
      });
      answer.on("close", () => {
        if (live) streams--;
        onward.destroy();
      });
      onward.on("error", () => answer.destroy());
      asked.pipe(onward);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    browser = await chromium.launch({ executablePath: executablePath!, chromiumSandbox: false, args: ["--disable-gpu"] });
    page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  });
  after(async () => {
    await browser?.close();
    server?.closeAllConnections();
    server?.close();
    await contract?.stop();
  });

  const show = (visible: boolean): Promise<void> =>
    page.evaluate((visible) => {
      Object.defineProperty(document, "visibilityState", { value: visible ? "visible" : "hidden", configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }, visible);

  const until = async (what: string, ok: () => boolean | Promise<boolean>): Promise<void> => {
    for (const end = Date.now() + 20_000; !(await ok()); await page.waitForTimeout(10)) assert.ok(Date.now() < end, `not yet: ${what}`);
  };

  test("a page observes, lets go while it is hidden, and has all of it in the end", async () => {
    await page.evaluate(() => {
      const client = sdk.createClient({ baseUrl: "/api" });
      Object.assign(globalThis, { observation: client.agents.observe("assistant", "page") });
      observation.subscribe(() => {});
      void client.agents.send("assistant", "page", { message: "n=40 delay=25" });
    });
    await until("it speaks", () => page.evaluate(() => observation.getSnapshot().messages.length === 2));
    assert.equal(streams, 1);
    await show(false);
    await until("its connection is gone", () => streams === 0);
    await show(true);
    await until("all is settled", () => page.evaluate(() => observation.getSnapshot().settlements.length === 1));
    const state = await page.evaluate(() => observation.getSnapshot());
    wantSame(state, await direct.agents.history("assistant", "page"), "in the page", true);
    await page.evaluate(() => observation.close());
    await until("nothing is left behind", () => streams === 0);
  });
});
