// The pages that people open most, by their address and with nothing kept from before, on a machine four times slower: when their first words
// are painted, and whether anything moves as they load.
// nothing runs beside it
import { ada, arrive, becomeAdministrator, of, openAdmin } from "./stage.mjs";
import { figure, given, measure, traced, workOf } from "./budget.mjs";

const slower = 4;
// Every day two of them are loaded, in the soak all.
const pages = [
  ["chat", "New conversation", of("ada", "personal", "chat")],
  ["runs", "Runs", of("ada", "personal", "runs")],
  ["agents", "Agents", of("ada", "personal", "agents")],
  ["projects", "Projects", of("ada", "personal", "projects")],
  ["people", "People", `${given.admin}/people`],
];

await measure(async (enter) => {
  const visitor = await enter();
  await visitor.page.addInitScript(watch);
  await becomeAdministrator(visitor, ada, openAdmin);
  await arrive(visitor, "People");
  const browser = await visitor.context.newCDPSession(visitor.page);
  await browser.send("Network.setCacheDisabled", { cacheDisabled: true });
  await browser.send("Emulation.setCPUThrottlingRate", { rate: slower });
  for (const [name, heading, address] of given.soak ? pages : pages.slice(0, 2)) await load(visitor, name, heading, address);
});

async function load(visitor, name, heading, address) {
  await visitor.open("about:blank");
  const trace = await traced(visitor, async () => {
    await visitor.open(address);
    await arrive(visitor, heading);
    return visitor.page.evaluate(settled);
  });
  const { painted, arrived, moved, what } = trace.value;
  const work = workOf(trace, trace.painted.at(-1));
  figure(`load-${name}`, `first paint after ${painted.toFixed(0)} ms, ${work.toFixed(0)} ms of them at work (1000 at most, processor slowed ${slower}×), its heading after ${arrived.toFixed(0)} ms; moved by ${moved.toFixed(4)} (0.02 at most)`);
  if (Math.min(painted, work) > 1_000) visitor.blame(name, `paints first after ${painted} ms, with ${work} ms of work`);
  if (moved > 0.02) visitor.blame(name, `moves by ${moved}: ${what.join(", ")}`);
}

// watch runs in each page before its own scripts: it keeps when the heading came, and what moved.
function watch() {
  const look = () => (document.querySelector("h1") ? (window.arrived = performance.now()) : requestAnimationFrame(look));
  look();
  window.moves = [];
  new PerformanceObserver((list) => {
    for (const { value, hadRecentInput, sources } of list.getEntries()) if (!hadRecentInput) window.moves.push({ value, what: sources.map(({ node }) => node?.className ?? node?.nodeName) });
  }).observe({ type: "layout-shift", buffered: true });
}

// settled waits until the page has come to rest.
async function settled() {
  await new Promise((rest) => requestIdleCallback(rest));
  await new Promise(requestAnimationFrame);
  const painted = performance.getEntriesByName("first-contentful-paint")[0].startTime;
  return { painted, arrived: window.arrived, moved: window.moves.reduce((sum, { value }) => sum + value, 0), what: window.moves.flatMap(({ what }) => what) };
}
