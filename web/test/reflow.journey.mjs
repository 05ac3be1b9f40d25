// Every page holds at 200 % zoom, at 320 px, with wider text, in forced colours and without motion: nothing is cut off, covered or moved out of the
// window, and nothing scrolls sideways but code. (interface.md 8, journey 33)
// only in the soak
import { ada, becomeAdministrator, given, openAdmin, perform } from "./stage.mjs";
import { excuse, still } from "./judge.mjs";
import { furnish, pagesOn } from "./pages.mjs";

const surfaces = ["agents", "platform", "admin"];
const desktop = { width: 1280, height: 860 };
const zoomed = { width: 640, height: 430 }; // what 200 % leaves of it
const narrow = { width: 320, height: 640 };

await perform(async (enter) => {
  const visitor = await enter();
  await becomeAdministrator(visitor, ada, openAdmin);
  const world = await furnish(visitor);
  for (const surface of surfaces) {
    for (const page of pagesOn(surface, world)) {
      if (page.handedOver) continue;
      await visitor.open(page.at);
      await still(visitor, page.name);
      await holds(visitor, page.name);
      excuse(visitor, page.name);
    }
  }
});

// holds looks at a page in each of the ways that people need it.
async function holds(visitor, name) {
  const { page } = visitor;
  for (const [way, size, { spaced = false, forcedColors = "none", reducedMotion = "no-preference" }] of [
    ["200 %", zoomed, {}],
    ["320 px", narrow, {}],
    ["wider text", desktop, { spaced: true }],
    ["wider text at 320 px", narrow, { spaced: true }],
    ["forced colours", desktop, { forcedColors: "active" }],
    ["no motion", desktop, { reducedMotion: "reduce" }],
  ]) {
    await page.setViewportSize(size);
    await page.emulateMedia({ forcedColors, reducedMotion });
    await page.evaluate(space, spaced);
    await visitor.drawn();
    for (const fault of await page.evaluate(faults, reducedMotion === "reduce")) visitor.blame(name, `${way}: ${fault}`);
    if (way !== "no motion") await visitor.shoot(`reflow-${name.replace(/[^\w]+/g, "-")}-${way.replace(/[^\w]+/g, "-")}`);
  }
  await page.evaluate(space, false);
  await page.emulateMedia({ forcedColors: "none", reducedMotion: "no-preference" });
  await page.setViewportSize(desktop);
}

// space widens all text as far as anybody may want it (WCAG 1.4.12).
function space(on) {
  window.spacing ??= new CSSStyleSheet();
  window.spacing.replaceSync("* { line-height: 1.5 !important; letter-spacing: .12em !important; word-spacing: .16em !important; }");
  document.adoptedStyleSheets = on ? [window.spacing] : [];
}

// faults are what is wrong with the page as it stands.
function faults(unmoving) {
  const told = [];
  for (const each of document.getAnimations()) if (each.effect.getComputedTiming().iterations !== Infinity) each.finish();
  const nameOf = (each) => `${each.localName}.${[...each.classList].join(".")} ${JSON.stringify((each.getAttribute("aria-label") ?? each.textContent).trim().replace(/\s+/g, " ").slice(0, 40))}`;
  // Code, and drawings whose words stand elsewhere too.
  const code = "pre, .code, .json, .cm-scroller, .tlgrid .x";
  const html = document.documentElement;
  if (html.scrollWidth > html.clientWidth) told.push(`the page scrolls sideways by ${html.scrollWidth - html.clientWidth} px`);
  const shown = [...document.body.querySelectorAll("*")].filter((each) => each.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && !each.closest(".sr, svg"));
  for (const each of shown) {
    if (each.closest(code)) continue;
    const style = getComputedStyle(each);
    if (/auto|scroll/.test(style.overflowX) && each.scrollWidth > each.clientWidth + 1) told.push(`${nameOf(each)} scrolls sideways by ${each.scrollWidth - each.clientWidth} px`);
    if (style.overflowX === "hidden" && style.textOverflow !== "ellipsis" && each.scrollWidth > each.clientWidth + 1 && each.clientWidth > 1) told.push(`${nameOf(each)} is cut off by ${each.scrollWidth - each.clientWidth} px at its side`);
    if (style.overflowY === "hidden" && each.scrollHeight > each.clientHeight + 3 && each.clientHeight > 1 && style.textOverflow !== "ellipsis") told.push(`${nameOf(each)} is cut off by ${each.scrollHeight - each.clientHeight} px below`);
  }
  const boxes = shown.filter((each) => each.matches("button, a[href], input, textarea, select, [role=button]") && !each.closest(code)).map((each) => ({ each, box: seenOf(each) }));
  for (const { each, box } of boxes) if (box.left < -1 || box.right > innerWidth + 1) told.push(`${nameOf(each)} stands outside of the window`);
  for (const [i, one] of boxes.entries()) {
    for (const other of boxes.slice(i + 1)) {
      if (one.each.contains(other.each) || other.each.contains(one.each)) continue;
      const wide = Math.min(one.box.right, other.box.right) - Math.max(one.box.left, other.box.left);
      const high = Math.min(one.box.bottom, other.box.bottom) - Math.max(one.box.top, other.box.top);
      if (wide > 2 && high > 2) told.push(`${nameOf(one.each)} covers ${nameOf(other.each)}`);
    }
  }
  if (unmoving) for (const each of document.getAnimations()) if (each.playState === "running" && each.effect.getComputedTiming().duration > 0) told.push(`${nameOf(each.effect.target)} moves`);
  return [...new Set(told)];

  // seenOf is the box of a control without what is scrolled out of sight, above and below.
  function seenOf(each) {
    const { left, right, top, bottom } = each.getBoundingClientRect();
    const seen = { left, right, top, bottom };
    for (let up = each.parentElement; up; up = up.parentElement) {
      if (getComputedStyle(up).overflowY === "visible") continue;
      const around = up.getBoundingClientRect();
      seen.top = Math.max(seen.top, around.top);
      seen.bottom = Math.min(seen.bottom, around.bottom);
    }
    return seen;
  }
}
