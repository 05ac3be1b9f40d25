// A program in a reply is text while it is being written, and is coloured beside the page when its fence is closed.
// only in the soak
import { perform } from "./stage.mjs";
import { begin, chat, check, heard, hears, instanceOf, open, say, settled } from "./chat.mjs";

const begun = 'func main() {\n  say("hello", 12) // aloud\n';
const whole = `${begun}}`;

await perform(async (enter) => {
  const visitor = await enter();
  const { page } = visitor;
  await begin(visitor);
  await say(visitor, "n=1");
  await settled(visitor, 1);
  const instance = instanceOf(visitor);
  await heard(visitor, instance);
  await open(visitor, instance);
  await hears(visitor);
  const code = page.locator(".block code");

  const message = { messageId: "entry_new", submissionId: "new" };
  await page.evaluate(([message, text]) => window.update({ type: "message-started", ...message }, { type: "message-delta", kind: "text", delta: text, ...message }), [message, `Here it is:\n\n- as you asked\n\n\`\`\`go\n${begun}`]);
  await code.getByText("aloud").waitFor();
  check(visitor, "open", (await code.locator("span").count()) === 0 && page.workers().length === 0, "a program is coloured before it is complete");

  await page.evaluate(([message, text]) => window.update({ type: "message-delta", kind: "text", delta: text, ...message }), [message, "}\n```\n\nThat is all."]);
  await code.locator(".w", { hasText: "func" }).waitFor();
  const kinds = await code.locator("span").evaluateAll((spans) => spans.map((span) => span.className).join(" "));
  check(visitor, "closed", kinds === "w s v c", `its colours are ${kinds}`);
  check(visitor, "closed", (await code.textContent()) === whole, `it reads ${await code.textContent()}`);
  check(visitor, "closed", page.workers().length === 1 && page.workers()[0].url().includes("/assets/marks.worker-"), `workers: ${page.workers().map((worker) => worker.url())}`);
  await page.evaluate(([message]) => window.update({ type: "message-completed", ...message }, { type: "submission-settled", outcome: "completed", ...message }), [message]);
  await page.getByText("That is all.").waitFor();
  await visitor.look("code", { at: chat(instance), see: ["That is all."] });
});
