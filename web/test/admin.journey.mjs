// The first administrator comes in by the link, begins in the workspace, and on Admin sees the service and one customer with the same pages.
import { ada, arrive, becomeAdministrator, given, goTo, openAdmin, perform } from "./stage.mjs";

await perform(async (enter) => {
  const visitor = await enter();
  await becomeAdministrator(visitor, ada, openAdmin);
  await arrive(visitor, "People");
  await goTo(visitor, "Audit");
  await visitor.look("audit", { at: `${given.admin}/audit`, title: "Audit · Admin", see: ["Service-wide authority", "All customers", "ada"] });
  await actOnOne(visitor);
  await operate(visitor);
  await proveAgain(visitor);
  await setUp(visitor);
});

// actOnOne chooses a customer: the page stays, and says on whose things staff act.
async function actOnOne(visitor) {
  await visitor.page.getByRole("button", { name: /All customers/ }).click();
  await visitor.page.getByRole("dialog").getByRole("button", { name: /ada\/personal/ }).click();
  await visitor.page.waitForURL(`${given.admin}/w/ada/personal/audit`);
  await arrive(visitor, "Audit");
  await visitor.look("customer", { at: `${given.admin}/w/ada/personal/audit`, title: "Audit · Personal · Admin", see: ["ada/personal", "Acting on ada/personal as admin, audited."] });
  await visitor.page.getByRole("link", { name: "All customers" }).click();
  await arrive(visitor, "Customers");
}

// operate looks after the service: its customers, its health, its keys.
async function operate(visitor) {
  const { page } = visitor;
  await visitor.look("customers", { at: `${given.admin}/customers`, title: "Customers · Admin", see: ["ada/personal", "Active"] });
  await page.getByRole("row").filter({ hasText: "ada/personal" }).click();
  await page.getByRole("dialog").getByText("Work in it").waitFor();
  await visitor.picture("customer-sheet");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });

  await goTo(visitor, "API keys");
  await visitor.look("keys", { at: `${given.admin}/api`, title: "API keys · Admin", see: ["There are no API keys yet"] });
  await goTo(visitor, "Service health");
  await visitor.look("health", { at: `${given.admin}/health`, title: "Service health · Admin", see: ["Serving", "Database reachable", "answers this page", "0 waiting"] });

  await goTo(visitor, "Secret-store keys");
  await visitor.look("keys-store", { at: `${given.admin}/settings/secret-store`, title: "Secret-store keys · Admin", see: ["Active", "Done"] });
  await page.getByRole("button", { name: "Rotate" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Rotate" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.getByText("svc secrets rotate --remove-old").first().waitFor();
  await visitor.look("rotated", { at: `${given.admin}/settings/secret-store`, see: ["Unused", "Left to do on the machines"] });
}

// proveAgain lets the authority end under an open page: the password is asked for, a wrong one refused, and the page goes on.
async function proveAgain(visitor) {
  const { page } = visitor;
  await goTo(visitor, "Service health");
  await page.evaluate(() => fetch("/api/auth/elevate", { method: "DELETE" }));
  // The page may have asked by itself: its dialog covers the button then.
  await page.getByRole("button", { name: "Check now" }).click({ timeout: 5_000 }).catch(() => {});
  const dialog = page.getByRole("dialog", { name: "Confirm that it is you" });
  await dialog.getByLabel("Password", { exact: true }).fill("not the one");
  await dialog.getByRole("button", { name: "Confirm" }).click();
  await dialog.locator("[aria-invalid=true]").waitFor();
  await visitor.picture("prove-again");
  await dialog.getByLabel("Password", { exact: true }).fill(ada.password);
  await dialog.getByRole("button", { name: "Confirm" }).click();
  await dialog.waitFor({ state: "detached" });
  visitor.refusals = visitor.refusals.filter((refusal) => ![401, 403].includes(refusal.status));
  await goTo(visitor, "Customers");
  await visitor.see("proven", { at: `${given.admin}/customers`, see: ["ada/personal"] });
}

// setUp is the page of the service itself, which the navigation leads to and from.
async function setUp(visitor) {
  await visitor.go(visitor.page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Provider set-up" }));
  await visitor.page.getByRole("heading", { level: 1, name: "Sign-in providers" }).waitFor();
  await visitor.look("providers", { at: `${given.admin}/settings/providers`, title: "Sign-in providers · Admin", see: ["GitHub", "Not set up", "Secret-store keys"] });
  await visitor.follow("People");
  await arrive(visitor, "People");
}
