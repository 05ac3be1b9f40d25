// What every script stands on: visitors of the service with a browser of their own, and how their pages are looked at.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";
import { settings } from "./chromium.mjs";

export const given = JSON.parse(process.argv[2]);

const axe = readFileSync(new URL("node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
const script = basename(process.argv[1], ".mjs");
const desktop = { width: 1280, height: 860 };
const phone = { width: 390, height: 844 };
const patience = 60_000;
const shown = { runOnly: ["color-contrast", "link-in-text-block", "scrollable-region-focusable", "target-size"] }; // what width and scheme change

// strangers are the origins that a script leads the browser to, beside those of the service.
export const strangers = new Set();

const problems = [];
const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

// ask has the test do what no browser can.
export async function ask(act, of = {}) {
  process.stdout.write(JSON.stringify({ act, with: of }) + "\n");
  const { value, refused } = JSON.parse((await answers.next()).value);
  if (refused) throw new Error(`${act}: ${refused}`);
  return value;
}

// perform plays a script. All that is wrong with what was looked at is told at its end. A script that measures is alone in a browser of
// its own: a browser traces for one at a time, and all of its pages share the threads that draw.
export async function perform(play, { alone = false } = {}) {
  mkdirSync(given.shots, { recursive: true });
  const browser = alone ? await chromium.launch(settings(given.chromium)) : await chromium.connect(given.endpoint);
  const visitors = [];
  const enter = async (options) => {
    visitors.push(await Visitor.enter(browser, options));
    return visitors.at(-1);
  };
  try {
    await play(enter);
    for (const each of visitors) each.settle("the end", 200);
  } catch (err) {
    problems.push(err.stack);
    for (const [i, each] of visitors.entries()) await each.lament(i);
  }
  await browser.close();
  if (problems.length > 0) console.error(problems.join("\n"));
  process.exit(problems.length > 0 ? 1 : 0);
}

// Visitor is a person with a browser of their own. Everything that the browser complains of is held against the page, until
// a look says that it was to be expected.
class Visitor {
  constructor(context, page, scripts) {
    Object.assign(this, { context, page, scripts, complaints: [], refusals: [] });
    page.on("console", (m) => this.hear(m));
    page.on("pageerror", (err) => this.complaints.push(`exception: ${err.message}`));
    page.on("requestfailed", (r) => this.miss(r));
    page.on("request", (r) => this.meet(r.url()));
    page.on("response", (r) => r.status() >= 400 && this.refusals.push({ status: r.status(), url: r.url(), method: r.request().method() }));
  }

  static async enter(browser, { scripts = true, userAgent } = {}) {
    const context = await browser.newContext({
      viewport: desktop, colorScheme: "light", locale: "en-GB", timezoneId: "UTC", javaScriptEnabled: scripts, userAgent, ignoreHTTPSErrors: true,
    });
    context.setDefaultTimeout(patience);
    return new Visitor(context, await context.newPage(), scripts);
  }

  // tab opens a second page of the same browser.
  async tab() {
    return new Visitor(this.context, await this.context.newPage(), this.scripts);
  }

  hear(message) {
    if (!["error", "warning"].includes(message.type())) return;
    // The browser also tells of every refusal; those are judged by their status.
    if (/^Failed to load resource: the server responded with a status of/.test(message.text())) return;
    this.complaints.push(`console: ${message.text()}`);
  }

  miss(request) {
    // Whoever leaves a page early does not wait for what belongs to it, nor does a page that goes on by itself. Where one arrives is looked at.
    if (request.failure().errorText === "net::ERR_ABORTED") return;
    // Scripts that a document asks for ahead are not for whoever has none.
    if (!this.scripts && request.failure().errorText === "csp") return;
    this.complaints.push(`no answer: ${request.method()} ${request.url()}: ${request.failure().errorText}`);
  }

  meet(address) {
    const known = [given.platform, given.agents, given.admin, given.github, ...strangers];
    if (/^https?:/.test(address) && !known.includes(new URL(address).origin)) this.complaints.push(`a stranger is asked: ${address}`);
  }

  async open(address) {
    await this.page.goto(new URL(address, given.platform).href);
  }

  // press and follow wait until the browser has gone where the button or the link leads.
  async press(name, within = this.page) {
    await this.go(within.getByRole("button", { name, exact: true }));
  }

  async follow(name, within = this.page) {
    await this.go(within.getByRole("link", { name, exact: true }));
  }

  async go(control) {
    const loaded = this.page.waitForEvent("load");
    loaded.catch(() => {}); // the click tells why
    await control.click();
    await loaded;
  }

  async fill(fields) {
    for (const [label, value] of Object.entries(fields)) await this.page.getByLabel(label, { exact: true }).fill(value);
  }

  // unfold opens what is folded in the row of an item.
  async unfold(name, item) {
    await this.page.getByRole("listitem").filter({ hasText: item }).locator("summary", { hasText: name }).click();
  }

  async text() {
    return (await this.page.locator("body").innerText()).replace(/\s+/g, " ");
  }

  // once is what is read when it is as it should be, or what was read last: some of a page is drawn after the rest.
  async once(read, right) {
    for (const end = Date.now() + 20_000; ; await this.page.waitForTimeout(50)) {
      const found = await read();
      if (right(found) || Date.now() > end) return found;
    }
  }

  // drawn waits until what a changed size brings with it is drawn: pages hear of it a frame later. One that is out of sight has no frames.
  async drawn() {
    if (!this.scripts) return;
    await this.page.evaluate(async () => {
      const frame = () => new Promise((next) => requestAnimationFrame(() => setTimeout(next)));
      await Promise.race([frame().then(frame).then(frame), new Promise((next) => setTimeout(next, 2_000))]);
    });
  }

  // titled blames a page that is not called that, or anything that the pattern fits.
  async titled(name, title) {
    const right = (found) => (title instanceof RegExp ? title.test(found) : found === title);
    const found = await this.once(() => this.page.title(), right);
    if (!right(found)) this.blame(name, `is titled ${JSON.stringify(found)}`);
  }

  // focused is the name of the field that takes what is typed.
  async focused() {
    return this.page.locator("html").evaluate(() => document.activeElement.getAttribute("name"));
  }

  // beginsAt waits for the focus to be on a field: a page takes it when it is drawn, which may be after it has loaded.
  async beginsAt(field) {
    for (const end = Date.now() + 20_000; Date.now() < end; await this.page.waitForTimeout(20)) {
      if ((await this.focused()) === field) return true;
    }
    return false;
  }

  // at waits until the browser is there: an address, or a path of the platform.
  async at(where) {
    const wanted = where instanceof RegExp ? where : new URL(where, given.platform).href;
    await this.page.waitForURL(wanted instanceof RegExp ? wanted : (url) => url.href === wanted).catch(() => {
      throw new Error(`the browser is at ${this.page.url()}, not at ${wanted}`);
    });
  }

  // look judges a page and has axe judge it: in the soak, and where pictures are wanted, in both widths and schemes.
  async look(name, expected) {
    await this.see(name, expected);
    await this.picture(name);
  }

  // see judges where the browser is and what it shows. It is for a page of which there is a picture already.
  async see(name, { at, status = 200, title, see = [], miss = [], focus }) {
    await this.at(at);
    this.settle(name, status);
    const text = await this.once(() => this.text(), (text) => see.every((each) => text.includes(each)));
    for (const each of see) if (!text.includes(each)) this.blame(name, `does not say ${JSON.stringify(each)}, but ${JSON.stringify(text)}`);
    for (const each of miss) if (text.includes(each)) this.blame(name, `says ${JSON.stringify(each)}`);
    if (title) await this.titled(name, title);
    if (focus && !(await this.beginsAt(focus))) this.blame(name, `does not begin at ${focus}`);
  }

  // settle compares what was refused since the last look with what was to be.
  settle(name, status) {
    const wanted = status >= 400 ? [status] : [];
    if (this.refusals.map((r) => r.status).join() !== wanted.join()) {
      this.blame(name, `refused: ${this.refusals.map((r) => `${r.status} ${r.method} ${r.url}`).join(", ") || "nothing"}, want ${wanted.join() || "nothing"}`);
    }
    for (const each of this.complaints) this.blame(name, each);
    this.refusals = [];
    this.complaints = [];
  }

  async picture(name) {
    if (this.scripts) await this.page.evaluate(axe);
    const others = given.everyMode ? [[desktop, "dark"], [phone, "light"]] : [];
    await this.through([[desktop, "light"], [phone, "dark"], ...others], async (mode) => {
      await this.fits(name, mode);
      await this.shoot(`${script}-${name}-${mode}`);
      if (mode === "1280-light") await this.audit(name, mode);
      if (mode === "390-dark" && given.everyMode) await this.audit(name, mode, shown);
    });
  }

  // judge has axe look at a part of the page, a dialog for instance, in both schemes and widths; in the first by all of its rules.
  async judge(name, part = "body") {
    await this.page.evaluate(axe);
    await this.through([[desktop, "light"], [desktop, "dark"], [phone, "light"], [phone, "dark"]], async (mode) => {
      await this.fits(name, mode);
      await this.audit(name, mode, mode === "1280-light" ? {} : shown, part);
    });
  }

  // through shows the page in one mode after the other, and then as it was.
  async through(modes, look) {
    for (const [size, scheme] of modes) {
      await this.page.setViewportSize(size);
      await this.page.emulateMedia({ colorScheme: scheme });
      await this.drawn();
      await look(`${size.width}-${scheme}`);
    }
    await this.page.setViewportSize(desktop);
    await this.page.emulateMedia({ colorScheme: "light" });
  }

  // fits blames a page that scrolls sideways.
  async fits(name, mode) {
    const wide = await this.page.locator("html").evaluate((html) => html.scrollWidth - html.clientWidth);
    if (wide > 0) this.blame(name, `scrolls sideways by ${wide} px at ${mode}`);
  }

  // shoot takes the whole page, also what is out of view, where pictures are wanted.
  async shoot(name) {
    if (!given.pictures) return;
    const browser = await this.context.newCDPSession(this.page);
    const { cssContentSize } = await browser.send("Page.getLayoutMetrics");
    const { data } = await browser.send("Page.captureScreenshot", { optimizeForSpeed: true, captureBeyondViewport: true, clip: { ...cssContentSize, scale: 1 } });
    writeFileSync(join(given.shots, name + ".png"), data, "base64");
    await browser.detach();
  }

  // postcard takes what is in view, small enough to be shown in a text.
  async postcard(name) {
    const browser = await this.context.newCDPSession(this.page);
    const { data } = await browser.send("Page.captureScreenshot", { format: "webp", quality: 82 });
    writeFileSync(join(given.shots, name + ".webp"), data, "base64");
    await browser.detach();
  }

  // audit has axe judge the page, or a part of it, when what moves has arrived. It needs scripts, and the page is the same with and without them.
  async audit(name, mode, options, part) {
    if (!this.scripts) return;
    const found = await this.page.evaluate(
      ([options, part]) => {
        for (const each of document.getAnimations()) if (each.effect.getComputedTiming().iterations !== Infinity) each.finish();
        return window.axe.run(part ?? document, { ...options, resultTypes: ["violations"], preload: false });
      },
      [options, part],
    );
    for (const { id, impact, help, nodes } of found.violations) {
      if (impact === "serious" || impact === "critical") this.blame(name, `${mode}: axe, ${impact} ${id}: ${help}: ${nodes.map((n) => n.target).join(" ")}`);
    }
  }

  blame(name, what) {
    problems.push(`${script}, ${name}: ${what}`);
  }

  // lament keeps what was there when a script could not go on.
  async lament(i) {
    try {
      problems.push(`visitor ${i} is at ${this.page.url()}: ${await this.text()}`);
      for (const each of [...this.complaints, ...this.refusals.map((r) => `${r.status} ${r.method} ${r.url}`)]) problems.push(`visitor ${i}: ${each}`);
      await this.shoot(`${script}-stuck-${i}`);
    } catch {
      // It is stuck in earnest.
    }
  }
}
