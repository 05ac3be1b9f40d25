// What journeys stand on: the stage of internal/browser, and the ways that several of them take.
import { given } from "../../internal/browser/stage.mjs";

export { ask, given, perform, strangers } from "../../internal/browser/stage.mjs";
export { ada, bob, openAdmin } from "../../internal/browser/people.mjs";

// signUp makes an account, and ends in the application, in the person's own workspace.
export async function signUp(visitor, { email, username, password }) {
  await visitor.open("/signup");
  await visitor.fill({ "E-mail": email, Password: password, "Username optional": username });
  await visitor.press("Create account");
  await visitor.at(new RegExp(`^${given.agents}/w/${username}/personal/`));
}

// signIn goes by the form that is shown.
export async function signIn(visitor, { email, password }) {
  await visitor.fill({ "E-mail": email, Password: password });
  await visitor.press("Sign in");
}

// becomeAdministrator goes by the link that the service printed, and steps up on Admin.
export async function becomeAdministrator(visitor, person, openAdmin) {
  await visitor.open(given.setupLink);
  await visitor.fill({ "E-mail": person.email, Password: person.password, "Username optional": person.username });
  await visitor.press("Create administrator");
  await visitor.at(new RegExp(`^${given.agents}/w/${person.username}/personal/`));
  await visitor.open(`${given.admin}/`);
  await openAdmin(visitor, person);
}

// arrive waits for a page of the application: its heading stands, and nothing of it is still loading.
export async function arrive(visitor, heading) {
  await visitor.page.getByRole("heading", { level: 1, name: heading, exact: true }).waitFor();
  await visitor.page.locator("[aria-busy=true], .wait").first().waitFor({ state: "detached" });
}

// goTo follows an entry of the navigation, as a person does.
export async function goTo(visitor, page) {
  await visitor.page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: page }).click();
  await arrive(visitor, page);
}

// hold keeps back what the page asks for until it is let go. `sent` is when it was asked for.
export async function hold({ page }, method, address) {
  let pass;
  const held = new Promise((done) => (pass = done));
  await page.route(address, async (route) => {
    if (route.request().method() === method) await held;
    await route.continue();
  });
  const sent = page.waitForRequest((request) => request.method() === method && address.test(request.url()));
  const letGo = async () => {
    pass();
    await page.unrouteAll({ behavior: "wait" });
  };
  return { sent, letGo };
}

// of is an address of a page of a workspace on Agents.
export function of(username, business, page = "") {
  return `${given.agents}/w/${username}/${business}/${page}`;
}
