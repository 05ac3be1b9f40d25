// On slow 3G the chat can be written in within 5 seconds, with nothing kept from before, and no spinner flashes. Every other page comes too, and says
// of nothing that it failed. (interface.md, journey 14)
// only in the soak
// nothing runs beside it
import { ada, becomeAdministrator, of, openAdmin, perform } from "./stage.mjs";
import { excuse, glide, plain, still, words } from "./judge.mjs";
import { furnish, pagesOn } from "./pages.mjs";

// Slow 3G: 400 kbit/s, 400 ms there and back.
const slow3G = { offline: false, downloadThroughput: 50_000, uploadThroughput: 50_000, latency: 400 };

await perform(async (enter) => {
  const visitor = await enter();
  await visitor.page.addInitScript(watch);
  await becomeAdministrator(visitor, ada, openAdmin);
  const world = await furnish(visitor);
  const line = await visitor.context.newCDPSession(visitor.page);
  await line.send("Network.enable");
  await line.send("Network.clearBrowserCache");
  await line.send("Network.emulateNetworkConditions", slow3G);
  await chat(visitor);
  for (const page of pagesOn("agents", world)) await comes(visitor, page);
});

// chat opens a conversation, and writes.
async function chat(visitor) {
  await visitor.page.goto(of("ada", "personal", "chat"), { waitUntil: "commit" });
  await visitor.page.getByRole("textbox", { name: "Message", exact: true }).fill("Are you there?");
  const took = Math.round(await visitor.page.evaluate(() => window.writable));
  console.log(`on slow 3G the chat can be written in after ${took} ms`);
  if (took > 5_000) visitor.blame("chat", `can be written in after ${took} ms`);
  await still(visitor, "chat");
  await noFlash(visitor, "chat");
}

// comes goes to a page, whose code is not there yet.
async function comes(visitor, { at, name }) {
  await glide(visitor, at);
  await still(visitor, name);
  await plain(visitor, name);
  const failed = /could not be read|cannot be reached|Try again/.exec(await words(visitor));
  if (failed) visitor.blame(name, `says ${failed[0]}`);
  await noFlash(visitor, name);
  excuse(visitor, name);
}

// noFlash blames a spinner that was gone before anybody could see what it was.
async function noFlash(visitor, name) {
  for (const shown of await visitor.page.evaluate(() => window.spun.splice(0))) if (shown < 300) visitor.blame(name, `shows a spinner for ${Math.round(shown)} ms`);
}

// watch keeps when one could write first, by the page's own clock, and for how long each spinner was seen.
function watch() {
  window.spun = [];
  const since = new Map();
  const look = () => {
    if (document.querySelector(".composer textarea:enabled")?.checkVisibility()) window.writable ??= performance.now();
    const seen = new Set([...document.querySelectorAll(".spin, .spinner")].filter((each) => each.checkVisibility({ visibilityProperty: true, opacityProperty: true })));
    for (const each of seen) if (!since.has(each)) since.set(each, performance.now());
    for (const [each, from] of since) {
      if (seen.has(each)) continue;
      since.delete(each);
      window.spun.push(performance.now() - from);
    }
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}
