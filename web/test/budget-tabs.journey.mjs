// Eight tabs on one host, of which a browser lets six connections through: a tab has two at most, a hidden one none, all of them load, and the one
// that is seen is live.
// only in the soak
// nothing runs beside it
import { figure, measure } from "./budget.mjs";
import { begin, chat, check, composer, instanceOf, say } from "./chat.mjs";

const tabs = 8;
const most = 2; // live connections of a tab
const patience = 60_000; // ms until a hidden tab has let go

await measure(async (enter) => {
  const first = await enter();
  await first.context.addInitScript(sight);
  const all = [count(first)];
  await begin(first);
  await say(first, "n=100000 delay=20");
  await grows(first);
  const address = chat(instanceOf(first));
  while (all.length < tabs) {
    await hide(all.at(-1));
    const next = count(await first.tab());
    all.push(next);
    await next.open(address);
    await composer(next).waitFor();
    await grows(next);
  }
  await turnTo(all, first);
  await grows(first);
  await composer(first).press("Escape");
  await first.page.locator(".foot.stopped").waitFor();
  const peak = Math.max(...all.map(({ live }) => live.most));
  figure("connections", `${tabs} tabs: ${peak} live at most in each (${most} at most), none in those that are hidden`);
  check(first, "connections", peak <= most && peak > 0, `a tab had ${peak} live connections`);
});

// count keeps how many streams a tab has open, and had at most.
function count(visitor) {
  const open = new Set();
  visitor.live = { open, most: 0 };
  visitor.page.on("request", (request) => {
    if (!new URL(request.url()).searchParams.has("live")) return;
    open.add(request);
    visitor.live.most = Math.max(visitor.live.most, open.size);
  });
  for (const over of ["requestfinished", "requestfailed"]) visitor.page.on(over, (request) => open.delete(request));
  return visitor;
}

// sight lets a journey say whether a tab is seen: the browser that it drives says so of all of them.
function sight() {
  let seen = true;
  Object.defineProperty(document, "visibilityState", { get: () => (seen ? "visible" : "hidden") });
  Object.defineProperty(document, "hidden", { get: () => !seen });
  window.beSeen = (on) => {
    seen = on;
    document.dispatchEvent(new Event("visibilitychange"));
  };
}

// hide turns away from a tab, and waits until it holds no connection.
async function hide(visitor) {
  await visitor.page.evaluate(() => window.beSeen(false));
  for (const end = Date.now() + patience; visitor.live.open.size > 0 && Date.now() < end; ) await visitor.page.waitForTimeout(100);
  check(visitor, "hidden", visitor.live.open.size === 0, `a hidden tab still has ${visitor.live.open.size} live connections`);
}

async function turnTo(all, visitor) {
  await hide(all.at(-1));
  await visitor.page.evaluate(() => window.beSeen(true));
}

// grows waits until a tab shows more of the reply than it did.
async function grows({ page }) {
  const words = () => document.querySelector(".it .prose")?.textContent.length ?? 0;
  const before = await page.evaluate(words);
  await page.waitForFunction((before) => document.querySelector(".it .prose")?.textContent.length > before, before);
}
