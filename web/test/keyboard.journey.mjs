// Somebody without a pointer signs up, out and in again where they wanted to go, talks, stops what waits, and finds why a run failed. The focus is
// always somewhere, and always seen. (interface.md, journey 32)
// only in the soak
import { ada, arrive, given, of, perform } from "./stage.mjs";
import { check, composer, equal, settled } from "./chat.mjs";
import { base, call } from "./runs.mjs";

await perform(async (enter) => {
  const visitor = await enter();
  const { page } = visitor;
  await page.emulateMedia({ reducedMotion: "reduce" });
  await visitor.open("/signup");
  await write(visitor, "E-mail", ada.email);
  await write(visitor, "Password", ada.password);
  await write(visitor, "Username optional", ada.username);
  await page.keyboard.press("Enter");
  await visitor.at(new RegExp(`^${given.agents}/w/${ada.username}/personal/`));
  await composer(visitor).waitFor();

  // Out, and in again by an address that was kept.
  await reach(visitor, "AD ada");
  await page.keyboard.press("Enter");
  await choose(visitor, "Sign out");
  await visitor.at(/\/login/);
  await visitor.open(of("ada", "personal", "storage"));
  await visitor.at(/\/login\?/);
  await write(visitor, "E-mail", ada.email);
  await write(visitor, "Password", ada.password);
  await page.keyboard.press("Enter");
  await arrive(visitor, "Storage");

  // A reply is written while the focus stays where one types.
  await page.keyboard.press("c");
  await page.locator(".composer textarea:focus").waitFor();
  await page.keyboard.type("n=60 delay=20");
  await page.keyboard.press("Enter");
  await settled(visitor, 1);
  await seen(visitor, "after a reply");
  await equal(visitor, "a reply");

  // Two wait, all are stopped, and one of them is taken up again.
  for (const text of ["n=2000 delay=60", "n=3 the first of two", "n=4 the second of two"]) {
    await page.keyboard.type(text);
    await page.keyboard.press("Enter");
    await page.locator(".composer textarea:focus").filter({ hasText: /^$/ }).waitFor();
  }
  await page.getByRole("list", { name: "Waiting prompts" }).getByText("n=4 the second of two").waitFor();
  await reach(visitor, "Stop", (focused) => focused.matches("button.send"));
  await page.keyboard.press("Enter");
  await page.getByText("Not sent").nth(1).waitFor();
  await seen(visitor, "after Stop");
  await reach(visitor, "Send", (focused) => focused.closest(".row-of")?.textContent.includes("the first of two"));
  await page.keyboard.press("Enter");
  await page.getByText("word2", { exact: false }).last().waitFor();
  await seen(visitor, "after a prompt was taken up again");

  // The cause of a failed run, by the list.
  await call(visitor, "POST", `${base}/workflows/digest/run`, { project: "nothing" });
  await page.evaluate(() => document.activeElement.blur());
  for (const key of ["g", "r"]) await page.keyboard.press(key);
  await arrive(visitor, "Runs");
  await page.locator(".run-link").first().waitFor();
  await page.keyboard.press("j");
  await page.locator(".run-link:focus").waitFor();
  await seen(visitor, "a row");
  await page.keyboard.press("Enter");
  await arrive(visitor, "digest");
  const failed = page.getByRole("complementary", { name: "Selected span" });
  await failed.getByText("ItemNotFound").waitFor();
  await page.keyboard.press("n");
  await failed.getByText("There is no project named").waitFor();
  await reach(visitor, "Close the inspector");
  await page.keyboard.press("Enter");
  await failed.waitFor({ state: "detached" });
  await seen(visitor, "after the inspector");
});

// write goes to a field by its label, and types.
async function write(visitor, label, text) {
  await reach(visitor, label);
  await visitor.page.keyboard.type(text);
}

// choose goes down a menu to an item.
async function choose(visitor, name) {
  const item = visitor.page.getByRole("menuitem", { name, exact: true });
  await item.waitFor();
  for (let i = 0; i < 20 && !(await item.evaluate((it) => it === document.activeElement)); i++) await visitor.page.keyboard.press("ArrowDown");
  await visitor.page.keyboard.press("Enter");
}

// reach presses Tab until the focus is on what is called so. All that it comes by is seen to have it.
async function reach(visitor, name, where = () => true) {
  const met = [];
  for (let i = 0; i < 80; i++) {
    const at = await visitor.page.evaluate(named);
    const found = (name instanceof RegExp ? name.test(at) : at === name) && (await visitor.page.evaluate(`(${where})(document.activeElement)`));
    if (at) await seen(visitor, at);
    if (found) return;
    met.push(at);
    await visitor.page.keyboard.press("Tab");
  }
  throw new Error(`Tab does not lead to ${name}, but to ${met.join(", ")}`);
}

// named is what the focused element is called.
function named() {
  const it = document.activeElement;
  if (!it || it === document.body) return "";
  return (it.getAttribute("aria-label") ?? it.labels?.[0]?.innerText ?? it.innerText ?? "").replace(/\s+/g, " ").trim();
}

// seen blames a page where the focus is nowhere, out of view, or looks like what has none.
async function seen(visitor, name) {
  await visitor.page.waitForFunction(() => document.activeElement !== document.body, undefined, { timeout: 3_000 }).catch(() => {}); // it is given when what is new is drawn
  const fault = await visitor.page.evaluate(() => {
    const it = document.activeElement;
    if (!it || it === document.body) return "the focus is nowhere";
    if (it.tabIndex < 0 && !it.matches("[role=option], [role=menuitem]")) return ""; // a heading or a page that one has arrived at
    const { width, height, bottom, right, top, left } = it.getBoundingClientRect();
    if (width === 0 || height === 0 || bottom < 0 || right < 0 || top > innerHeight || left > innerWidth) return "the focus is out of view";
    const look = () => {
      const styles = [];
      for (let each = it, i = 0; each && i < 5; each = each.parentElement, i++) {
        for (const part of [null, "::after"]) {
          const { outline, boxShadow, borderColor, clipPath } = getComputedStyle(each, part);
          styles.push(outline, boxShadow, borderColor, clipPath);
        }
      }
      return styles.join();
    };
    const having = look();
    it.blur();
    const lacking = look();
    it.focus({ focusVisible: true, preventScroll: true });
    return having === lacking ? "the focus looks like none" : "";
  });
  check(visitor, name, fault === "", fault);
}
