// Who visits, and the ways that several scripts take.
import { given } from "./stage.mjs";

export const ada = { email: "ada@example.com", username: "ada", password: "seven quiet boats at noon" };
export const bob = { email: "bob@example.com", username: "bob", password: "a lamp beside the window" };

// becomeAdministrator goes by the link that the service printed.
export async function becomeAdministrator(visitor, person = ada) {
  await visitor.open(given.setupLink);
  await visitor.fill({ "E-mail": person.email, Password: person.password, "Username optional": person.username });
  await visitor.press("Create administrator");
  await visitor.at(given.admin + "/settings/providers");
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
