// Every role looks at every page: it is shown, or said to be whose. Whoever is not in the workspace finds nothing. The pages are those of
// the route list, so a new one is looked at without a word here. (interface.md, journey 30; all roles with SVC_SOAK=1)
import { readFileSync } from "node:fs";
import { ada, of, perform, signUp } from "./stage.mjs";
import { call, join, makeWorkspace } from "./team.mjs";

// rights are the contract's table (accounts.md 8.1), written a second time: what pages think of it is what is tried.
const rights = {
  owner: ["enter", "read", "work", "review", "manage", "own", "billing.read", "billing.write"],
  admin: ["enter", "read", "work", "review", "manage", "billing.read"],
  builder: ["enter", "read", "work"],
  viewer: ["enter", "read"],
  billing: ["enter", "billing.read", "billing.write"],
};
const pages = routes();
const looking = process.env.SVC_SOAK ? ["owner", "admin", "builder", "viewer", "billing"] : ["viewer", "billing"];

await perform(async (enter) => {
  const owner = await enter();
  await signUp(owner, ada);
  await makeWorkspace(owner, "labs", "Labs");
  let visitor;
  for (const role of looking) {
    visitor = role === "owner" ? owner : await join(enter, owner, "ada/labs", `some-${role}`, role);
    for (const page of pages) await judge(visitor, role, page);
  }
  // Who was taken out is a stranger: an address may not sign up more often.
  const stranger = visitor;
  await owner.open(of("ada", "labs", "storage"));
  const { items } = await call(owner, "GET", "/api/workspaces/ada/labs/people");
  await call(owner, "DELETE", `/api/workspaces/ada/labs/people/${items.find((each) => each.username === `some-${looking.at(-1)}`).account}`);
  for (const page of process.env.SVC_SOAK ? pages : pages.slice(0, 2)) {
    await stranger.open(of("ada", "labs", page.path));
    await stranger.page.getByText("Not here, or not yours.").waitFor();
    stranger.refusals = stranger.refusals.filter((refusal) => refusal.status !== 404);
    stranger.settle(`stranger ${page.path}`, 200);
  }
});

// judge opens a page as a role, and finds it as the table says: nothing that is refused is even asked for.
async function judge(visitor, role, { path, title, right, nav }) {
  const name = `${role} ${path}`;
  const may = rights[role].includes(right);
  await visitor.open(of("ada", "labs", path));
  await visitor.page.getByRole("heading", { level: 1 }).first().waitFor();
  await visitor.page.locator("main[aria-busy=true], .wait").first().waitFor({ state: "detached" });
  await visitor.page.waitForLoadState("networkidle");
  const refused = visitor.page.locator("main .empty").filter({ hasText: /You need the \w+ role\./ });
  const told = (await refused.count()) > 0;
  if (told === may) visitor.blame(name, may ? "is refused" : `is shown: ${await visitor.text()}`);
  const listed = await visitor.page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: title, exact: true }).count();
  if (nav && listed > 0 !== may) visitor.blame(name, may ? "is not in the navigation" : "is in the navigation");
  // What a page that is shown looks for and does not find is its own business.
  visitor.refusals = visitor.refusals.filter((refusal) => refusal.status !== 404);
  visitor.settle(name, 200);
}

// routes are the pages of a workspace on Agents that need no name of a thing.
function routes() {
  const text = readFileSync(new URL("../src/routes.tsx", import.meta.url), "utf8");
  const list = text.slice(text.indexOf("workspacePages: readonly"), text.indexOf("servicePages: readonly"));
  const rows = [...list.matchAll(/\{ path: "([^"]+)", title: "([^"]+)",(.*)\},?$/gm)].map(([, path, title, rest]) => ({
    path, title, right: /right: "([^"]+)"/.exec(rest)?.[1] ?? "read", nav: /nav: \{/.test(rest), on: /on: (\w+|\[[^\]]*\])/.exec(rest)?.[1] ?? "everywhere",
  }));
  const found = rows.filter((row) => !row.path.includes("$") && /everywhere|agents/.test(row.on));
  if (found.length < 8) throw new Error(`the route list has ${found.length} pages that can be read here`);
  return found;
}
