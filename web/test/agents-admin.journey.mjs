// An administrator finds a customer's agent and MCP server in the lists of the whole service, and goes to each in its workspace.
// only in the soak
import { ada, arrive, ask, becomeAdministrator, given, goTo, of, openAdmin, perform } from "./stage.mjs";

await perform(async (enter) => {
  const visitor = await enter();
  await becomeAdministrator(visitor, ada, openAdmin);
  const address = await ask("mcp server", { tools: [{ name: "find", description: "Finds an issue." }] });
  await visitor.open(of("ada", "personal", "agents"));
  await arrive(visitor, "Agents");
  await make(visitor, "agents", { name: "clerk", description: "Files what comes in.", instructions: "File it." });
  await make(visitor, "mcps", { name: "tracker", url: address });

  await visitor.open(`${given.admin}/agents`);
  await arrive(visitor, "Agents");
  await visitor.look("all-agents", { at: `${given.admin}/agents`, title: "Agents · Admin", see: ["clerk", "ada/personal", "central", "every workspace"] });
  await visitor.page.getByRole("searchbox", { name: "Name of an agent" }).fill("nobody");
  await visitor.page.getByText("Nothing matches").waitFor();
  await visitor.page.getByRole("button", { name: "Clear the filter" }).click();
  await visitor.page.getByRole("row", { name: /clerk/ }).click();
  await arrive(visitor, "clerk");
  await visitor.page.getByRole("button", { name: /ada\/personal/ }).first().waitFor();
  await visitor.look("agent-as-staff", { at: `${given.admin}/w/ada/personal/agents/clerk`, title: "clerk · Agents · Personal · Admin", see: ["File it."] });

  await visitor.open(`${given.admin}/mcps`);
  await arrive(visitor, "MCPs");
  await visitor.look("all-mcps", { at: `${given.admin}/mcps`, title: "MCPs · Admin", see: ["tracker", "Not connected", "ada/personal"] });
  await visitor.page.getByRole("row", { name: /tracker/ }).click();
  await visitor.page.getByText("Its tools are known once it is connected.").waitFor();
  await visitor.look("mcp-as-staff", { at: /\/w\/ada\/personal\/mcps\/mcp_/, title: "tracker · MCPs · Personal · Admin", see: ["Not connected"] });

  // Platform has the servers of one's workspaces too.
  await visitor.open(`${given.platform}/w/ada/personal/mcps`);
  await arrive(visitor, "MCPs");
  await visitor.page.locator("[data-server=tracker]").getByRole("button", { name: "Connect" }).click();
  await visitor.page.locator("[data-server=tracker]").getByText("Connected", { exact: true }).waitFor();
  await visitor.look("mcps-on-platform", { at: `${given.platform}/w/ada/personal/mcps`, title: "MCPs · Personal", see: ["0 of 1 tools on"] });
  await goTo(visitor, "Storage");
});

// make has the page of a workspace make something, as a program in it would.
async function make(visitor, noun, body) {
  const status = await visitor.page.evaluate(async ([noun, body]) => {
    const answer = await fetch(`/api/workspaces/ada/personal/${noun}`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
    return answer.status;
  }, [noun, body]);
  if (status !== 201) visitor.blame(noun, `was answered ${status}`);
}
