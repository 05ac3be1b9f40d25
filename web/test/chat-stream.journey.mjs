// Somebody watches a long reply, reloads half-way, and finds what the service has: nothing moved, nothing lost, nothing doubled.
import { perform } from "./stage.mjs";
import { begin, check, chat, equal, instanceOf, say, seen, settled } from "./chat.mjs";

await perform(async (enter) => {
  const visitor = await enter();
  await begin(visitor);
  await visitor.page.getByText("Three prompts that work now").waitFor();
  const loading = await seen(visitor);
  console.log(`CLS of loading the chat: ${loading.shifts.toFixed(4)} (0.02 at most)`);
  check(visitor, "load", loading.shifts <= 0.02, `moved by ${loading.shifts}`);
  await visitor.look("welcome", { at: chat(instanceOf(visitor)), title: "New conversation · Chat · Personal", see: ["built-in scripted model", "Set up Personal", "1 of 5 done"] });

  await visitor.page.evaluate(() => (window.seen.shifts = 0)); // pictures are taken in several widths
  await say(visitor, "n=400 delay=20");
  await visitor.page.getByText("word30").waitFor();
  const early = await visitor.page.locator(".it").innerText();
  await settled(visitor, 1);
  const { shifts, said } = await seen(visitor);
  check(visitor, "stream", early.length < (await visitor.page.locator(".it").innerText()).length, "did not grow");
  check(visitor, "stream", shifts <= 0.02, `moved by ${shifts}`);
  check(visitor, "stream", said.filter((each) => each === "Reply complete").length === 1, `said ${JSON.stringify(said)}`);
  // Facts are spoken, and no word of the reply. (interface.md 10.34)
  check(visitor, "stream", said.length <= 6 && said.every((each) => ["Replying", "Reply complete"].includes(each)), `said ${JSON.stringify(said)}`);
  console.log(`said during a reply of 400 words: ${said.length} (6 at most): ${said.join(", ")}`);
  console.log(`CLS of a reply of 400 words: ${shifts.toFixed(4)} (0.02 at most)`);
  await equal(visitor, "stream");
  await visitor.look("reply", { at: chat(instanceOf(visitor)), title: "n=400 delay=20 · Chat · Personal", see: ["word0 word1", "word399", "401 tokens"] });

  await say(visitor, "n=300 delay=60");
  const second = visitor.page.locator(".it").nth(1);
  await second.getByText("word60").waitFor();
  await visitor.page.reload();
  await second.getByText("word60").waitFor();
  const after = await second.innerText();
  check(visitor, "reload", !after.includes("word299"), "was over before the reload");
  await settled(visitor, 2);
  await equal(visitor, "reload");
});
