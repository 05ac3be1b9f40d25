// A page of the tests: Chromium, the pages' scripts, and the API beside them at /api, passed on to the contract program.
import { readFile } from "node:fs/promises";
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { chromium, type Browser, type Page } from "playwright-core";
import { Contract, missing } from "../../../typescript/test/support/contract.js";

// The browser of CHROMIUM: go test names one.
const executablePath = process.env["CHROMIUM"];

/** Why the tests that need a browser are skipped, if they are. */
export const skip = missing || (!executablePath && "CHROMIUM names no browser; go test runs this with one");

/** With which React a page runs. */
export type Variant = "production" | "development" | "old" | "old-development";

/** A request of a page, for a test that answers it in the place of the service. It passes it on by returning false. */
export type Play = (asked: IncomingMessage, answer: ServerResponse) => boolean | Promise<boolean>;

export class Stage {
  readonly contract: Contract;
  readonly browser: Browser;
  /** Streams that are open now. */
  streams = 0;
  /** What the pages asked for. */
  asked: string[] = [];
  /** What the pages complained of. */
  complaints: string[] = [];
  play: Play = () => false;
  readonly #server: Server;

  private constructor(contract: Contract, browser: Browser) {
    this.contract = contract;
    this.browser = browser;
    this.#server = createServer((asked, answer) => void this.#serve(asked, answer));
  }

  static async open(): Promise<Stage> {
    const contract = await Contract.start();
    const browser = await chromium.launch({ executablePath: executablePath!, chromiumSandbox: false, args: ["--disable-gpu"] });
    const stage = new Stage(contract, browser);
    await new Promise<void>((resolve) => stage.#server.listen(0, "127.0.0.1", resolve));
    return stage;
  }

  /** clear closes all pages, whatever became of their test, and forgets what they did. */
  async clear(): Promise<void> {
    for (const context of this.browser.contexts()) await context.close();
    Object.assign(this, { asked: [], complaints: [], play: () => false });
  }

  async close(): Promise<void> {
    await this.browser.close();
    this.#server.closeAllConnections();
    this.#server.close();
    await this.contract.stop();
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** page opens a page of test/pages, in a window of its own. */
  async page(name: string, query: Record<string, string> = {}, variant: Variant = "production"): Promise<Page> {
    const page = await this.browser.newPage();
    page.on("pageerror", (error) => this.complaints.push(String(error)));
    page.on("console", (line) => {
      // What a test breaks on purpose is told by the browser itself.
      if (line.type() === "error" && !line.text().startsWith("Failed to load resource")) this.complaints.push(line.text());
    });
    await page.goto(`${this.origin}/${variant}/${name}?${new URLSearchParams(query)}`);
    return page;
  }

  async #serve(asked: IncomingMessage, answer: ServerResponse): Promise<void> {
    const url = asked.url!;
    if (url.startsWith("/api/")) {
      this.asked.push(`${asked.method} ${url.slice(4)}`);
      if (!(await this.play(asked, answer))) this.#pass(asked, answer);
      return;
    }
    const [, variant, name] = /^\/([\w-]+)\/(\w+)\?/.exec(url) ?? [];
    if (!name) return void answer.writeHead(url.endsWith("favicon.ico") ? 204 : 404).end();
    const script = await readFile(new URL(`pages/${variant}/${name}.js`, import.meta.url), "utf8");
    answer.setHeader("content-type", "text/html; charset=utf-8");
    answer.end(`<!doctype html><title>${name}</title><div id="root"></div><script>${script.replaceAll("</script", "<\\/script")}</script>`);
  }

  #pass(asked: IncomingMessage, answer: ServerResponse): void {
    const live = asked.url!.includes("live=sse");
    if (live) this.streams++;
    const onward = request(this.contract.url + asked.url!.slice(4), { method: asked.method!, headers: asked.headers }, (told) => {
      answer.writeHead(told.statusCode!, told.headers);
      told.pipe(answer);
      told.on("error", () => answer.destroy());
    });
    answer.on("close", () => {
      if (live) this.streams--;
      onward.destroy();
    });
    onward.on("error", () => answer.destroy());
    asked.pipe(onward);
  }
}
