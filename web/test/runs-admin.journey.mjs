// An administrator sees the runs of all workspaces in the same list, and opens one where it is.
// only in the soak
import { ada, arrive, becomeAdministrator, given, goTo, openAdmin, perform } from "./stage.mjs";
import { base, call } from "./runs.mjs";

await perform(async (enter) => {
  const visitor = await enter();
  const { page } = visitor;
  await becomeAdministrator(visitor, ada, openAdmin);
  const { runId } = await call(visitor, "POST", `${base}/workflows/digest/run`, { project: "nothing" });
  await goTo(visitor, "Runs");
  await page.getByText("There is no project named").waitFor();
  await visitor.look("all", { at: `${given.admin}/runs`, title: "Runs · Admin", see: ["ada / personal", "digest", "ItemNotFound", "Failed"], miss: ["Start a run"] });
  await page.getByRole("link", { name: "digest" }).click();
  await arrive(visitor, "digest");
  await page.getByRole("complementary", { name: "Selected span" }).getByText("ItemNotFound").waitFor();
  await visitor.look("one", { at: `${given.admin}/w/ada/personal/runs/${runId}?span=step.1`, see: ["list files", "1 failure"] });
});
