// A conversation of ten thousand messages, and a reply of fifty updates a second: the budgets of the interface, measured and printed.
// The history is made up; it takes long to say so much.
// only in the soak
import { given, perform } from "./stage.mjs";
import { begin, check, composer, instanceOf, open, say, seen, settled, told } from "./chat.mjs";

const many = 10_000;
const seconds = given.soak ? 60 : 8;

await perform(async (enter) => {
  const visitor = await enter();
  await begin(visitor);
  const { page } = visitor;

  // Fifty updates a second while somebody types.
  await say(visitor, `n=${seconds * 50} delay=20`);
  await page.getByText("word20").first().waitFor();
  await page.evaluate(() => (window.seen.long = 0));
  const letters = "the quick brown fox jumps over the lazy dog ".repeat(seconds > 20 ? 8 : 2);
  await page.evaluate(() => {
    window.echo = 0;
    const area = document.querySelector(".composer textarea");
    area.addEventListener("keydown", () => {
      const at = performance.now();
      requestAnimationFrame(() => (window.echo = Math.max(window.echo, performance.now() - at)));
    });
  });
  await composer(visitor).pressSequentially(letters, { delay: 30 });
  check(visitor, "typing", (await composer(visitor).inputValue()) === letters, "a key was lost");
  await composer(visitor).fill("");
  await settled(visitor, 1, 120_000);
  const { long } = await seen(visitor);
  const echo = await page.evaluate(() => window.echo);
  console.log(`50 updates a second: longest task ${Math.round(long)} ms (100 at most), typing echo ${Math.round(echo)} ms (100 at most)`);
  if (given.soak) check(visitor, "typing", long <= 100 && echo <= 100, `task ${long} ms, echo ${echo} ms`);

  // Ten thousand messages.
  const instance = instanceOf(visitor);
  await told(visitor, instance, (snapshot) => {
    const at = (i) => new Date(Date.now() - (many - i) * 1_000).toISOString();
    const talk = Array.from({ length: many / 2 }, (_, i) => [
      { id: `entry_q${i}`, role: "user", purpose: "user", display: "visible", submissionId: `s${i}`, parts: [{ type: "text", text: i === 0 ? "the very first needle" : `Question ${i}: what about this?`, state: "done" }], metadata: { timestamp: at(2 * i) } },
      { id: `entry_a${i}`, role: "assistant", purpose: "assistant", display: "visible", submissionId: `s${i}`, parts: [{ type: "text", text: `Answer **${i}**.\n\n${"Some words that fill a line or two. ".repeat(1 + (i % 7))}\n\n- one\n- two`, state: "done" }], metadata: { timestamp: at(2 * i + 1) } },
    ]).flat();
    snapshot.messages = [...talk, ...snapshot.messages];
    snapshot.settlements = [...Array.from({ length: many / 2 }, (_, i) => ({ submissionId: `s${i}`, outcome: "completed" })), ...snapshot.settlements];
    return snapshot;
  });
  await open(visitor, instance);
  await page.locator(".row-of").first().waitFor();
  await page.waitForTimeout(1_000);
  const measured = await page.evaluate(async () => {
    const view = document.querySelector(".scroll");
    const frames = [];
    let last = performance.now();
    const end = last + 3_000;
    while (performance.now() < end) {
      view.scrollTop -= 90;
      view.dispatchEvent(new WheelEvent("wheel", { deltaY: -90 }));
      await new Promise(requestAnimationFrame);
      frames.push(performance.now() - last);
      last = performance.now();
    }
    return { fps: (frames.length * 1_000) / frames.reduce((a, b) => a + b, 0), nodes: document.querySelectorAll("*").length, blank: document.elementFromPoint(view.getBoundingClientRect().x + 300, view.getBoundingClientRect().y + 300)?.closest("[data-row]") === null };
  });
  const browser = await visitor.context.newCDPSession(page);
  await browser.send("HeapProfiler.collectGarbage");
  const { usedSize } = await browser.send("Runtime.getHeapUsage");
  const heap = usedSize / 1024 / 1024;
  console.log(`${many} messages: ${measured.fps.toFixed(0)} frames a second (50 at least), ${heap.toFixed(0)} MB (200 at most), ${measured.nodes} elements (3000 at most)`);
  check(visitor, "long", heap < 200 && measured.nodes <= 3_000, `${heap} MB, ${measured.nodes} elements`);
  if (given.soak) check(visitor, "long", measured.fps >= 50, `${measured.fps} frames a second`);

  await page.keyboard.press("Control+f");
  await page.getByRole("searchbox").or(page.getByRole("textbox", { name: "Find in this conversation" })).first().fill("very first needle");
  await page.getByRole("search").getByText("1 of 1").waitFor();
  await page.locator(".scroll").getByText("the very first needle").waitFor();
  const top = await page.locator(".scroll").evaluate((view) => view.scrollTop);
  check(visitor, "found", top < 200, `the first message is shown at ${top}`);
  await page.keyboard.press("Escape");
});
