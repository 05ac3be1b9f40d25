// The ways that journeys of the chat take, and how a conversation is compared with what the service has of it.
import { given, of, signUp, ada } from "./stage.mjs";

export const chat = (instance = "") => of("ada", "personal", `chat${instance && `/${instance}`}`);

// begin signs Ada up, and opens a new conversation.
export async function begin(visitor) {
  await visitor.page.addInitScript(watch);
  await signUp(visitor, ada);
  await open(visitor);
}

// open leads to a new conversation, or to one that is there.
export async function open(visitor, instance) {
  await visitor.open(chat(instance));
  await composer(visitor).waitFor();
}

export const composer = (visitor) => visitor.page.getByRole("textbox", { name: "Message", exact: true });
export const send = (visitor) => visitor.page.locator("button.send");
export const scroller = (visitor) => visitor.page.locator(".scroll");

// say sends a text as a person does.
export async function say(visitor, text) {
  await composer(visitor).fill(text);
  await composer(visitor).press("Enter");
}

// settled waits until so many turns have come to their end.
export async function settled(visitor, count, timeout = 60_000) {
  await visitor.page.locator(".it .foot, .it .failure").nth(count - 1).waitFor({ timeout });
  await visitor.page.locator(".working, .prose.writing").first().waitFor({ state: "detached", timeout });
}

export function instanceOf(visitor) {
  return visitor.page.url().split("/").pop();
}

// history is the conversation as the service has it.
export function history(visitor, instance = instanceOf(visitor), agent = "central") {
  return visitor.page.evaluate(async (path) => (await fetch(path)).json(), `/v1/ada/personal/agents/${agent}/${instance}`);
}

// shown is the conversation as it is seen: what was asked, and what was answered.
export function shown(visitor) {
  return visitor.page.locator(".turns").evaluate((turns) => [...turns.querySelectorAll("[data-question], .it .prose")].map((each) => each.textContent.replace(/\s+/g, " ").trim()));
}

// equal fails unless what is seen is what the service has: nothing lost, nothing doubled.
export async function equal(visitor, name, agent) {
  const { messages } = await history(visitor, instanceOf(visitor), agent);
  const wanted = messages
    .filter((message) => message.display === "visible")
    .flatMap((message) => message.parts.filter((part) => part.type === "text" && part.text.trim()).map((part) => part.text.replace(/\s+/g, " ").trim()));
  const has = JSON.stringify(wanted);
  let shows = JSON.stringify(await shown(visitor));
  // The last words are shown within a third of a second, on a machine that has time for it.
  for (const end = Date.now() + 20_000; shows !== has && Date.now() < end; shows = JSON.stringify(await shown(visitor))) await visitor.page.waitForTimeout(50);
  let at = 0;
  while (at < has.length && has[at] === shows[at]) at++;
  if (shows !== has) visitor.blame(name, `shows, from its character ${at} on, ${shows.slice(Math.max(0, at - 40), at + 400)}, but the service has ${has.slice(Math.max(0, at - 40), at + 400)}`);
}

// rests is where the view stands when it has come to rest: what a wheel asks for is scrolled frames later.
export const rests = (visitor) => scroller(visitor).evaluate((view) => new Promise((done) => {
  let last = view.scrollTop;
  let same = 0;
  const look = () => {
    same = view.scrollTop === last ? same + 1 : 0;
    last = view.scrollTop;
    if (same < 10) requestAnimationFrame(look);
    else done(last);
  };
  requestAnimationFrame(look);
}));

// check holds a fact against the page.
export function check(visitor, name, holds, otherwise) {
  if (!holds) visitor.blame(name, otherwise);
}

// watch runs in each page before its own scripts: it keeps what moved, what took long, and what was spoken.
function watch() {
  window.seen = { shifts: 0, long: 0, said: [] };
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.seen.shifts += entry.value;
  }).observe({ type: "layout-shift", buffered: true });
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) window.seen.long = Math.max(window.seen.long, entry.duration);
  }).observe({ type: "longtask", buffered: true });
  addEventListener("DOMContentLoaded", () => {
    let last = "";
    new MutationObserver(() => {
      const text = document.querySelector("body > div [aria-live=polite].sr")?.textContent ?? "";
      if (text && text !== last) window.seen.said.push(text);
      last = text;
    }).observe(document.body, { subtree: true, childList: true, characterData: true });
  });
}

export const seen = (visitor) => visitor.page.evaluate(() => window.seen);

// forget lets go of what a lost connection made the browser complain of: that was wanted.
export function forget(visitor) {
  visitor.complaints = [];
  visitor.refusals = [];
}

// told has the browser see another history of a conversation than the service's.
export async function told(visitor, instance, change) {
  const snapshot = change(await history(visitor, instance));
  const asks = (url) => url.pathname.endsWith(`/agents/central/${instance}`) && url.searchParams.get("view") !== "updates";
  const headers = { "stream-next-offset": snapshot.offset, "stream-up-to-date": "true", "cache-control": "no-store" };
  await visitor.page.route(asks, (route) => (route.request().method() === "GET" ? route.fulfill({ json: snapshot, headers }) : route.continue()));
}

// talk is a history of so many messages, a question and its answer each.
export function talk(many, textOf) {
  const at = (i) => new Date(Date.now() - (many - i) * 1_000).toISOString();
  const said = (i, who, text) => ({ id: `entry_${who[0]}${i}`, role: who, purpose: who, display: "visible", submissionId: `s${i >> 1}`, parts: [{ type: "text", text, state: "done" }], metadata: { timestamp: at(i) } });
  const messages = Array.from({ length: many }, (_, i) => said(i, i % 2 === 0 ? "user" : "assistant", textOf(i)));
  const settlements = Array.from({ length: many / 2 }, (_, i) => ({ submissionId: `s${i}`, outcome: "completed" }));
  return { messages, settlements };
}

// heard has the page hear what window.update is given as the updates of a conversation, each in a batch of its own.
export async function heard(visitor, instance) {
  await visitor.page.addInitScript((instance) => {
    const ask = window.fetch;
    const encoder = new TextEncoder();
    const frame = (event, value) => encoder.encode(`event: ${event}\ndata:${JSON.stringify(value)}\n\n`);
    let batch = 0;
    let stream;
    window.update = (...chunks) => {
      batch++;
      stream.enqueue(frame("data", chunks.map((chunk, index) => ({ conversationId: "heard", position: { batch, index }, ...chunk }))));
      stream.enqueue(frame("control", { streamNextOffset: `${"0".repeat(16)}_${String(batch).padStart(16, "0")}`, upToDate: true }));
    };
    window.fetch = async (input, init) => {
      const { pathname, searchParams } = new URL(input, location.href);
      if (!pathname.endsWith(`/agents/central/${instance}`) || searchParams.get("live") !== "sse") return ask(input, init);
      const body = new ReadableStream({ start: (controller) => void (stream = controller) });
      init.signal.addEventListener("abort", () => stream.error(init.signal.reason));
      stream.enqueue(frame("control", { streamNextOffset: searchParams.get("offset"), upToDate: true }));
      window.hears = true;
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    };
  }, instance);
}

// hears waits until the page follows the conversation.
export const hears = (visitor) => visitor.page.waitForFunction(() => window.hears);

export { given };
