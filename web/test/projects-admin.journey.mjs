// Staff see the projects and the storage of every workspace, and go into one with the authority of the service.
// only in the soak
import { ada, arrive, becomeAdministrator, bob, given, of, openAdmin, perform, signUp } from "./stage.mjs";

await perform(async (enter) => {
  const customer = await enter();
  await signUp(customer, bob);
  await customer.open(of("bob", "personal", "projects"));
  await arrive(customer, "Projects");
  const made = await customer.page.evaluate(async () => {
    const answer = await fetch("/api/workspaces/bob/personal/projects", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ name: "Ledger" }) });
    const file = await fetch("/api/workspaces/bob/personal/projects/ledger/files/2026/november.csv", { method: "PUT", body: new Blob(["day,sum\n1,2\n"]) });
    return [answer.status, file.status].join();
  });
  if (made !== "201,201") throw new Error(`a project was answered ${made}`);

  const staff = await enter();
  const { page } = staff;
  await becomeAdministrator(staff, ada, openAdmin);
  await staff.open(`${given.admin}/projects`);
  await arrive(staff, "Projects");
  await staff.look("all", { at: `${given.admin}/projects`, title: "Projects · Admin", see: ["Ledger", "bob/personal"] });
  await page.getByRole("row", { name: "Ledger" }).press("Enter");
  await arrive(staff, "Ledger");
  await page.getByRole("treeitem", { name: "2026" }).click();
  await page.getByRole("treeitem", { name: "november.csv" }).click();
  await page.getByRole("textbox", { name: "Text of 2026/november.csv" }).waitFor();
  await staff.look("one", { at: `${given.admin}/w/bob/personal/projects/ledger/files/2026/november.csv`, title: "2026/november.csv · Ledger · Projects · Personal · Admin", see: ["Saved by bob"] });
  await staff.open(`${given.admin}/storage`);
  await arrive(staff, "Storage");
  await staff.look("storage", { at: `${given.admin}/storage`, see: ["bob/personal"] });
});
