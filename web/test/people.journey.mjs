// Staff look as a customer for a reason, change nothing, and end it; both logs tell it. They keep somebody out and let them in again. Customers never come in.
import { ada, arrive, becomeAdministrator, given, goTo, of, openAdmin, perform, signIn, signUp } from "./stage.mjs";

const sam = { email: "sam@example.com", username: "sam", password: "a kettle on the third shelf" };

await perform(async (enter) => {
  const customer = await enter();
  await signUp(customer, ada);
  await refused(customer);

  const staff = await enter();
  await becomeAdministrator(staff, sam, openAdmin);
  await arrive(staff, "People");
  await staff.look("people", { at: `${given.admin}/people`, title: "People · Admin", see: ["sam@example.com", "ada@example.com", "Service admin", "min"] });
  await find(staff);
  await lookAs(staff);
  await told(staff, customer);
  await suspend(staff, customer);
  await employ(staff, customer);
});

// refused is a customer at the door of Admin.
async function refused(customer) {
  await customer.open(`${given.admin}/people`);
  await customer.see("customer-refused", { at: new RegExp(`^${given.admin}/`), status: 403, see: ["Only staff"] });
  const answer = await customer.page.goto(`${given.admin}/api/admin/people`);
  if (answer.status() !== 403) customer.blame("customer-refused", `the API answers ${answer.status()}`);
  customer.refusals = [];
}

// find narrows the list until nobody is left, and clears it.
async function find(staff) {
  const field = staff.page.getByLabel("Name, e-mail or username");
  await field.fill("nobody at all");
  await staff.page.getByText("Nothing matches").waitFor();
  await staff.picture("people-none");
  await staff.page.getByRole("button", { name: "Clear the filter" }).click();
  await staff.page.getByRole("row").filter({ hasText: "ada@example.com" }).click();
  await staff.page.getByRole("complementary", { name: "ada" }).getByRole("heading", { name: "Sessions" }).waitFor();
  await staff.look("person", { at: new RegExp(`^${given.admin}/people\\?person=acc_`), see: ["ada/personal", "Impersonate ada", "Danger zone", "Chrome on"] });
}

// lookAs sees what the customer sees, and only that.
async function lookAs(staff) {
  await staff.page.getByLabel("Reason").fill("Ticket 4821: invoices are missing");
  await staff.page.getByRole("button", { name: "Start read-only session" }).click();
  await staff.at(new RegExp(`^${given.agents}/w/ada/personal/`));
  await staff.page.getByText("You see what ada sees, and change nothing.").waitFor();
  await staff.open(of("ada", "personal", "storage"));
  await arrive(staff, "Storage");
  await staff.look("looking", { at: of("ada", "personal", "storage"), see: ["You see what ada sees", "min left", "End"] });
  const answer = await staff.page.evaluate(() => fetch("/api/workspaces/ada/personal", { method: "PATCH", headers: { "content-type": "application/json" }, body: '{"name":"Mine"}' }).then((r) => r.json()));
  if (answer.error?.type !== "impersonation_forbidden") staff.blame("looking", `a change is answered ${JSON.stringify(answer)}`);
  staff.refusals = [];
  await staff.page.getByRole("link", { name: "End" }).click();
  await arrive(staff, "End the read-only session");
  await staff.picture("end");
  await staff.page.getByRole("button", { name: "End it" }).click();
  await arrive(staff, "People");
}

// told is what the logs of both say.
async function told(staff, customer) {
  await goTo(staff, "Audit");
  await staff.see("audit", { at: `${given.admin}/audit`, see: ["impersonation.created", "impersonation.opened"] });
  await customer.open(of("ada", "personal", "audit"));
  await arrive(customer, "Audit");
  await customer.see("told", { at: of("ada", "personal", "audit"), see: ["impersonation.opened", "sam"] });
}

// suspend keeps the customer out, by name, and lets them in again.
async function suspend(staff, customer) {
  await goTo(staff, "People");
  await staff.page.getByRole("row").filter({ hasText: "ada@example.com" }).click();
  await staff.page.getByRole("button", { name: "Suspend account…" }).click();
  const dialog = staff.page.getByRole("dialog", { name: "Suspend account" });
  await dialog.getByLabel("Reason").fill("It was asked for");
  await dialog.getByLabel("Type ada to confirm").fill("ad");
  if ((await dialog.getByRole("button", { name: "Suspend account" }).getAttribute("aria-disabled")) !== "true") staff.blame("suspend", "can be done without the name");
  await staff.picture("suspend");
  await dialog.getByLabel("Type ada to confirm").fill("ada");
  await dialog.getByRole("button", { name: "Suspend account" }).click();
  await dialog.waitFor({ state: "detached" });
  await staff.page.getByRole("button", { name: "Restore account" }).waitFor();
  await staff.picture("suspended");

  await customer.open("/login");
  await signIn(customer, ada);
  if ((await customer.text()).includes("Storage")) customer.blame("suspended", "comes in");
  customer.refusals = [];
  await staff.page.getByRole("button", { name: "Restore account" }).click();
  await staff.page.getByRole("button", { name: "Suspend account…" }).waitFor();
  await customer.open("/login");
  await signIn(customer, ada);
  await customer.at(new RegExp(`^${given.agents}/w/ada/personal/`));
}

// employ makes the customer one who reads everything and changes nothing.
async function employ(staff, customer) {
  await staff.page.getByRole("button", { name: "Staff role…" }).click();
  const dialog = staff.page.getByRole("dialog", { name: "Staff role of ada" });
  await dialog.getByRole("radio", { name: /Support/ }).check();
  await staff.picture("grant");
  await dialog.getByRole("button", { name: "Set role" }).click();
  await dialog.waitFor({ state: "detached" });

  await customer.open(`${given.admin}/`);
  await openAdmin(customer, ada);
  await arrive(customer, "People");
  if ((await customer.page.getByRole("link", { name: "Provider set-up" }).count()) > 0) customer.blame("support", "is led to the set-up of providers");
  await customer.page.getByRole("row").filter({ hasText: "sam@example.com" }).click();
  const suspends = customer.page.getByRole("button", { name: "Suspend account…" });
  await suspends.waitFor();
  const why = "Support reads everything and changes nothing.";
  if ((await customer.once(() => suspends.getAttribute("title"), (title) => title === why)) !== why) customer.blame("support", "is not told why nothing can be changed");
  await customer.look("support", { at: new RegExp(`^${given.admin}/people\\?person=`), see: ["Nobody looks at the service as other staff."] });
}
