// A conversation of ten thousand messages: it is scrolled swiftly, is small, hears fifty updates a second, and the first message is found. The history
// and what follows it are made here: it takes long to say so much.
// only in the soak
// nothing runs beside it
import { begin, check, heard, hears, instanceOf, open, say, settled, talk, told } from "./chat.mjs";
import { figure, heapOf, longestOf, measure, swift, traced } from "./budget.mjs";

const many = 10_000;
const needle = "the very first needle";
const textOf = (i) => (i === 0 ? needle : i % 2 === 0 ? `Question ${i}: what about this?` : `Answer **${i}**.\n\n${"Some words that fill a line or two. ".repeat(1 + (i % 7))}\n\n- one\n- two${i % 50 === 1 ? "\n\n```go\nfunc main() {}\n```" : ""}`);

await measure(async (enter) => {
  const visitor = await enter();
  const { page } = visitor;
  await begin(visitor);
  await say(visitor, "n=1");
  await settled(visitor, 1);
  const instance = instanceOf(visitor);
  await told(visitor, instance, (snapshot) => {
    const { messages, settlements } = talk(many, textOf);
    return { ...snapshot, messages: [...messages, ...snapshot.messages], settlements: [...settlements, ...snapshot.settlements] };
  });
  await heard(visitor, instance);
  await open(visitor, instance);
  await page.locator(".row-of").first().waitFor();
  await hears(visitor);

  await update(visitor);
  await swift(visitor, "messages-scroll", `${many} messages scrolled`, (_, view) => {
    const scroller = document.querySelector(view);
    scroller.dispatchEvent(new WheelEvent("wheel", { deltaY: -90 }));
    scroller.scrollTop -= 90;
  }, ".scroll");
  const heap = await heapOf(visitor);
  const nodes = await page.evaluate(() => document.querySelectorAll("*").length);
  figure("messages-kept", `${many} messages: ${heap.toFixed(0)} MB (200 at most), ${nodes} elements (3000 at most)`);
  check(visitor, "kept", heap < 200, `${heap} MB`);
  check(visitor, "kept", nodes <= 3_000, `${nodes} elements`);
  const shown = await page.evaluate(() => Boolean(document.elementFromPoint(innerWidth / 2, innerHeight / 2)?.closest("[data-row]")));
  check(visitor, "scrolled", shown, "nothing is drawn in the middle of the view");
  await find(visitor);
});

// update has the page hear fifty updates a second beside all that was said before.
async function update(visitor) {
  const seconds = 10;
  const trace = await traced(visitor, () =>
    visitor.page.evaluate(
      (updates) =>
        new Promise((done) => {
          const [messageId, submissionId] = ["entry_new", "new"];
          window.update({ type: "message-started", messageId, submissionId });
          let said = 0;
          let behind = 0;
          const timer = setInterval(() => {
            window.update({ type: "message-delta", kind: "text", delta: said % 60 === 59 ? `word${said}.\n\n` : `word${said} `, messageId });
            if (++said % 100 === 0) behind = Math.max(behind, said - Number(document.querySelector(".writing")?.textContent.match(/word(\d+)\D*$/)?.[1] ?? 0));
            if (said < updates) return;
            clearInterval(timer);
            window.update({ type: "message-completed", messageId }, { type: "submission-settled", submissionId, outcome: "completed" });
            done(behind);
          }, 20);
        }),
      seconds * 50,
    ),
  );
  await visitor.page.getByText("word499").waitFor();
  const longest = longestOf(trace);
  const behind = trace.value;
  figure("messages-updates", `50 updates a second beside ${many} messages: longest task ${longest.wall.toFixed(0)} ms, most at work ${longest.busy.toFixed(0)} ms (100 at most), ${behind} words behind (25 at most)`);
  check(visitor, "updates", behind <= 25, `is ${behind} words behind`);
  check(visitor, "updates", longest.busy <= 100, `a task of ${longest.busy} ms`);
}

// find leads to the first message, which is far from all that is drawn.
async function find(visitor) {
  const { page } = visitor;
  await page.keyboard.press("Control+f");
  await page.getByRole("textbox", { name: "Find in this conversation" }).fill(needle);
  await page.getByRole("search").getByText("1 of 1").waitFor();
  await page.locator(".scroll").getByText(needle).waitFor();
  const top = await page.locator(".scroll").evaluate((view) => view.scrollTop);
  check(visitor, "found", top < 200, `the first message is shown at ${top}`);
  await visitor.picture("found");
}
