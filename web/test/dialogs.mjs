// Every page of a surface, and every dialog, sheet and menu that a button of it opens, is judged by axe in both schemes and widths. The buttons are
// found on the page, so a new dialog is judged without a word here. Nothing that is pressed changes anything. (interface.md 10)
import { ada, becomeAdministrator, given, openAdmin, perform } from "./stage.mjs";
import { excuse, still } from "./judge.mjs";
import { furnish, pagesOn } from "./pages.mjs";

const sizes = [{ width: 1280, height: 860 }, { width: 390, height: 844 }];
const pressed = "main button, nav [aria-haspopup], main tr[tabindex]";
const opened = "dialog[open], [popover]:popover-open";
const items = "[popover]:popover-open [role=menuitem]:not([aria-disabled=true]):not(a)";
const judged = new Set();

// judgeSurface walks through one surface, on which so many things open at least.
export async function judgeSurface(surface, least) {
  await perform(async (enter) => {
    const visitor = await enter();
    await becomeAdministrator(visitor, ada, openAdmin);
    const world = await furnish(visitor);
    await visitor.page.route(/\/(api|v1)\//, (route) => (route.request().method() === "GET" ? route.fallback() : route.fulfill({ status: 409, json: { error: { type: "conflict", message: "Nothing is changed here.", details: "" } } })));
    visitor.page.on("filechooser", () => {}); // one that is open takes all that is pressed
    const frame = new Set();
    for (const page of pagesOn(surface, world).filter((each) => !each.handedOver && (given.everyPage || each.nav))) await walk(visitor, page, frame);
    if (given.everyPage && judged.size < least) visitor.blame("the end", `only ${judged.size} things open: ${[...judged].join(", ")}`);
  });
}

// walk judges a page, then presses each of its buttons and judges what opens: first on a desktop, then what only a phone has. Buttons of the
// frame are the same on every page of a surface.
async function walk(visitor, page, frame) {
  await reach(visitor, page);
  await visitor.judge(page.name);
  const own = new Set();
  for (const size of sizes) {
    for (;;) {
      await visitor.page.setViewportSize(size);
      await still(visitor, page.name);
      const found = await visitor.page.evaluate(buttons, pressed);
      const next = found.find((each) => !(each.framed ? frame : own).has(each.name));
      if (!next) break;
      (next.framed ? frame : own).add(next.name);
      await press(visitor, page, size, next);
    }
  }
  excuse(visitor, page.name, { statuses: [404, 409] });
}

async function reach(visitor, page, size = sizes[0]) {
  await visitor.open(page.at);
  await visitor.page.setViewportSize(size);
  await still(visitor, page.name);
}

// buttons are what may open something: not those that are pressed in, unfold, or choose a view in place.
function buttons(pressed) {
  const not = "[aria-disabled=true], :disabled, [aria-pressed], [role=tab], [role=switch], [role=checkbox], [role=radio], [role^=menuitem], dialog *";
  return [...document.querySelectorAll(pressed)]
    .map((each, index) => ({ each, index, framed: each.matches("nav *, .scope"), name: (each.getAttribute("aria-label") ?? each.textContent).replace(/\s+/g, " ").replace(/\d+/g, "n").trim().slice(0, 60) }))
    .filter(({ each }) => each.checkVisibility({ visibilityProperty: true }) && !each.matches(not))
    .map(({ each, index, name, framed }) => ({ index, name, framed, opens: each.hasAttribute("aria-haspopup") }));
}

// press presses a button and judges what opens; of a menu, each of its items as well.
async function press(visitor, page, size, button) {
  const name = `${page.name}, ${button.name}`;
  const click = async () => {
    // Where it stands among the others now: another width may have moved it.
    const found = (await visitor.page.evaluate(buttons, pressed)).find((each) => each.name === button.name && each.framed === button.framed);
    if (!found) return "it is gone";
    return visitor.page.locator(pressed).nth(found.index).click({ timeout: button.opens ? 10_000 : 2_000 }).then(() => "", (error) => error.message.split("\n")[0]);
  };
  const before = await visitor.page.evaluate(standing);
  if (button.opens) await visitor.page.evaluate(listen);
  const failed = await click();
  if (!(await look(visitor, name, button.opens ? 10_000 : 300))) {
    if (button.opens) visitor.blame(name, `is said to open something, and does not: ${failed || (await visitor.page.evaluate(() => window.heard?.join(", ") ?? "another page came"))}`);
    return before === (await visitor.page.evaluate(standing).catch(() => "")) ? undefined : reach(visitor, page, size);
  }
  await visitor.page.setViewportSize(size);
  const count = await visitor.page.locator(items).count();
  if (count === 0) return close(visitor, name);
  for (let i = 0; i < count; i++) {
    const item = visitor.page.locator(items).nth(i);
    // A page that has just come may take the focus once more, which closes a menu.
    for (let tries = 0; i > 0 && tries < 3; tries++) {
      await click();
      if (await item.waitFor({ timeout: 500 }).then(() => true, () => false)) break;
    }
    const label = await item.innerText({ timeout: 2_000 }).catch(() => "");
    // The way out is for nobody who wants to go on.
    if (/sign out|leave admin/i.test(label)) continue;
    await item.click({ timeout: 2_000 }).catch(() => {});
    if (await look(visitor, `${name}, ${label.split("\n")[0]}`)) await close(visitor, name);
    else await reach(visitor, page, size);
  }
  await reach(visitor, page, size);
}

// listen writes down what is pressed, and what opens and closes.
function listen() {
  const heard = (window.heard = []);
  const named = (each) => each.getAttribute?.("aria-label") ?? each.localName;
  addEventListener("click", ({ target }) => heard.push(`pressed ${named(target.closest("button, a") ?? target)}`), true);
  addEventListener("toggle", ({ target, newState }) => heard.push(`${named(target)} ${newState}`), true);
}

// standing tells a page that something was done to from one that is as it was.
function standing() {
  return location.href + document.querySelector("main").innerHTML;
}

// look judges what is open, once for each name; it reports whether something is.
async function look(visitor, name, within = 300) {
  const open = visitor.page.locator(opened).last();
  if (!(await open.waitFor({ timeout: within }).then(() => true, () => false))) return false;
  await still(visitor, name);
  const what = await open.evaluate((each) => `${each.localName} ${each.getAttribute("aria-label") ?? document.getElementById(each.getAttribute("aria-labelledby"))?.textContent ?? ""}`);
  if (judged.has(what)) return true;
  judged.add(what);
  await visitor.judge(name, opened);
  return true;
}

async function close(visitor, name) {
  await visitor.page.keyboard.press("Escape");
  await visitor.page.locator(opened).last().waitFor({ state: "hidden", timeout: 2_000 }).catch(() => visitor.blame(name, "does not close by Escape"));
}
