// The first administrator comes in by the link, begins in the workspace, and on Admin sees the service and one customer with the same pages.
import { ada, arrive, becomeAdministrator, given, goTo, openAdmin, perform } from "./stage.mjs";

await perform(async (enter) => {
  const visitor = await enter();
  await becomeAdministrator(visitor, ada, openAdmin);
  await arrive(visitor, "Storage");
  await goTo(visitor, "Audit");
  await visitor.look("audit", { at: `${given.admin}/audit`, title: "Audit · Admin", see: ["Service-wide authority", "All customers", "ada"] });

  await visitor.page.getByRole("button", { name: /All customers/ }).click();
  await visitor.page.getByRole("dialog").getByRole("button", { name: /ada\/personal/ }).click();
  await visitor.page.waitForURL(`${given.admin}/w/ada/personal/audit`);
  await arrive(visitor, "Audit");
  await visitor.look("customer", { at: `${given.admin}/w/ada/personal/audit`, title: "Audit · Personal · Admin", see: ["ada/personal"] });
});
