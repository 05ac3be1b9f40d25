// Staff work in a workspace of their own: every page of the navigation, a program as an MCP server, and an agent that uses it. Every page
// of a customer's workspace is there for them too, and the switcher keeps it. The pages are those of the route list.
// only in the soak
import { ada, arrive, ask, becomeAdministrator, bob, given, of, openAdmin, perform, signUp } from "./stage.mjs";
import { composer, say, settled } from "./chat.mjs";
import { plainOn } from "./pages.mjs";
import { call } from "./team.mjs";

const own = `${given.admin}/w/admin`;

await perform(async (enter) => {
  const customer = await enter();
  await signUp(customer, bob);
  await deleteOne(customer);
  const visitor = await enter();
  await becomeAdministrator(visitor, ada, openAdmin);
  await arrive(visitor, "People");
  await bringBack(visitor);
  await walk(visitor, `${given.admin}/w/bob/personal`, plainOn("admin"), "Acting on bob/personal as admin, audited.");
  await walk(visitor, own, plainOn("admin").filter((page) => !page.customers), "Staff's own");
  await switchOver(visitor);
  await addProgram(visitor);
  await talk(visitor);
});

// deleteOne makes a workspace and deletes it.
async function deleteOne(customer) {
  await customer.open("/w/bob/personal/storage");
  await call(customer, "POST", "/api/workspaces", { business: "shop", name: "Shop" });
  await customer.open(of("bob", "shop", "storage"));
  await arrive(customer, "Storage");
  await call(customer, "DELETE", "/api/workspaces/bob/shop?confirm=shop");
}

// bringBack finds it among the customers, and restores it.
async function bringBack(visitor) {
  const { page } = visitor;
  await visitor.open(`${given.admin}/customers`);
  await arrive(visitor, "Customers");
  await page.getByRole("row", { name: /bob\/shop/ }).getByText("Deleted").waitFor();
  await page.getByRole("row", { name: /bob\/shop/ }).click();
  await page.getByRole("dialog").getByText("Erased").waitFor();
  await visitor.picture("deleted");
  await page.getByRole("button", { name: "Restore workspace" }).click();
  await page.getByText("Shop is open again.").waitFor();
  await page.keyboard.press("Escape");
}

// walk looks at every page that has an address of its own.
async function walk(visitor, base, pages, says) {
  for (const page of pages) {
    await visitor.open(`${base}/${page.path}`);
    await visitor.page.getByRole("heading", { level: 1 }).waitFor();
    await visitor.page.locator("[aria-busy=true], .wait").first().waitFor({ state: "detached" });
    await visitor.see(page.path, { at: new RegExp(`^${base}/${page.path}`), see: [says], miss: ["Not here, or not yours", "Something went wrong"] });
  }
}

// switchOver goes from a customer's servers to the staff's own, and back to those of all.
async function switchOver(visitor) {
  const { page } = visitor;
  await visitor.open(`${given.admin}/w/bob/personal/settings/secrets`);
  await arrive(visitor, "Settings");
  await choose(visitor, "Staff's own workspace", `${own}/settings/secrets`);
  await choose(visitor, "Personal", `${given.admin}/w/bob/personal/settings/secrets`, "bob/personal");
  await visitor.open(`${given.admin}/mcps`);
  await arrive(visitor, "MCPs");
  await choose(visitor, "Staff's own workspace", `${own}/mcps`);
  await page.getByText("Tools from elsewhere").waitFor();
  await visitor.look("mcps", { at: `${own}/mcps`, title: "MCPs · Staff · Admin", see: ["Staff's own"], miss: ["Acting on"] });
}

// choose takes a workspace from the switcher.
async function choose(visitor, name, at, address = name) {
  await visitor.page.locator("header .scope").click();
  await visitor.page.getByRole("dialog", { name: "Customer" }).getByRole("button", { name: address }).click();
  await visitor.page.waitForURL(at);
}

// addProgram starts a server that is none yet, then as it is, and gives it another variable.
async function addProgram(visitor) {
  const { page } = visitor;
  const { command, variable } = await ask("mcp program");
  await page.getByRole("button", { name: "Add server" }).first().click();
  const dialog = page.getByRole("dialog", { name: "Add an MCP server" });
  await dialog.getByRole("button", { name: "A program" }).click();
  await dialog.getByLabel("Command").fill("/nowhere/at-all");
  await dialog.getByLabel("Variables").fill("not a variable");
  await dialog.getByText("One variable a line, as NAME=value.").waitFor();
  await visitor.picture("program-refused");
  await dialog.getByLabel("Variables").fill(variable);
  await dialog.getByRole("button", { name: "Connect" }).click();
  await dialog.getByRole("alert").getByText("The program cannot be started, or does not speak MCP.").waitFor();
  visitor.settle("no-program", 502);
  await dialog.getByLabel("Command").fill(command);
  await dialog.getByLabel("Arguments").fill("-test.run=^$");
  await dialog.getByLabel("Name", { exact: true }).fill("talker");
  await visitor.picture("program");
  await dialog.getByRole("button", { name: "Connect" }).click();
  await page.getByRole("dialog", { name: "talker offers 1 tool" }).getByRole("checkbox", { name: /variable/ }).check();
  await page.getByRole("button", { name: "Add with 1 tool on" }).click();
  await page.waitForURL(/\/w\/admin\/mcps\/mcp_/);
  await page.getByText("1 of 1 tools on", { exact: true }).waitFor();
  await visitor.look("server", { at: /\/w\/admin\/mcps\/mcp_/, title: "talker · MCPs · Staff · Admin", see: ["Program", "MCP_TEST_SPEAKS stored", "1 of 1 tools on"], miss: ["=yes"] });

  await page.getByRole("button", { name: "More of talker" }).click();
  await page.getByRole("menuitem", { name: "Edit server" }).click();
  const edit = page.getByRole("dialog", { name: "Edit talker" });
  await edit.getByLabel("Variables").fill(`${variable}\nPIN=1234`);
  await visitor.picture("program-edit");
  await edit.getByRole("button", { name: "Save and connect" }).click();
  await page.getByText("talker is connected.").waitFor();
  await page.getByText("MCP_TEST_SPEAKS, PIN stored").waitFor();
}

// talk has the chat of the staff answer, and finds its own things again in the list of all.
async function talk(visitor) {
  const { page } = visitor;
  await visitor.page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Chat" }).click();
  await composer(visitor).waitFor();
  await say(visitor, "n=12");
  await page.waitForURL(/\/w\/admin\/chat\/.+/);
  await settled(visitor, 1);
  await visitor.look("chat", { at: /\/w\/admin\/chat\//, see: ["built-in scripted model"] });
  await visitor.open(`${given.admin}/mcps`);
  await arrive(visitor, "MCPs");
  await page.getByRole("row", { name: /talker/ }).click();
  await page.waitForURL(/\/w\/admin\/mcps\/mcp_/);
}
