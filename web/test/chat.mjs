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
export async function equal(visitor, name) {
  const { messages } = await history(visitor);
  const wanted = messages
    .filter((message) => message.display === "visible")
    .flatMap((message) => message.parts.filter((part) => part.type === "text" && part.text.trim()).map((part) => part.text.replace(/\s+/g, " ").trim()));
  const seen = await shown(visitor);
  if (JSON.stringify(seen) !== JSON.stringify(wanted)) visitor.blame(name, `shows ${JSON.stringify(seen).slice(0, 600)}, but the service has ${JSON.stringify(wanted).slice(0, 600)}`);
}

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

export { given };
