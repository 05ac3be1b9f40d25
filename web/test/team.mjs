// People of a workspace, made without the pages that are looked at.
import { given } from "./stage.mjs";
import { signUp } from "./stage.mjs";

// call asks the API as the page that is open does.
export async function call(visitor, method, path, body) {
  return visitor.page.evaluate(
    async ([method, path, body]) => {
      const headers = body ? { "content-type": "application/json" } : {};
      const answer = await fetch(path, { method, headers, body: body && JSON.stringify(body) });
      const text = await answer.text();
      if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
      return text ? JSON.parse(text) : undefined;
    },
    [method, path, body],
  );
}

// password is that of everybody here.
const password = "seven quiet boats at noon";

// person is somebody by their username.
export function person(username) {
  return { email: `${username}@example.com`, username, password };
}

// makeWorkspace has somebody who is signed up make a business workspace.
export async function makeWorkspace(visitor, business, name) {
  await visitor.open("/workspaces");
  await call(visitor, "POST", "/api/workspaces", { business, name });
}

// join signs somebody up and brings them into a workspace by an invitation, as what the owner wants them to be.
export async function join(enter, owner, workspace, username, role) {
  const visitor = await enter();
  const somebody = person(username);
  await signUp(visitor, somebody);
  await owner.open(`${given.agents}/w/${workspace}/storage`);
  const { acceptUrl } = await call(owner, "POST", `/api/workspaces/${workspace}/invitations`, { email: somebody.email, role });
  await visitor.open("/workspaces");
  await call(visitor, "POST", "/api/invitations/accept", { token: new URL(acceptUrl).hash.replace(/^#(t=)?/, "") });
  return visitor;
}
