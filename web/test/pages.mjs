// The pages of the application as its route list has them, each with the address of a thing to show. A page that is added is in every
// journey that is made of these; one that shows a thing and has no example here fails them.
import { readFileSync } from "node:fs";
import { ask, given } from "./stage.mjs";
import { call } from "./team.mjs";

const listed = readFileSync(new URL("../src/routes.tsx", import.meta.url), "utf8");

// The pages of a workspace, and those of the service as a whole.
export const workspaceRows = rowsOf("workspacePages");
export const serviceRows = rowsOf("servicePages");

// rowsOf reads one list of pages. A line that it does not understand is an error: a page must not be left out.
function rowsOf(list) {
  const from = listed.indexOf(`export const ${list}: readonly PageRow[] = [`);
  const lines = listed.slice(from, listed.indexOf("\n];", from)).split("\n").slice(1);
  const rows = lines.filter((line) => !/^\s*(\/\/.*|\/\*.*\*\/)?$/.test(line)).map((line) => {
    const [, path, title, rest] = /^ {2}\{ path: "([^"]+)", title: "([^"]+)",(.*)\},$/.exec(line) ?? [];
    if (!path) throw new Error(`${list} has a page that cannot be read here: ${line}`);
    const on = /\bon: (?:(everywhere)|\[([^\]]*)\])/.exec(rest);
    return {
      path, title, nav: /\bnav: \{/.test(rest), customers: /\bcustomers: true/.test(rest), right: /\bright: "([^"]+)"/.exec(rest)?.[1] ?? "read",
      on: on?.[1] ? ["platform", "agents", "admin"] : (on?.[2]?.match(/\w+/g) ?? ["agents", "admin"]),
    };
  });
  if (rows.length < 8) throw new Error(`${list} has ${rows.length} pages that can be read here`);
  return rows;
}

// The pages that the service draws itself, without scripts: the application hands over to them.
const handedOver = ["settings/providers"];

// furnish puts one thing of each noun that has a page into a workspace, and gives the names that it cannot choose.
export async function furnish(visitor, workspace = "ada/personal") {
  const base = `/api/workspaces/${workspace}`;
  await visitor.open(`${given.agents}/w/${workspace}/storage`);
  const address = await ask("mcp server", { tools: [{ name: "find", description: "Finds an issue." }, { name: "wipe", description: "Deletes an issue.", destructive: true }] });
  const mcp = await call(visitor, "POST", `${base}/mcps`, { name: "tracker", url: address });
  await call(visitor, "POST", `${base}/agents`, { name: "clerk", description: "Files what comes in.", instructions: "File it." });
  await call(visitor, "POST", `${base}/projects`, { slug: "docs", name: "Docs" });
  await visitor.page.evaluate((at) => fetch(at, { method: "PUT", body: new Blob(["# Today\n\nAll is well.\n"]) }), `${base}/projects/docs/files/notes/today.md`);
  const prompt = { kind: "user", body: "n=3 delay=1" };
  await call(visitor, "POST", `/v1/${workspace}/agents/central/first-talk`, prompt);
  await call(visitor, "POST", `/v1/${workspace}/agents/clerk/filed`, prompt);
  const { runId } = await call(visitor, "POST", `${base}/workflows/digest/run`, { project: "docs" });
  await ended(visitor, `${base}/runs/${runId}`);
  return { mcp: mcp.id, run: runId };
}

// ended waits for a run, so that its page stands still.
async function ended(visitor, run) {
  await visitor.page.evaluate(async (run) => {
    for (;;) {
      const { status } = await (await fetch(run)).json();
      if (status !== "active") return;
      await new Promise((next) => setTimeout(next, 50));
    }
  }, run);
}

// examplesOf are the addresses of pages that show a thing: of one that is there, and of one that is not. `missing` is empty where a page
// reads nothing of what its address names.
function examplesOf({ mcp, run }) {
  return {
    "chat/$instance": { there: ["chat/first-talk"], missing: ["chat/never-was"] },
    "agents/$name/conversations/$instance": { there: ["agents/clerk/conversations/filed"], missing: ["agents/nobody/conversations/never-was"] },
    "agents/$": { there: ["agents/clerk", "agents/clerk/versions/1", "agents/clerk?part=conversations", "agents?new=blank"], missing: ["agents/nobody", "agents/clerk/versions/99"] },
    "projects/$slug": { there: ["projects/docs"], missing: ["projects/none"] },
    "projects/$slug/$": { there: ["projects/docs/files/notes/today.md", "projects/docs/repository", "projects/docs/access"], missing: ["projects/docs/files/none.md", "projects/docs/nothing", "projects/none/files/a.md"] },
    "runs/$runId": { there: [`runs/${run}`, `runs/${run}?tab=conversation`, `runs/${run}?tab=events`, `runs/${run}?tab=input`], missing: ["runs/run_01JCZ9F2Q8XKMB7T4W5E6R7Y8Z"] },
    "mcps/$id": { there: [`mcps/${mcp}`], missing: ["mcps/mcp_none"] },
    "impersonations/$id/end": { there: ["impersonations/imp_none/end"], missing: [] },
  };
}

// nothing is a world without things, for those who look at addresses alone.
export const nothing = { mcp: "mcp_none", run: "run_none" };

// plainOn are the rows of a workspace's pages that show no one thing.
export function plainOn(surface) {
  return workspaceRows.filter((row) => row.on.includes(surface) && !row.path.includes("$"));
}

// pagesOn are the pages of a surface: a name to blame, where the page is, and its row. Those of a workspace begin with its address.
export function pagesOn(surface, world, workspace = "ada/personal") {
  const inside = workspaceRows.filter((row) => row.on.includes(surface)).flatMap((row) => addresses(row, world, "there").map((path) => ({ ...row, at: `${given[surface]}/w/${workspace}/${path}`, name: `${surface} ${path}` })));
  if (surface !== "admin") return inside;
  return [...inside, ...serviceRows.flatMap((row) => addresses(row, world, "there").map((path) => ({ ...row, at: `${given.admin}/${path}`, name: `service ${path}`, service: true, handedOver: handedOver.includes(row.path) })))];
}

// missingOn are the addresses of things that are not there.
export function missingOn(surface, world, workspace = "ada/personal") {
  return workspaceRows.filter((row) => row.on.includes(surface)).flatMap((row) => addresses(row, world, "missing").map((path) => ({ ...row, at: `${given[surface]}/w/${workspace}/${path}`, name: `${surface} ${path}, missing` })));
}

function addresses(row, world, kind) {
  if (!row.path.includes("$")) return kind === "there" ? [row.path] : [];
  const example = examplesOf(world)[row.path];
  if (!example) throw new Error(`the page ${row.path} has no example in web/test/pages.mjs`);
  return example[kind];
}
