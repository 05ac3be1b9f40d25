// People of a workspace, made without the pages that are looked at.
import { ada, given, signUp } from "./stage.mjs";

// call asks the API as the page of the application does that is open: the script-free pages let nobody ask.
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
  await openPlatform(visitor, ada.username);
  await call(visitor, "POST", "/api/workspaces", { business, name });
}

// openPlatform opens a page of the application on Platform, where one makes workspaces and accepts invitations.
async function openPlatform(visitor, username) {
  await visitor.open(`/w/${username}/personal/storage`);
}

// accept lets somebody in by the address that was handed to them.
export async function accept(visitor, username, address) {
  await openPlatform(visitor, username);
  await call(visitor, "POST", "/api/invitations/accept", { token: new URL(address).hash.replace(/^#(t=)?/, "") });
}

// join signs somebody up and brings them into a workspace by an invitation, as what the owner wants them to be.
export async function join(enter, owner, workspace, username, role) {
  const visitor = await enter();
  const somebody = person(username);
  await signUp(visitor, somebody);
  await owner.open(`${given.agents}/w/${workspace}/storage`);
  const { acceptUrl } = await call(owner, "POST", `/api/workspaces/${workspace}/invitations`, { email: somebody.email, role });
  await accept(visitor, username, acceptUrl);
  return visitor;
}
