// Eight tabs of one browser, each with a reply that goes on. A browser opens six connections to a host that speaks HTTP/1.1: those that nobody looks
// at let go of theirs, so all load, the one that is seen is live, and each has all of its reply until it is stopped.
// only in the soak
import { perform } from "./stage.mjs";
import { begin, check, equal, open, say, send, settled } from "./chat.mjs";

const many = 8;
const soon = 15_000;
const slowly = "n=1000 delay=300"; // for minutes; a line of more than 10,000 letters would be folded

await perform(async (enter) => {
  const first = await enter();
  await begin(first);
  const tabs = [first];
  for (let i = 1; i <= many; i++) {
    const tab = tabs.at(-1);
    if (i > 1) await open(tab);
    await say(tab, slowly);
    await tab.page.locator(".it").getByText("word9", { exact: false }).first().waitFor({ timeout: soon });
    if (i === many) break;
    await see(tab, false);
    tabs.push(await tab.tab());
  }
  const spoken = await tabs.at(-1).page.evaluate(() => performance.getEntries().map((entry) => entry.nextHopProtocol).filter(Boolean));
  check(first, "protocol", spoken.length > 0 && spoken.every((each) => each === "http/1.1"), `is ${[...new Set(spoken)].join()}`);

  // Whichever is turned to is live at once.
  let slowest = 0;
  for (const [i, tab] of tabs.entries()) {
    await see(tabs.at(i - 1), false);
    const since = Date.now();
    const before = await length(tab);
    await see(tab, true);
    await tab.page.waitForFunction((before) => document.querySelector(".it").textContent.length > before, before, { timeout: soon });
    slowest = Math.max(slowest, Date.now() - since);
    await tab.page.getByText("Live", { exact: true }).waitFor({ timeout: soon });
  }
  console.log(`eight tabs over HTTP/1.1: the slowest had news ${slowest} ms after it was turned to`);
  for (const [i, tab] of tabs.entries()) {
    await see(tabs.at(i - 1), false);
    await see(tab, true);
    await send(tab).click(); // it is Stop while the reply goes on
    await settled(tab, 1);
    await equal(tab, `tab ${i + 1}`);
    tab.settle(`tab ${i + 1}`, 200);
  }
});

function length(tab) {
  return tab.page.evaluate(() => document.querySelector(".it").textContent.length);
}

// see shows a tab or hides it: a browser without a window shows all of them.
function see(tab, visible) {
  return tab.page.evaluate((state) => {
    Object.defineProperty(document, "visibilityState", { value: state, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  }, visible ? "visible" : "hidden");
}
