// Who visits, and the ways that several scripts take.
import { given } from "./stage.mjs";

export const ada = { email: "ada@example.com", username: "ada", password: "seven quiet boats at noon" };
export const bob = { email: "bob@example.com", username: "bob", password: "a lamp beside the window" };

// becomeAdministrator goes by the link that the service printed.
export async function becomeAdministrator(visitor, person = ada) {
  await visitor.open(given.setupLink);
  await visitor.fill({ "E-mail": person.email, Password: person.password, "Username optional": person.username });
  await visitor.press("Create administrator");
  await begins(visitor, person.username);
  await visitor.open(given.admin + "/settings/providers");
  await openAdmin(visitor, person);
  await visitor.at(given.admin + "/settings/providers");
}

// openAdmin steps up to the authority of the staff. Whoever has just proven who they are is not asked for the password, unless they
// took too long to go on.
export async function openAdmin(visitor, { password }) {
  await visitor.at(new RegExp("^" + given.admin + "/elevate"));
  if ((await visitor.page.getByLabel("Password", { exact: true }).count()) === 0) {
    await visitor.press("Open Admin");
    if (!visitor.page.url().startsWith(given.admin + "/elevate")) return;
    visitor.refusals = visitor.refusals.filter((r) => r.status !== 403);
  }
  await visitor.fill({ Password: password });
  await visitor.press("Confirm");
}

export async function signIn(visitor, { email, password }) {
  await visitor.fill({ "E-mail": email, Password: password });
  await visitor.press("Sign in");
}

// setUpGitHub makes an app of the administrator's own.
export async function setUpGitHub(visitor) {
  await visitor.open(given.admin + "/settings/providers");
  await visitor.press("Continue");
  await visitor.follow("Approve on 127.0.0.1");
  await visitor.at(new RegExp("^" + given.github + "/settings/apps/new"));
  await visitor.press("Approve");
  await visitor.at(given.admin + "/settings/providers?configured=github");
}

// approveAs is somebody at GitHub who says yes.
export async function approveAs(visitor, login) {
  await visitor.at(new RegExp("^" + given.github + "/login/oauth/authorize"));
  await visitor.page.getByLabel("Signed in as").selectOption(login);
  await visitor.press("Approve");
}

// begins waits until the browser is in the web application, in the person's own workspace.
export async function begins(visitor, username) {
  await visitor.at(new RegExp(`^${given.agents}/w/${username}/personal/`));
}

// looksBack leaves the application for the list of workspaces.
export async function looksBack(visitor, username) {
  await begins(visitor, username);
  await visitor.open("/workspaces");
  await visitor.see("workspaces", { at: "/workspaces", see: [`${username}/personal`] });
}
