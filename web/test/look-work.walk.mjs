// Pictures of agents and projects, in each state.
// only in the soak
import { arrive, given, perform } from "./stage.mjs";
import { at, enterAs, enterAsStaff, follow, found, talk, write } from "./company.mjs";
import { forget } from "./chat.mjs";

const note = "projects/ops/files/notes/2026-11-17.md";

await perform(async (enter) => {
  await found();
  await talk("triage", "ticket-7", "crm-sync and invoice-export both failed. Which one first?");
  await enterAsStaff(enter);
  const visitor = await enterAs(enter, "ada");
  await follow(visitor);
  await agents(visitor);
  await versions(visitor);
  await projects(visitor);
  await conflict(visitor);
  await nothing(visitor);
});

async function agents(visitor) {
  const { page } = visitor;
  await visitor.open(at("agents"));
  await arrive(visitor, "Agents");
  await visitor.picture("agents");
  await visitor.open(at("agents/triage"));
  await arrive(visitor, "triage");
  await page.getByRole("textbox", { name: "Message", exact: true }).fill("crm-sync and invoice-export both failed. Which one first?");
  await page.keyboard.press("Enter");
  await page.getByText("look again tomorrow").waitFor();
  await visitor.picture("agent");
  const text = page.getByLabel("Instructions");
  await text.fill((await text.inputValue()).replace("Count the customers.", "Count the customers and name them."));
  await page.getByLabel("Description").fill("Ranks failures by what customers lose.");
  await visitor.picture("agent-changed");
  await page.getByRole("button", { name: "Diff" }).click();
  await visitor.picture("agent-diff");
  await page.keyboard.press("Escape");
  await page.getByRole("link", { name: "Audit" }).click();
  await page.getByRole("dialog", { name: /Leave triage/ }).waitFor();
  await visitor.picture("agent-leave");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Discard" }).click();
  await visitor.open(at("agents/writer"));
  await arrive(visitor, "writer");
  await visitor.picture("agent-refused");
  await visitor.open(at("agents/central"));
  await arrive(visitor, "central");
  await visitor.picture("agent-central");
  await visitor.open(at("agents?new=blank"));
  await arrive(visitor, "New agent");
  await visitor.picture("agent-new");
}

async function versions(visitor) {
  const { page } = visitor;
  await visitor.open(at("agents/triage"));
  await arrive(visitor, "triage");
  await page.getByRole("button", { name: /^More: versions/ }).click();
  await visitor.picture("agent-menu");
  await page.getByRole("menuitem", { name: "Versions" }).click();
  await page.getByRole("link", { name: /^v1/ }).click();
  await page.getByRole("heading", { name: "v1 → v3" }).waitFor();
  await visitor.picture("agent-version");
  await page.keyboard.press("Escape");
  await visitor.open(at("agents/triage"));
  await arrive(visitor, "triage");
  await page.getByRole("button", { name: /^More: versions/ }).click();
  await page.getByRole("menuitem", { name: "Delete" }).click();
  await page.getByRole("dialog", { name: "Delete agent" }).waitFor();
  await visitor.picture("agent-delete");
  await page.keyboard.press("Escape");
}

async function projects(visitor) {
  const { page } = visitor;
  await visitor.open(at("projects"));
  await arrive(visitor, "Projects");
  await visitor.picture("projects");
  await page.getByRole("button", { name: "New project" }).first().click();
  await visitor.picture("project-new");
  await page.keyboard.press("Escape");
  await visitor.open(at("projects/ops/files"));
  await page.getByRole("treeitem", { name: "README.md" }).waitFor();
  await visitor.picture("project");
  await visitor.open(at(note));
  await page.getByRole("textbox", { name: /^Text of/ }).waitFor();
  await page.waitForTimeout(300);
  await visitor.picture("file");
  await page.getByRole("button", { name: "Preview" }).click();
  await page.getByRole("region", { name: "Preview" }).getByText("Overnight").waitFor();
  await visitor.picture("preview");
  await visitor.open(at("projects/ops/files/scripts/export.py"));
  await page.getByRole("textbox", { name: /^Text of/ }).waitFor();
  await visitor.picture("file-code");
  await page.getByRole("button", { name: "Move", exact: true }).click();
  await visitor.picture("file-move");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await visitor.picture("file-delete");
  await page.keyboard.press("Escape");
  await visitor.open(at("projects/ops/repository"));
  await page.getByText("northwind/ops").first().waitFor();
  await arrive(visitor, "ops");
  await visitor.picture("repository");
  await page.getByRole("button", { name: "Pull", exact: true }).click();
  await page.getByText("nothing new").waitFor();
  await visitor.picture("repository-pulled");
  await visitor.open(at("projects/docs/repository"));
  await page.getByRole("heading", { name: "Follow a repository" }).waitFor();
  await visitor.picture("repository-connect");
  await visitor.open(at("projects/ops/access"));
  await page.getByText("Ops").first().waitFor();
  await arrive(visitor, "ops");
  await visitor.picture("access");
}

// conflict is a file that two write at once.
async function conflict(visitor) {
  const { page } = visitor;
  await visitor.open(at(note));
  const editor = page.getByRole("textbox", { name: /^Text of/ });
  await editor.click();
  await page.keyboard.press("Control+End");
  await page.keyboard.insertText("\nMine at the end.\n");
  await page.getByText("unsaved line").first().waitFor();
  await visitor.picture("file-unsaved");
  const saved = await page.evaluate((path) => fetch(path).then((answer) => answer.text()), "/api/workspaces/ada/northwind/projects/ops/files/notes/2026-11-17.md");
  await write("ops", "notes/2026-11-17.md", saved.replace("nobody on call", "Nora on call"));
  await page.getByText(/Edited by|Somebody|Nora/).first().waitFor();
  await visitor.picture("file-news");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("Yours is not saved yet").waitFor();
  forget(visitor);
  await visitor.picture("file-conflict");
  await page.getByRole("button", { name: "Compare" }).click();
  await page.getByText("Both changes fit together").waitFor();
  await visitor.picture("file-compare");
}

// nothing is the same in a workspace that has none of it.
async function nothing(visitor) {
  for (const [page, heading] of [["agents", "Agents"], ["projects", "Projects"]]) {
    await visitor.open(`${given.agents}/w/ada/labs/${page}`);
    await arrive(visitor, heading);
    await visitor.picture(`${page}-none`);
  }
}
