// A run of ten thousand spans opens within a second, and is zoomed and scrolled swiftly. The run is real, its events are made here: no workflow of
// the product takes so many steps.
// only in the soak
// nothing runs beside it
import { ada, arrive, goTo, signUp } from "./stage.mjs";
import { base, call, check, status } from "./runs.mjs";
import { figure, measure, swift, traced, workOf } from "./budget.mjs";

const spans = 10_000;
const limit = 1_000; // ms

await measure(async (enter) => {
  const visitor = await enter();
  const { page } = visitor;
  await signUp(visitor, ada);
  const { runId } = await call(visitor, "POST", `${base}/workflows/digest/run`, { project: "nothing" });
  await goTo(visitor, "Runs");
  await page.getByText("ItemNotFound").waitFor();
  const events = made(runId, (await call(visitor, "GET", `${base}/runs/${runId}`)).startedAt);
  await page.evaluate(answer, [runId, JSON.stringify(events)]);
  await page.evaluate(watch, `Events ${events.length}`);

  const trace = await traced(visitor, async () => {
    await page.getByRole("link", { name: "digest" }).first().click();
    await arrive(visitor, "digest");
    await page.getByRole("tab", { name: `Events ${events.length}` }).waitFor();
    return page.evaluate(() => window.opened);
  });
  const { first, all } = trace.value;
  const work = workOf(trace);
  await status(visitor, "Failed");
  const nodes = await page.evaluate(() => document.querySelectorAll("*").length);
  figure("spans-open", `${spans} spans: first rows after ${first.toFixed(0)} ms, all after ${all.toFixed(0)} ms, ${work.toFixed(0)} ms of work (${limit} at most), ${nodes} elements (3000 at most)`);
  check(visitor, "open", Math.min(all, work) <= limit, `takes ${all} ms to open, with ${work} ms of work`);
  check(visitor, "open", nodes <= 3_000, `has ${nodes} elements`);

  await page.locator(".tlgrid").evaluate((grid) => grid.scrollTo({ top: 0 }));
  await swift(visitor, "spans-zoom", `${spans} spans zoomed`, (i) =>
    document.querySelector(".tlgrid").dispatchEvent(new WheelEvent("wheel", { ctrlKey: true, deltaY: i % 40 < 20 ? -40 : 40, clientX: 700, clientY: 400, bubbles: true, cancelable: true })));
  await swift(visitor, "spans-scroll", `${spans} spans scrolled`, () => document.querySelector(".tlgrid").scrollBy({ top: 60 }));
});

// watch keeps when, after the next press, the first row of the run was there, and when all were.
function watch(whole) {
  window.opened = {};
  addEventListener("pointerdown", ({ timeStamp }) => {
    const look = () => {
      if (document.querySelector(".tlrows .span")) window.opened.first ??= performance.now() - timeStamp;
      if ([...document.querySelectorAll("[role=tab]")].some((tab) => tab.textContent.replace(/\s+/g, " ").trim() === whole)) return void (window.opened.all = performance.now() - timeStamp);
      requestAnimationFrame(look);
    };
    look();
  }, { once: true, capture: true });
}

function made(runId, startedAt) {
  const start = Date.parse(startedAt);
  const all = [{ type: "run_start", workflowName: "digest", startedAt }];
  for (let i = 0; i < spans; i++) {
    for (const state of ["started", i === spans - 3 ? "failed" : "finished"]) {
      const level = state === "failed" ? "error" : "info";
      all.push({ type: "log", level, message: `step ${i} ${state}`, attributes: { step: { name: `step ${i}`, seq: i, attempt: 1, state, ...(state !== "started" && { durationMs: 3 }) } } });
    }
  }
  all.push({ type: "run_end", isError: true, durationMs: spans * 4, result: null, error: { name: "Error", message: "made" } });
  return all.map((event, eventIndex) => ({ ...event, runId, v: 3, eventIndex, timestamp: new Date(start + eventIndex * 2).toISOString() }));
}

// answer has the page hear these events as the service would tell them: as a stream those that are followed, as a page all.
function answer([runId, text]) {
  const events = JSON.parse(text);
  const end = `0000000000000000_${String(events.length - 1).padStart(16, "0")}`;
  const frame = (event, value) => `event: ${event}\ndata:${JSON.stringify(value)}\n\n`;
  const tail = frame("data", events.slice(-1_000)) + frame("control", { streamNextOffset: end, streamClosed: true });
  const ask = window.fetch;
  window.fetch = async (input, init) => {
    const { pathname, searchParams } = new URL(input, location.href);
    if (!pathname.endsWith(`/v1/ada/personal/runs/${runId}`) || !searchParams.has("offset")) return ask(input, init);
    if (searchParams.get("live") === "sse") return new Response(tail, { headers: { "content-type": "text/event-stream" } });
    return new Response(text, { headers: { "content-type": "application/json", "stream-next-offset": end, "stream-up-to-date": "true", "stream-closed": "true" } });
  };
}
