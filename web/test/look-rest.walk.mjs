// Pictures of runs, MCP servers, keys, people, storage, audit and settings, in each state.
// only in the soak
import { arrive, ask, given, perform } from "./stage.mjs";
import { at, cancel, digest, enterAs, found } from "./company.mjs";
import { forget } from "./chat.mjs";
import { row } from "./runs.mjs";

await perform(async (enter) => {
  await found();
  await digest("docs", "completed");
  const failed = await digest("nowhere", "errored", "jonas");
  await cancel(await digest("ops", "active"));
  await digest("invoices", "completed", "nora");
  const running = await digest("ops", "active");
  const visitor = await enterAs(enter, "ada");
  await runs(visitor, failed, running);
  await servers(visitor);
  await keys(visitor);
  await people(visitor, await enterAs(enter, "kofi"));
  await workspace(visitor);
  await nothing(visitor);
  await trouble(visitor);
  await restart(visitor, running);
});

async function runs(visitor, failed, running) {
  const { page } = visitor;
  await visitor.open(at("runs"));
  await arrive(visitor, "Runs");
  await visitor.picture("runs");
  await page.getByRole("list", { name: "Runs" }).getByRole("link").first().focus();
  await page.keyboard.press("x");
  await page.keyboard.press("j");
  await page.keyboard.press("x");
  await visitor.picture("runs-selected");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Start a run" }).first().click();
  await page.getByLabel("Project required").waitFor();
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await page.getByText("This is needed.").waitFor();
  await visitor.picture("runs-start");
  await visitor.open(at(`runs/${failed}`));
  await page.getByRole("complementary", { name: "Selected span" }).waitFor();
  await visitor.picture("run-failed");
  await visitor.open(at(`runs/${running}`));
  await row(visitor, "read notes/2026-11-17.md").waitFor();
  await visitor.picture("run");
  await row(visitor, "read notes/2026-11-17.md").click();
  await visitor.picture("run-span");
  for (const [tab, name] of [["Conversation", "run-conversation"], ["Events", "run-events"], ["Input and result", "run-input"]]) {
    await page.getByRole("tab", { name: tab }).click();
    await page.waitForTimeout(300);
    await visitor.picture(name);
  }
  await page.getByRole("button", { name: "Cancel run" }).click();
  await visitor.picture("run-cancel");
  await page.keyboard.press("Escape");
}

async function servers(visitor) {
  const { page } = visitor;
  await visitor.open(at("mcps"));
  await arrive(visitor, "MCPs");
  await visitor.picture("mcps");
  await page.getByRole("link", { name: "linear-tools" }).click();
  await page.getByRole("switch", { name: "search_issues" }).waitFor();
  await visitor.picture("mcps-open");
  await page.getByRole("button", { name: "search_issues" }).click();
  await page.getByRole("dialog", { name: "search_issues" }).waitFor();
  await visitor.picture("mcps-tool");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Add server" }).first().click();
  await visitor.picture("mcps-add");
  await page.keyboard.press("Escape");
}

async function keys(visitor) {
  const { page } = visitor;
  await visitor.open(at("api"));
  await arrive(visitor, "API");
  await visitor.picture("keys");
  await page.getByRole("button", { name: "New key" }).first().click();
  await page.getByLabel("Name", { exact: true }).fill("warehouse-2");
  await visitor.picture("keys-new");
  await page.getByRole("button", { name: "Make key" }).click();
  await page.getByRole("dialog", { name: "The key warehouse-2" }).waitFor();
  await visitor.picture("keys-made");
  await page.getByRole("button", { name: "I have it" }).click();
  await page.getByRole("button", { name: "Try it" }).click();
  await page.getByRole("region", { name: "Answer" }).getByText("Answered").waitFor();
  await visitor.picture("keys-tried");
  await page.getByRole("button", { name: "Revoke ci" }).click();
  await visitor.picture("keys-revoke");
  await page.keyboard.press("Escape");
}

async function people(visitor, kofi) {
  const { page } = visitor;
  await visitor.open(at("team"));
  await arrive(visitor, "Team");
  await visitor.picture("team");
  await page.getByRole("button", { name: /^Role of Nora/ }).click();
  await visitor.picture("team-role");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Invite", exact: true }).click();
  await visitor.picture("team-invite");
  await page.keyboard.press("Escape");
  await kofi.open(at("team"));
  await arrive(kofi, "Team");
  await kofi.picture("team-viewer");
  await kofi.open(at("api"));
  await kofi.page.getByText(/You need the/).waitFor();
  await kofi.picture("refused");
  await kofi.open(at("chat"));
  await kofi.page.getByRole("heading", { level: 1 }).first().waitFor();
  await kofi.page.waitForTimeout(500);
  await kofi.picture("chat-viewer");
}

async function workspace(visitor) {
  const { page } = visitor;
  await visitor.open(at("storage"));
  await arrive(visitor, "Storage");
  await visitor.picture("storage");
  await visitor.open(at("audit"));
  await arrive(visitor, "Audit");
  await visitor.picture("audit");
  await page.locator("tbody tr").first().press("Enter");
  await page.getByRole("dialog").getByText("As it is exported").waitFor();
  await visitor.picture("audit-event");
  await page.keyboard.press("Escape");
  await visitor.open(at("settings/models"));
  await page.getByText("Anthropic", { exact: true }).waitFor();
  await arrive(visitor, "Settings");
  await visitor.picture("models");
  await page.getByRole("combobox", { name: "Default model" }).click();
  await visitor.picture("models-choose");
  await page.keyboard.press("Escape");
  await visitor.open(at("settings/secrets"));
  await page.getByText("MAIL_PASSWORD").first().waitFor();
  await visitor.picture("secrets");
  await page.getByRole("button", { name: "New secret" }).first().click();
  await visitor.picture("secret-new");
  await page.keyboard.press("Escape");
  await visitor.open(at("settings/general"));
  await arrive(visitor, "Settings");
  await page.getByLabel("Name", { exact: true }).waitFor();
  await visitor.picture("general");
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await visitor.picture("general-delete");
  await page.keyboard.press("Escape");
}

// nothing is a workspace that has none of it.
async function nothing(visitor) {
  for (const [page, heading] of [["runs", "Runs"], ["mcps", "MCPs"], ["api", "API"], ["team", "Team"], ["storage", "Storage"], ["settings/secrets", "Settings"]]) {
    await visitor.open(`${given.agents}/w/ada/labs/${page}`);
    await arrive(visitor, heading);
    await visitor.picture(`${page.replace("/", "-")}-none`);
  }
}

// trouble is what is seen while nothing is answered, and when it is refused.
async function trouble(visitor) {
  const { page } = visitor;
  const lists = ["runs", "agents", "projects", "mcps", "keys", "audit", "people"];
  const listed = new RegExp(`/api/workspaces/ada/northwind/(${lists.join("|")})(\\?.*)?$`);
  let answers = () => new Promise(() => {});
  await page.route(listed, (route) => answers(route));
  for (const path of ["runs", "agents", "projects", "mcps", "audit", "team"]) {
    await visitor.open(at(path));
    await page.locator(".wait").first().waitFor();
    await page.waitForTimeout(400);
    await visitor.picture(`${path}-loading`);
  }
  answers = (route) => route.fulfill({ status: 500, json: { error: { type: "internal_error", message: "Something went wrong on our side.", requestId: "req_01M7MM1ABM91VS85XG24DCF3YM" } } });
  for (const path of ["runs", "audit", "projects"]) {
    await visitor.open(at(path));
    await page.getByRole("button", { name: /Retry|Try again/ }).first().waitFor();
    await visitor.picture(`${path}-error`);
  }
  await page.unroute(listed);
  forget(visitor);
}

// restart kills the service under a run, and looks at the band that is left of it.
async function restart(visitor, running) {
  const { page } = visitor;
  await visitor.open(at(`runs/${running}`));
  await row(visitor, "read notes/2026-11-17.md").waitFor();
  await ask("kill");
  await ask("start");
  await page.locator(".gap").waitFor();
  await page.getByText("once, after").waitFor();
  forget(visitor);
  await visitor.picture("run-restarted");
  forget(visitor);
}
