// Half an hour of replies at fifty updates a second, as fast as the page takes them: it keeps what was said, and little else.
// only in the soak
// nothing runs beside it
import { begin, check, heard, hears, instanceOf, open, say, settled } from "./chat.mjs";
import { figure, heapOf, measure } from "./budget.mjs";

const updates = 30 * 60 * 50;
const perReply = 500;

await measure(async (enter) => {
  const visitor = await enter();
  await begin(visitor);
  await say(visitor, "n=1");
  await settled(visitor, 1);
  const instance = instanceOf(visitor);
  await heard(visitor, instance);
  await open(visitor, instance);
  await hears(visitor);
  await visitor.page.evaluate(hear, [0, 2, perReply]);
  const before = await heapOf(visitor);
  const begun = Date.now();
  await visitor.page.evaluate(hear, [2, updates / perReply, perReply]);
  await visitor.page.getByText(`end ${updates / perReply - 1}`).waitFor();
  const grown = (await heapOf(visitor)) - before;
  figure("stream-heap", `${updates} updates in ${((Date.now() - begun) / 1_000).toFixed(0)} s: ${grown.toFixed(1)} MB more (30 at most), ${before.toFixed(0)} MB before`);
  check(visitor, "heap", grown <= 30, `${grown} MB more`);
});

// hear has the page take in replies, so many updates in each frame.
async function hear([from, to, updates]) {
  const perFrame = 25;
  for (let reply = from; reply < to; reply++) {
    const submissionId = `heard-${reply}`;
    const messageId = `entry_heard_${reply}`;
    const question = { id: `entry_asked_${reply}`, role: "user", purpose: "user", display: "visible", submissionId, parts: [{ type: "text", text: `Question ${reply}`, state: "done" }], metadata: {} };
    window.update({ type: "message-appended", message: question }, { type: "message-started", messageId, submissionId });
    for (let said = 0; said < updates; said++) {
      const paragraph = said % 50 === 49 ? "\n\n" : "";
      window.update({ type: "message-delta", kind: "text", delta: `word${said} ${paragraph}`, messageId });
      if (said % perFrame === 0) await new Promise(requestAnimationFrame);
    }
    window.update({ type: "message-delta", kind: "text", delta: `end ${reply}`, messageId }, { type: "message-completed", messageId }, { type: "submission-settled", submissionId, outcome: "completed" });
    await new Promise(requestAnimationFrame);
  }
}
