// Every page, while the service fails: it says what the service said, with the id of the request and a way to try again, and that way works. What
// was read before stays, marked as such. Offline it says so, and goes on with the connection. (interface.md 5; all of them in the soak)
import { ada, becomeAdministrator, given, openAdmin, perform, signUp } from "./stage.mjs";
import { excuse, glide, plain, says, still, words } from "./judge.mjs";
import { furnish, nothing, pagesOn } from "./pages.mjs";

const surfaces = given.everyPage ? ["agents", "platform", "admin"] : ["agents"];
const said = "The lamp fell over.";
const requestId = "req_lamp";
const asks = /\/(api|v1)\//;
// What the frame asks for by itself.
const frame = /\/api\/(auth\/session|workspaces\/\w+\/\w+)$/;

await perform(async (enter) => {
  const visitor = await enter();
  await visitor.page.clock.install();
  if (given.everyPage) await becomeAdministrator(visitor, ada, openAdmin);
  else await signUp(visitor, ada);
  const world = given.everyPage ? await furnish(visitor) : nothing;
  for (const surface of surfaces) {
    // Every day only what the navigation leads to.
    for (const page of pagesOn(surface, world).filter((each) => given.everyPage || each.nav)) {
      await fails(visitor, page);
      if (!given.everyPage) continue;
      await isOffline(visitor, page);
      await isEnded(visitor, page);
    }
  }
});

// nowhere is a page of the application that reads nothing but what its frame does: from there each page is opened anew.
async function nowhere(visitor, { at, service }) {
  const { origin, pathname } = new URL(at);
  await visitor.open(service ? `${origin}/people/nowhere` : `${origin}${pathname.split("/").slice(0, 4).join("/")}/nowhere`);
  await says(visitor, "nowhere", "Not here, or not yours.");
  await visitor.page.getByRole("navigation", { name: "Pages" }).getByRole("link").first().waitFor();
  excuse(visitor, "nowhere", { statuses: [500, 401] }); // what the page before asked last
}

// fails opens a page while every answer is an error, mends the service, and breaks it again under the open page.
async function fails(visitor, page) {
  await nowhere(visitor, page);
  const refused = await broken(visitor);
  await glide(visitor, page.at);
  await still(visitor, page.name);
  await plain(visitor, page.name);
  if (refused.size > 0 || page.handedOver) await isTold(visitor, page.name, [...refused]);
  await mended(visitor);
  await tryAgain(visitor, page.name);
  if (!page.handedOver) await keeps(visitor, page.name);
  excuse(visitor, page.name, { statuses: [500] });
}

// keeps breaks the service under the open page: what was read stays, and is said to be from before.
async function keeps(visitor, name) {
  const before = (await words(visitor)).split(" ");
  const refused = await broken(visitor);
  await visitor.page.clock.fastForward(20_000);
  await visitor.page.evaluate(() => document.dispatchEvent(new Event("visibilitychange", { bubbles: true })));
  for (let i = 0; i < 20 && refused.size === 0; i++) await visitor.page.waitForTimeout(20);
  // A stream that broke is said to be sought again; what was read once, to be from before. The API below /v1 has both.
  const broke = [...refused].every((path) => path.startsWith("/v1/"));
  if (refused.size > 0) await says(visitor, `${name}, from before`, broke ? /Reconnecting|What you see is from before\./ : "What you see is from before.");
  const after = await words(visitor);
  const kept = before.filter((word) => after.includes(word)).length / before.length;
  if (kept < 0.8) visitor.blame(`${name}, from before`, `keeps only ${Math.round(kept * 100)} % of its words: ${after}; before it said ${before.join(" ")}`);
  await mended(visitor);
}

// broken has every question answered with an error, and gives those of the page.
async function broken(visitor, { status = 500, type = "internal_error" } = {}) {
  const refused = new Set();
  await visitor.page.route(asks, (route) => {
    const { pathname } = new URL(route.request().url());
    if (!frame.test(pathname)) refused.add(pathname);
    return route.fulfill({ status, headers: { "x-request-id": requestId }, json: { error: { type, message: said, details: "" } } });
  });
  return refused;
}

async function mended(visitor) {
  await visitor.page.unroute(asks);
}

// isTold looks for what went wrong, its id, and the way on.
async function isTold(visitor, name, refused) {
  const text = await words(visitor);
  for (const each of [said, requestId]) if (!text.includes(each)) visitor.blame(name, `does not say ${each} of ${refused}, but ${JSON.stringify(text)}`);
  if ((await again(visitor).count()) === 0) visitor.blame(name, "cannot be tried again");
}

function again(visitor) {
  return visitor.page.locator("main").getByRole("button", { name: "Try again" });
}

// tryAgain presses until nothing is wrong any more.
async function tryAgain(visitor, name) {
  for (let i = 0; i < 8 && (await again(visitor).count()) > 0; i++) {
    await again(visitor).first().click({ timeout: 5_000 }).catch(() => {}); // what is mended is gone
    await still(visitor, name);
  }
  const text = await words(visitor);
  if (text.includes(said)) visitor.blame(name, `still says what is mended: ${text}`);
}

// isOffline opens a page without a network, and comes back.
async function isOffline(visitor, page) {
  const name = `${page.name}, offline`;
  await nowhere(visitor, page);
  await visitor.context.setOffline(true);
  const asked = new Set();
  const ask = (request) => asks.test(request.url()) && !frame.test(new URL(request.url()).pathname) && asked.add(request.url());
  visitor.page.on("request", ask);
  await glide(visitor, page.at);
  await says(visitor, name, "You are offline.", visitor.page.getByRole("region", { name: "Notices" }));
  for (let i = 0; i < 5; i++) await visitor.page.clock.fastForward(2_000);
  await still(visitor, name);
  await plain(visitor, name);
  // A page that asks nothing is as it always is.
  if (asked.size > 0 || page.handedOver) await says(visitor, name, "The server cannot be reached.");
  visitor.page.off("request", ask);
  await visitor.context.setOffline(false);
  for (let i = 0; i < 3; i++) await visitor.page.clock.fastForward(2_000);
  await tryAgain(visitor, name);
  await still(visitor, name);
  if ((await words(visitor)).includes("cannot be reached")) visitor.blame(name, "does not come back");
  excuse(visitor, name, { offline: true });
}

// isEnded opens a page with a session that has ended meanwhile: a dialog says so over the page, goes away with the next sign-in elsewhere,
// and the page goes on by itself.
async function isEnded(visitor, page) {
  const name = `${page.name}, signed out meanwhile`;
  const dialog = visitor.page.getByRole("dialog", { name: "Your session has ended" });
  await nowhere(visitor, page);
  const refused = await broken(visitor, { status: 401, type: "unauthenticated" });
  await glide(visitor, page.at);
  await still(visitor, name);
  await plain(visitor, name);
  if (refused.size > 0) await dialog.waitFor({ timeout: 5_000 }).catch(() => visitor.blame(name, "does not ask for a sign-in"));
  await mended(visitor);
  await visitor.page.clock.fastForward(2_000);
  await dialog.waitFor({ state: "hidden", timeout: 5_000 }).catch(() => visitor.blame(name, "does not see the sign-in elsewhere"));
  await still(visitor, name);
  await visitor.page.locator("main").getByText(said).first().waitFor({ state: "hidden", timeout: 1_000 }).catch(() => visitor.blame(name, "does not go on by itself after the sign-in"));
  excuse(visitor, name, { statuses: [401] });
}
