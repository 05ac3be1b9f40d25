// Somebody sets their workspace up: which models it may ask, what it keeps secret, what it is called; and ends it, and brings it back.
// only in the soak
import { ada, arrive, given, goTo, of, perform, signUp } from "./stage.mjs";
import { call, makeWorkspace } from "./team.mjs";

await perform(async (enter) => {
  const visitor = await enter();
  const { page } = visitor;
  const at = (tab) => of("ada", "labs", `settings/${tab}`);
  await signUp(visitor, ada);
  await makeWorkspace(visitor, "labs", "Labs");
  await visitor.open(of("ada", "labs", "settings"));
  await arrive(visitor, "Settings");
  await visitor.look("models", { at: at("models"), title: "Models · Settings · Labs", see: ["built-in scripted model", "Anthropic", "Not set", "scripted/words", "central"] });

  // An address that the operator does not allow is refused before anything is sent to it.
  await page.getByRole("button", { name: "More of OpenAI" }).click();
  await page.getByRole("menuitem", { name: /Change the address/ }).click();
  await page.getByLabel("Address", { exact: true }).fill("http://127.0.0.1:9/v1");
  await page.getByRole("dialog").getByRole("button", { name: "Store and test" }).click();
  await page.getByRole("dialog").getByText("private network").waitFor();
  await visitor.see("address", { at: at("models"), status: 400 });
  await page.keyboard.press("Escape");

  await page.getByRole("combobox", { name: "Default model" }).fill("scripted");
  await page.getByRole("option", { name: /scripted\/words/ }).click();
  await page.getByText("Chosen for this workspace.").waitFor();

  await page.getByRole("navigation", { name: "Settings" }).getByRole("link", { name: "Secrets" }).click();
  await page.getByText("Nothing is kept here yet").waitFor();
  await visitor.look("no-secrets", { at: at("secrets"), title: "Secrets · Settings · Labs", see: ["Nothing is kept here yet"] });
  await page.getByRole("button", { name: "New secret" }).first().click();
  await page.getByLabel("Name", { exact: true }).fill("mail password");
  await page.getByLabel("Value", { exact: true }).fill("correct horse battery");
  await visitor.picture("new-secret");
  await page.getByRole("button", { name: "Store", exact: true }).click();
  await page.getByRole("cell", { name: "MAIL_PASSWORD", exact: true }).waitFor();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await visitor.look("secrets", { at: at("secrets"), see: ["MAIL_PASSWORD", "version 1", "never", "nothing yet"], miss: ["correct horse"] });
  await page.getByRole("button", { name: "Replace MAIL_PASSWORD" }).click();
  await page.getByLabel("Value", { exact: true }).fill("another horse");
  await page.getByRole("dialog").getByRole("button", { name: "Replace", exact: true }).click();
  await page.getByText("version 2").waitFor();
  await page.getByRole("button", { name: "Delete MAIL_PASSWORD" }).click();
  await page.getByLabel("Type MAIL_PASSWORD to confirm").fill("MAIL_PASSWORD");
  await page.getByRole("button", { name: "Delete secret" }).click();
  await page.getByText("Nothing is kept here yet").waitFor();

  await page.getByRole("navigation", { name: "Settings" }).getByRole("link", { name: "General" }).click();
  await page.getByLabel("Name", { exact: true }).fill("Research");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("This workspace is now called Research.").waitFor();
  await page.waitForFunction(() => document.title.endsWith("Research"));
  await visitor.look("general", { at: at("general"), title: "General · Settings · Research", see: ["ada/labs", "In use", "you always stay an owner"] });
  // What is typed stays when the workspace changes meanwhile, and is saved over what it has become.
  await page.getByLabel("Name", { exact: true }).fill("Research and");
  await page.getByRole("button", { name: "Archive", exact: true }).click();
  await page.getByRole("button", { name: "Unarchive" }).click();
  await page.getByRole("button", { name: "Archive", exact: true }).waitFor();
  await page.getByLabel("Name", { exact: true }).and(page.locator("[value=\"Research and\"]")).fill("Research and more");
  // The name of before, typed while what was saved has not been read again, is something typed like any other.
  const slowly = (route) => new Promise((over) => setTimeout(over, route.request().method() === "GET" ? 2_000 : 0)).then(() => route.fallback());
  await page.route("**/api/workspaces/ada/labs", slowly);
  const readAgain = page.waitForResponse((got) => got.request().method() === "GET" && got.url().endsWith("/api/workspaces/ada/labs"));
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("This workspace is now called Research and more.").waitFor();
  await page.getByLabel("Name", { exact: true }).fill("Research");
  await readAgain;
  await page.unroute("**/api/workspaces/ada/labs", slowly);
  await page.getByRole("button", { name: "Save" }).click();
  await page.waitForFunction(() => document.title.endsWith("Settings · Research"));

  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByLabel("Type labs to confirm").fill("labs");
  await page.getByRole("button", { name: "Delete workspace" }).click();
  await page.getByText("Research is deleted").waitFor();
  visitor.refusals = visitor.refusals.filter((refusal) => refusal.status !== 404); // what was read again is not there
  await visitor.picture("deleted");
  await page.getByRole("button", { name: "Bring it back" }).click();
  await page.getByText("Research is back.").waitFor();
  visitor.refusals = visitor.refusals.filter((refusal) => refusal.status !== 404);
  await page.reload();
  await arrive(visitor, "Settings");
  await visitor.see("back", { at: at("general"), see: ["ada/labs"] });

  // As long as it can be brought back it stands in the list of workspaces, also for whoever did not delete it.
  await call(visitor, "DELETE", "/api/workspaces/ada/labs?confirm=labs");
  await visitor.open("/workspaces");
  await visitor.look("deleted-list", { at: "/workspaces", see: ["Deleted", "ada/labs · erased on"], miss: ["Configure Research"] });
  await visitor.press("Bring back Research");
  await visitor.at(new RegExp(`^${of("ada", "labs", "chat")}`));
  visitor.refusals = visitor.refusals.filter((refusal) => refusal.status !== 404);

  // Platform has the same pages of what is configured, without those of the work.
  await visitor.open("/workspaces");
  await visitor.follow("Configure Research");
  await arrive(visitor, "MCPs");
  await goTo(visitor, "Settings");
  await visitor.look("platform", { at: `${given.platform}/w/ada/labs/settings/models`, title: "Models · Settings · Research", see: ["Providers", "is shown on Agents"] });
  await goTo(visitor, "API");
  await visitor.see("platform-api", { at: `${given.platform}/w/ada/labs/api`, see: ["No key yet"] });
});
