// Every role looks at every page: it is shown, or said to be whose. What somebody may not do is disabled and says why, and nothing that they can
// press asks for it. Whoever is not in the workspace finds nothing. The pages are those of the route list, so a new one is looked at without a
// word here. (interface.md, journey 30; all roles and pages with SVC_SOAK=1)
// only in the soak
import { ada, given, of, perform, signUp } from "./stage.mjs";
import { excuse, says, still } from "./judge.mjs";
import { furnish, nothing, pagesOn } from "./pages.mjs";
import { call, join, makeWorkspace } from "./team.mjs";

// rights are the contract's table (accounts.md 8.1), written a second time: what pages think of it is what is tried.
const rights = {
  owner: ["enter", "read", "work", "review", "manage", "own", "billing.read", "billing.write"],
  admin: ["enter", "read", "work", "review", "manage", "billing.read"],
  builder: ["enter", "read", "work"],
  viewer: ["enter", "read"],
  billing: ["enter", "billing.read", "billing.write"],
};
const looking = given.soak ? Object.keys(rights) : ["viewer", "billing"];
const workspace = "ada/labs";

await perform(async (enter) => {
  const owner = await enter();
  await signUp(owner, ada);
  await makeWorkspace(owner, "labs", "Labs");
  const world = given.soak ? await furnish(owner, workspace) : nothing;
  // Every day the things themselves are left out.
  const pages = (given.soak ? ["agents", "platform"] : ["agents"]).flatMap((surface) => pagesOn(surface, world, workspace)).filter((page) => given.soak || !page.path.includes("$"));
  let visitor;
  for (const role of looking) {
    visitor = role === "owner" ? owner : await join(enter, owner, workspace, `some-${role}`, role);
    for (const page of pages) await judge(visitor, role, page);
  }
  // Who was taken out is a stranger: an address may not sign up more often.
  await owner.open(of("ada", "labs", "storage"));
  const { items } = await call(owner, "GET", `/api/workspaces/${workspace}/people`);
  await call(owner, "DELETE", `/api/workspaces/${workspace}/people/${items.find((each) => each.username === `some-${looking.at(-1)}`).account}`);
  for (const page of given.soak ? pages : pages.slice(0, 2)) {
    await visitor.open(page.at);
    await says(visitor, `stranger ${page.name}`, "Not here, or not yours.");
    excuse(visitor, `stranger ${page.name}`, { statuses: [404] });
  }
});

// judge opens a page as a role, and finds it as the table says: nothing that is refused is even asked for.
async function judge(visitor, role, { at, name: of, title, right, nav }) {
  const name = `${role} ${of}`;
  const may = rights[role].includes(right);
  await visitor.open(at);
  await visitor.page.getByRole("heading", { level: 1 }).first().waitFor();
  await still(visitor, name);
  // A page that follows something never falls silent.
  await visitor.page.waitForLoadState("networkidle", { timeout: 1_000 }).catch(() => {});
  const refused = visitor.page.locator("main .empty").filter({ hasText: /You need the \w+ role\./ });
  const told = (await refused.count()) > 0;
  if (told === may) visitor.blame(name, may ? "is refused" : `is shown: ${await visitor.text()}`);
  const listed = await visitor.page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: title, exact: true }).count();
  if (nav && listed > 0 !== may) visitor.blame(name, may ? "is not in the navigation" : "is in the navigation");
  for (const each of await visitor.page.evaluate(silent)) visitor.blame(name, `does not say why one may not press ${each}`);
  // What a page that is shown looks for and does not find is its own business.
  excuse(visitor, name, { statuses: [404], early: !may && of.includes(" chat") });
  if (given.soak && !rights[role].includes("work")) await changesNothing(visitor, name, at);
}

// silent are the controls that cannot be pressed and do not say why.
function silent() {
  const off = [...document.querySelectorAll("main [aria-disabled=true], main button:disabled")].filter((each) => each.checkVisibility());
  return off.filter((each) => !each.title && !each.getAttribute("aria-describedby") && each.getAttribute("aria-busy") !== "true").map((each) => each.getAttribute("aria-label") ?? each.textContent);
}

// changesNothing presses all that can be pressed, by somebody who only reads: no change is asked for.
async function changesNothing(visitor, name, at) {
  const { page } = visitor;
  const asked = [];
  const unsafe = (route) => {
    if (route.request().method() === "GET") return route.fallback();
    asked.push(`${route.request().method()} ${new URL(route.request().url()).pathname}`);
    return route.fulfill({ status: 403, json: { error: { type: "forbidden", message: "No.", details: "" } } });
  };
  await page.route(/\/(api|v1)\//, unsafe);
  const pressable = "main button:not([aria-disabled=true]):not(:disabled)";
  const count = await page.locator(pressable).count();
  for (let i = 0; i < count; i++) {
    const button = page.locator(pressable).nth(i);
    if (!(await button.isVisible())) continue;
    const label = (await button.getAttribute("aria-label")) ?? (await button.innerText());
    await button.click({ timeout: 2_000 }).catch(() => {});
    await page.locator("dialog[open] button[type=submit]:not([aria-disabled=true])").click({ timeout: 100 }).catch(() => {});
    if (asked.length > 0) visitor.blame(name, `${label} asks for ${asked.splice(0)}`);
    if (page.url() === at && (await page.locator("dialog[open], [popover]:popover-open").count()) === 0) continue;
    await visitor.open(at);
    await still(visitor, name);
  }
  await page.unroute(/\/(api|v1)\//, unsafe);
  excuse(visitor, name, { statuses: [403, 404] });
}
