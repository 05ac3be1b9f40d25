// Somebody types while a reply of fifty updates a second grows: no task of the page is long, every key is there, and each shows at once.
// nothing runs beside it
// only in the soak
import { begin, check, composer, say, settled } from "./chat.mjs";
import { echoWorkOf, figure, given, longestOf, measure, traced } from "./budget.mjs";

const seconds = given.soak ? 60 : 10;
const rate = 50; // updates a second
const between = 40; // ms between two keys
const limit = 100; // ms

await measure(async (enter) => {
  const visitor = await enter();
  await begin(visitor);
  await say(visitor, `n=${seconds * rate} delay=${1_000 / rate}`);
  await visitor.page.getByText("word20").first().waitFor();
  await visitor.page.evaluate(listen);
  const keys = Math.floor(((seconds - 3) * 1_000) / (2 * between));
  const words = "the quick brown fox jumps over the lazy dog ".repeat(keys).slice(0, keys);
  const trace = await traced(visitor, async () => {
    await composer(visitor).pressSequentially(words, { delay: between });
    const typed = await composer(visitor).inputValue();
    await composer(visitor).fill("");
    await settled(visitor, 1, seconds * 3_000);
    return { typed, echo: await visitor.page.evaluate(() => window.echo) };
  });
  const { typed, echo } = trace.value;
  const longest = longestOf(trace);
  const work = echoWorkOf(trace);
  const of = `${rate} updates a second for ${seconds} s, ${words.length} keys`;
  figure("typing-tasks", `${of}: longest task ${longest.wall.toFixed(0)} ms, most at work ${longest.busy.toFixed(0)} ms (${limit} at most)`);
  figure("typing-echo", `${of}: slowest ${echo.toFixed(0)} ms, ${work.toFixed(0)} ms of them at work (${limit} at most)`);
  check(visitor, "typing", typed === words, `keys were lost: ${typed.length} of ${words.length}`);
  check(visitor, "typing", longest.busy <= limit, `a task of ${longest.busy} ms`);
  check(visitor, "typing", Math.min(echo, work) <= limit, `a key that shows after ${echo} ms, with ${work} ms of work`);
});

// listen keeps how long the slowest key took to be painted.
function listen() {
  window.echo = 0;
  new PerformanceObserver((list) => {
    for (const { name, duration } of list.getEntries()) if (name.startsWith("key") || name === "input") window.echo = Math.max(window.echo, duration);
  }).observe({ type: "event", durationThreshold: 16 });
}
