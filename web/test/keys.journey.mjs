// Somebody goes through the workspace without a pointer: the palette, `g` and a letter, `c`, the rows of lists, `?`; then single keys are off.
// only in the soak
import { ada, arrive, of, perform, signUp } from "./stage.mjs";
import { base, call, check } from "./runs.mjs";

await perform(async (enter) => {
  const visitor = await enter();
  const { page } = visitor;
  const key = (...names) => names.reduce((before, name) => before.then(() => page.keyboard.press(name)), Promise.resolve());
  const focused = (selector) => page.locator(`${selector}:focus`).waitFor();
  await signUp(visitor, ada);
  await call(visitor, "POST", `${base}/workflows/digest/run`, { project: "nothing" });
  await call(visitor, "POST", `${base}/workflows/digest/run`, { project: "nowhere" });

  // The palette finds a page, an agent and an act.
  await visitor.open(of("ada", "personal", "storage"));
  await arrive(visitor, "Storage");
  await palette(page, "aud");
  await arrive(visitor, "Audit");
  await palette(page, "central");
  await arrive(visitor, "central");
  await palette(page, "start a");
  await page.getByRole("dialog").or(page.getByRole("complementary", { name: "Start a run" })).getByText("Workflow").first().waitFor();
  await visitor.at(/\/runs\?start=/);
  await palette(page, "scheme dark");
  await page.locator("html[data-theme=dark]").waitFor();
  await palette(page, "scheme: as the system");
  await page.locator("html:not([data-theme])").waitFor();

  // `g` and a letter; the first `j` leads to the rows from wherever one is, `x` selects, Escape selects none.
  await visitor.open(of("ada", "personal", "storage"));
  await arrive(visitor, "Storage");
  await key("g", "r");
  await arrive(visitor, "Runs");
  await page.getByText("All 2").waitFor();
  await key("j");
  await focused(".run-link");
  await key("x", "j", "x");
  await page.getByText("2 selected").waitFor();
  await key("Escape");
  await page.getByText("2 selected").waitFor({ state: "detached" });
  await key("k", "Enter");
  await arrive(visitor, "digest");

  // What a row opens closes with Escape, and the focus is where it was.
  await palette(page, "aud");
  await arrive(visitor, "Audit");
  await key("j");
  await focused("tbody tr");
  await key("Enter");
  await page.getByRole("dialog").getByText("As it is exported").waitFor();
  await key("Escape");
  await focused("tbody tr");
  await key("g", "a");
  await arrive(visitor, "Agents");
  await key("j");
  await focused("a.pick");

  // A conversation begins from anywhere, and what is typed is no key.
  await key("c");
  await page.locator(".composer textarea:focus").waitFor();
  await page.keyboard.type("gr?jx");
  check(visitor, "typing", (await page.locator(".composer textarea").inputValue()).endsWith("gr?jx"), "keys were taken from what is typed");
  await page.locator(".composer textarea").fill("");

  // The list of keys; switched off, single keys do nothing more.
  await key("g", "r");
  await page.locator("h1").first().click();
  await key("?");
  await page.getByRole("dialog", { name: "Keyboard" }).waitFor();
  await visitor.picture("list");
  await page.getByRole("switch", { name: "Single keys" }).click();
  await key("Escape");
  const before = page.url();
  await key("?", "g", "a", "c");
  await page.waitForTimeout(200);
  check(visitor, "off", page.url() === before && (await page.getByRole("dialog").count()) === 0, `single keys lead to ${page.url()}`);
  await palette(page, "keyb");
  await page.getByRole("switch", { name: "Single keys" }).click();
  await key("Escape", "g", "a");
  await arrive(visitor, "Agents");
});

// palette opens it, types, and goes to the first that is found.
async function palette(page, text) {
  await page.keyboard.press("Control+k");
  const field = page.getByRole("combobox", { name: /^Jump to/ });
  await page.locator("[role=combobox]:focus").and(field).waitFor();
  await page.keyboard.type(text);
  await page.locator(".palette [role=option]").first().waitFor();
  await page.keyboard.press("Enter");
  await field.waitFor({ state: "detached" });
}
