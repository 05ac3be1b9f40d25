// The operator's project in a customer's workspace: its agent, its workflow and its channel stand beside the others, and each works.
// with SVC_PROJECT={project}
import { ada, arrive, ask, given, goTo, of, perform, signUp } from "./stage.mjs";
import { base, call, status } from "./runs.mjs";

await perform(async (enter) => {
  const visitor = await enter();
  const { page } = visitor;
  await signUp(visitor, ada);
  await goTo(visitor, "Agents");
  await page.getByRole("link", { name: /helper/ }).click();
  await arrive(visitor, "helper");
  await visitor.look("agent", { at: of("ada", "personal", "agents/helper"), title: "helper · Agents · Personal", see: ["project"] });

  await goTo(visitor, "Runs");
  await page.getByRole("button", { name: "Start a run" }).first().click();
  await page.getByRole("combobox", { name: "Workflow" }).fill("add");
  await page.getByRole("option", { name: /add.*From the project: Adds two numbers\./ }).click();
  await page.getByLabel("A", { exact: true }).fill("2");
  await page.getByLabel("B", { exact: true }).fill("3");
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await arrive(visitor, "add");
  await status(visitor, "Completed");
  await page.getByRole("tab", { name: "Input and result" }).click();
  await visitor.see("result", { at: page.url(), see: ["Result", "5"] });

  // A workflow without `runs` tells nothing of what happens in it. How it ends is seen all the same.
  const { runId } = await call(visitor, "POST", `${base}/workflows/silent/run`);
  await visitor.open(of("ada", "personal", `runs/${runId}`));
  await page.getByText("What happens in the runs of this workflow is not shown").waitFor();
  await status(visitor, "Completed");
  await visitor.look("silent", { at: page.url(), status: 404, title: /^run_\w+…\w+ · silent · Runs · Personal$/, see: ["it is done"], miss: ["No run"] });

  await goTo(visitor, "API");
  const hooks = page.getByRole("region", { name: "Webhooks" });
  await hooks.waitFor();
  await hooks.scrollIntoViewIfNeeded();
  const address = `${given.agents}/v1/ada/personal/channels/orders/in`;
  await visitor.look("webhooks", { at: of("ada", "personal", "api"), see: ["Webhooks", "orders", `POST ${address}`], miss: ["github"] });
  const answer = await ask("send", { Method: "POST", URL: address, Header: { "Content-Type": "application/json" }, Body: "{}" });
  if (answer.status !== 202) visitor.blame("webhooks", `shows an address that answers ${JSON.stringify(answer)}`);
});
