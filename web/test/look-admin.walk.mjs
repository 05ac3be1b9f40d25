// Pictures of Admin and Platform, in each state.
// only in the soak
import { arrive, given, perform } from "./stage.mjs";
import { at, digest, enterAs, enterAsStaff, found } from "./company.mjs";
import { forget } from "./chat.mjs";

await perform(async (enter) => {
  await outside(await enter());
  await found();
  await digest("docs", "completed");
  await digest("nowhere", "errored", "jonas");
  const staff = await enterAsStaff(enter);
  await lists(staff);
  await person(staff);
  await operate(staff);
  await acting(staff);
  await looking(staff);
  await platform(await enterAs(enter, "ada"));
});

// outside is what somebody sees who has not signed in.
async function outside(visitor) {
  for (const page of ["login", "signup", "forgot"]) {
    await visitor.open(`/${page}`);
    await visitor.picture(page);
  }
  await visitor.open("/login");
  await visitor.fill({ "E-mail": "nobody@northwind.example", Password: "not the password" });
  await visitor.press("Sign in");
  forget(visitor);
  await visitor.picture("login-refused");
  await visitor.open(given.setupLink);
  await visitor.picture("setup");
}

async function lists(staff) {
  for (const [page, heading] of [["people", "People"], ["customers", "Customers"], ["runs", "Runs"], ["agents", "Agents"], ["projects", "Projects"], ["mcps", "MCPs"], ["api", "API keys"], ["storage", "Storage"], ["audit", "Audit"]]) {
    await staff.open(`${given.admin}/${page}`);
    await arrive(staff, heading);
    await staff.picture(page);
  }
}

async function person(staff) {
  const { page } = staff;
  await staff.open(`${given.admin}/people`);
  await arrive(staff, "People");
  await suspendTomas(staff);
  await page.getByRole("row").filter({ hasText: "Ada Moreno" }).click();
  await page.getByRole("heading", { name: "Sessions" }).waitFor();
  await page.getByLabel("Reason").fill("Ticket 4821: invoices are missing since last night");
  await staff.picture("person");
  await page.getByRole("button", { name: "Staff role…" }).click();
  await staff.picture("person-role");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Suspend account…" }).click();
  await staff.picture("person-suspend");
  await page.keyboard.press("Escape");
  await page.getByLabel("Name, e-mail or username").fill("nobody at all");
  await page.getByText("Nothing matches").waitFor();
  await staff.picture("people-none");
}

async function suspendTomas(staff) {
  const { page } = staff;
  const id = await page.evaluate(() => fetch("/api/admin/people").then((answer) => answer.json()).then(({ items }) => [items.find((each) => each.username === "tomas"), items.find((each) => each.username === "hana")].map((each) => each.id)));
  const post = (path, body) => page.evaluate(([path, body]) => fetch(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) }).then((answer) => answer.status), [path, body]);
  await post(`/api/admin/people/${id[0]}/suspend`, { reason: "Payment is open since August" });
  await post(`/api/admin/people/${id[1]}/grant`, { role: "support" });
  await page.reload();
  await arrive(staff, "People");
}

async function operate(staff) {
  const { page } = staff;
  await staff.open(`${given.admin}/customers`);
  await arrive(staff, "Customers");
  await page.getByRole("row").filter({ hasText: "ada/northwind" }).click();
  await page.getByRole("dialog").getByText("Work in it").waitFor();
  await staff.picture("customer");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: /All customers/ }).click();
  await page.getByRole("dialog").getByRole("button", { name: /ada\/northwind/ }).waitFor();
  await staff.picture("switcher");
  await page.keyboard.press("Escape");
  for (const [path, heading] of [["health", "Service health"], ["settings/secret-store", "Secret-store keys"]]) {
    await staff.open(`${given.admin}/${path}`);
    await arrive(staff, heading);
    await staff.picture(path.replace("settings/", ""));
  }
  await page.getByRole("button", { name: "Rotate" }).click();
  await staff.picture("secret-store-rotate");
  await page.keyboard.press("Escape");
  await staff.open(`${given.admin}/settings/providers`);
  await staff.picture("providers");
}

async function acting(staff) {
  await staff.open(`${given.admin}/w/ada/northwind/agents/triage`);
  await arrive(staff, "triage");
  await staff.picture("acting-agent");
  await staff.open(`${given.admin}/w/ada/northwind/runs`);
  await arrive(staff, "Runs");
  await staff.picture("acting-runs");
}

// looking is a session that sees what a customer sees.
async function looking(staff) {
  const { page } = staff;
  await staff.open(`${given.admin}/people`);
  await arrive(staff, "People");
  await page.getByRole("row").filter({ hasText: "Ada Moreno" }).click();
  await page.getByLabel("Reason").fill("Ticket 4821: invoices are missing since last night");
  await page.getByRole("button", { name: "Start read-only session" }).click();
  await staff.at(new RegExp(`^${given.agents}/w/ada/`));
  await staff.open(at("team"));
  await arrive(staff, "Team");
  await staff.picture("looking");
  await staff.open(at("chat"));
  await page.getByText("You see what").first().waitFor();
  await page.waitForTimeout(500);
  await staff.picture("looking-chat");
  await page.getByRole("link", { name: "End" }).click();
  await arrive(staff, "End the read-only session");
  await staff.picture("looking-end");
  await page.getByRole("button", { name: "End it" }).click();
  await arrive(staff, "People");
  await page.evaluate(() => fetch("/api/auth/elevate", { method: "DELETE" }));
  await staff.open(`${given.admin}/people`);
  await staff.picture("elevate");
  forget(staff);
}

async function platform(visitor) {
  for (const page of ["workspaces", "workspaces/new", "account", "account/security", "account/connections", "account/sessions", "account/danger", "device"]) {
    await visitor.open(`/${page}`);
    await visitor.picture(`platform-${page.replace("/", "-")}`);
  }
  await visitor.open(`${given.platform}/w/ada/northwind/storage`);
  await arrive(visitor, "Storage");
  await visitor.picture("platform-storage");
}
