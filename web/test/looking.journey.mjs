// Staff look as a customer: the bar is on every page, what would change something says why it does not, and when the time is over under
// an open page what it showed goes.
// only in the soak
import { ada, arrive, becomeAdministrator, given, of, openAdmin, perform, signUp } from "./stage.mjs";

const sam = { email: "sam@example.com", username: "sam", password: "a kettle on the third shelf" };

await perform(async (enter) => {
  await signUp(await enter(), ada);
  const staff = await enter();
  await becomeAdministrator(staff, sam, openAdmin);
  await arrive(staff, "People");
  await look(staff, "Ticket 4821: invoices are missing");
  await changeNothing(staff);
  await endElsewhere(staff);
  await staff.follow("Back to Admin");
  await arrive(staff, "People");
  await look(staff, "Ticket 4821, once more");
});

// look begins to see what the customer sees.
async function look(staff, reason) {
  await staff.page.getByRole("row").filter({ hasText: "ada@example.com" }).click();
  await staff.page.getByLabel("Reason").fill(reason);
  await staff.page.getByRole("button", { name: "Start read-only session" }).click();
  await staff.at(new RegExp(`^${given.agents}/w/ada/personal/`));
  await staff.page.getByText("You see what ada sees, and change nothing.").waitFor();
}

// changeNothing finds the bar on every page, and on what would change something the reason why it does not.
async function changeNothing(staff) {
  for (const [page, button] of [["agents", "New agent"], ["projects", "New project"], ["team", "Invite"]]) {
    await staff.open(of("ada", "personal", page));
    const act = staff.page.getByRole("button", { name: button }).first();
    await act.waitFor();
    if ((await act.getAttribute("title")) !== "You only look here, as the customer. Nothing can be changed.") staff.blame(page, `does not say why ${button} does nothing`);
    await staff.see(page, { at: of("ada", "personal", page), see: ["You see what ada sees, and change nothing.", "min left", "staff"] });
  }
  await staff.picture("looking-team");
}

// endElsewhere has the time be over under an open page: what it showed goes.
async function endElsewhere(staff) {
  const id = (await staff.page.getByRole("link", { name: "End" }).getAttribute("href")).split("/").at(-2);
  const other = await staff.tab();
  await other.open(`${given.admin}/people`);
  await arrive(other, "People");
  await other.page.evaluate((id) => fetch(`/api/admin/impersonations/${id}`, { method: "DELETE" }), id);
  await other.page.close();
  await staff.page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Storage" }).click();
  await staff.page.getByRole("heading", { name: "The read-only session has ended" }).first().waitFor();
  await staff.page.waitForLoadState("networkidle");
  staff.refusals = []; // the customer's things are not there for whoever they are
  await staff.look("over", { at: /./, see: ["You are yourself again."], miss: ["ada", "Storage"] });
}
