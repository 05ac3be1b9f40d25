// What the budgets of the interface are measured with. A machine that does other things makes anything slow: beside what the clock says stands
// for how long the page's own thread had a processor, and no page can be blamed for more than that.
import { given, perform } from "./stage.mjs";

// figure tells what was measured, with its limit, also to those who read no logs.
export const figure = (name, text) => console.log(`figure ${name} ${text}`);

// measure plays a journey in a browser of its own.
export const measure = (play) => perform(play, { alone: true });

// traced gives what the page's thread did while something happens.
export async function traced({ context, page }, act) {
  const browser = context.browser();
  await browser.startTracing(page, { categories: ["toplevel", "devtools.timeline"] });
  const value = await act();
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString());
  return { value, ...threadOf(traceEvents) };
}

// threadOf finds the tasks of the pages' own threads, in the order of time, and when keys came, frames were handed on and first words painted. Times are in ms.
function threadOf(events) {
  const thread = ({ pid, tid }) => `${pid} ${tid}`;
  const pages = new Set(events.filter(({ name, args }) => name === "thread_name" && args?.name === "CrRendererMain").map(thread));
  const own = events.filter((event) => pages.has(thread(event))).sort((a, b) => a.ts - b.ts);
  const tasks = own
    .filter(({ name, dur }) => name.endsWith("RunTask") && dur !== undefined)
    .map(({ ts, dur, tdur = dur }) => ({ at: ts / 1_000, wall: dur / 1_000, busy: tdur / 1_000 }));
  if (tasks.length === 0) throw new Error("the trace has no tasks");
  const keys = own.filter(({ name, args }) => name === "EventDispatch" && args?.data?.type === "keydown").map(({ ts }) => ts / 1_000);
  const frames = own.filter(({ name }) => name === "Commit").map(({ ts }) => ts / 1_000);
  const painted = own.filter(({ name }) => name === "firstContentfulPaint").map(({ ts }) => ts / 1_000);
  return { tasks, keys, frames, painted };
}

// longestOf is the longest task by the clock, and the one with the most work.
export function longestOf({ tasks }) {
  return { wall: Math.max(...tasks.map((task) => task.wall)), busy: Math.max(...tasks.map((task) => task.busy)) };
}

// workOf is what the page's thread worked until a time, in ms.
export const workOf = ({ tasks }, until = Infinity) => tasks.reduce((sum, { at, busy }) => (at < until ? sum + busy : sum), 0);

// echoWorkOf is the most that was worked between a key and the frame that shows it.
export function echoWorkOf({ tasks, keys, frames }) {
  const between = (from, to) => tasks.filter(({ at, wall }) => at + wall > from && at < to).reduce((sum, { busy }) => sum + busy, 0);
  return Math.max(...keys.map((key) => between(key, frames.find((frame) => frame > key) ?? key)));
}

// drawn does something in every frame for some seconds, and counts the frames.
export async function drawn(page, ms, act, argument) {
  return page.evaluate(
    async ([ms, act, argument]) => {
      const doing = new Function(`return ${act}`)();
      const begun = performance.now();
      let frames = 0;
      for (; performance.now() - begun < ms; frames++) {
        doing(frames, argument);
        await new Promise(requestAnimationFrame);
      }
      return { frames, fps: (frames * 1_000) / (performance.now() - begun) };
    },
    [ms, act.toString(), argument],
  );
}

// swift does something in every frame, traced, and judges the frames: fifty a second. A machine that does not draw a plain page so often
// cannot show that: there a frame's work may take no more than its time.
export async function swift(visitor, name, of, act, argument) {
  const plain = await plainPage(visitor.context);
  const trace = await traced(visitor, () => drawn(visitor.page, 3_000, act, argument));
  const work = workOf(trace) / trace.value.frames;
  const { fps } = trace.value;
  figure(name, `${of}: ${fps.toFixed(0)} frames a second (50 at least; plain lines of text here: ${plain.toFixed(0)}), ${work.toFixed(1)} ms of work in each (20 at most)`);
  if (work > 20 || fps < Math.min(50, plain * 0.9)) visitor.blame(name, `${fps} frames a second where plain lines of text have ${plain}, ${work} ms of work in each`);
}

// plainPage is how often the machine draws a window of text that moves.
async function plainPage(context) {
  const page = await context.newPage();
  await page.setContent(`<div>${"<p>Some words that fill a line, and then some more of them.</p>".repeat(40)}</div>`);
  const { fps } = await drawn(page, 1_000, (i) => (document.querySelector("div").style.paddingLeft = `${i % 100}px`));
  await page.close();
  return fps;
}

// heapOf is what a page keeps, in MB, when all that nobody needs is gone.
export async function heapOf({ context, page }) {
  const browser = await context.newCDPSession(page);
  await browser.send("HeapProfiler.collectGarbage");
  const { usedSize } = await browser.send("Runtime.getHeapUsage");
  await browser.detach();
  return usedSize / 1024 / 1024;
}

export { given };
