// A run of 10,000 spans opens within a second, and is zoomed and scrolled at fifty frames a second. The run is real, its events are made here:
// no workflow of the product takes so many steps. Long, so only in the soak.
import { ada, arrive, given, goTo, perform, signUp } from "./stage.mjs";
import { base, call, check, status } from "./runs.mjs";

const spans = 10_000;

if (!given.soak) process.exit(0);

await perform(async (enter) => {
  const visitor = await enter();
  const { page } = visitor;
  await signUp(visitor, ada);
  const { runId } = await call(visitor, "POST", `${base}/workflows/digest/run`, { project: "nothing" });
  await goTo(visitor, "Runs");
  await page.getByText("ItemNotFound").waitFor();
  const events = made(runId, (await call(visitor, "GET", `${base}/runs/${runId}`)).startedAt);
  await page.route(`**/v1/ada/personal/runs/${runId}?*`, (route) => route.fulfill(answer(new URL(route.request().url()), events)));

  const before = await page.evaluate(() => performance.now());
  await page.getByRole("link", { name: "digest" }).first().click();
  await arrive(visitor, "digest");
  await page.getByRole("row", { name: /^step/ }).first().waitFor();
  const first = (await page.evaluate(() => performance.now())) - before;
  await page.getByRole("tab", { name: `Events ${events.length}` }).waitFor();
  const all = (await page.evaluate(() => performance.now())) - before;
  await status(visitor, "Failed");
  const nodes = await page.evaluate(() => document.querySelectorAll("*").length);

  await page.locator(".tlgrid").evaluate((grid) => grid.scrollTo({ top: 0 }));
  const zoom = await frames(page, (grid, i) => grid.dispatchEvent(new WheelEvent("wheel", { ctrlKey: true, deltaY: i % 40 < 20 ? -40 : 40, clientX: 700, clientY: 400, bubbles: true, cancelable: true })));
  const scroll = await frames(page, (grid) => grid.scrollBy({ top: 60 }));
  console.log(`${spans} spans: first rows after ${Math.round(first)} ms, all after ${Math.round(all)} ms, ${nodes} nodes, zoom ${zoom} and scroll ${scroll} frames a second`);
  check(visitor, "budget", all <= 1_000, `takes ${Math.round(all)} ms to open`);
  check(visitor, "budget", nodes <= 3_000, `has ${nodes} nodes`);
  check(visitor, "budget", zoom >= 50 && scroll >= 50, `zooms at ${zoom} and scrolls at ${scroll} frames a second`);
});

// frames counts those of a second in which something is done in each.
function frames(page, act) {
  return page.evaluate(
    (act) =>
      new Promise((done) => {
        const grid = document.querySelector(".tlgrid");
        const doing = new Function(`return ${act}`)();
        const begun = performance.now();
        let count = 0;
        const next = () => {
          if (performance.now() - begun >= 1_000) return done(count);
          doing(grid, count++);
          requestAnimationFrame(next);
        };
        requestAnimationFrame(next);
      }),
    act.toString(),
  );
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

// answer is what the service would say of these events.
function answer(address, events) {
  const end = `0000000000000000_${String(events.length - 1).padStart(16, "0")}`;
  const tail = Number(address.searchParams.get("tail") ?? events.length);
  if (address.searchParams.get("live") === "sse") {
    const body = `event: data\ndata:${JSON.stringify(events.slice(-tail))}\n\nevent: control\ndata:${JSON.stringify({ streamNextOffset: end, streamClosed: true })}\n\n`;
    return { status: 200, contentType: "text/event-stream", body };
  }
  return { status: 200, contentType: "application/json", headers: { "Stream-Next-Offset": end, "Stream-Up-To-Date": "true", "Stream-Closed": "true" }, body: JSON.stringify(events.slice(-tail)) };
}
