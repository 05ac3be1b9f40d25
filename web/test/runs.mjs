// Ways through runs that several journeys take.
import { given } from "./stage.mjs";

export const base = "/api/workspaces/ada/personal";

// call asks the service as the page would, in the visitor's name.
export function call(visitor, method, path, body) {
  return visitor.page.evaluate(
    async ([method, path, body]) => {
      const json = typeof body === "object";
      const answer = await fetch(path, { method, body: json ? JSON.stringify(body) : body, headers: { "content-type": json ? "application/json" : "text/plain" } });
      if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
      const text = await answer.text();
      return text ? JSON.parse(text) : undefined;
    },
    [method, path, body],
  );
}

// project makes a project of files, by their texts: they steer the scripted model that sums them up.
export async function project(visitor, slug, files) {
  await call(visitor, "POST", `${base}/projects`, { slug, name: slug });
  for (const [path, text] of Object.entries(files)) await call(visitor, "PUT", `${base}/projects/${slug}/files/${path}`, text);
}

// digest starts a run by the API, and opens its page.
export async function digest(visitor, slug) {
  const { runId } = await call(visitor, "POST", `${base}/workflows/digest/run`, { project: slug });
  await visitor.open(`${given.agents}/w/ada/personal/runs/${runId}`);
  await visitor.page.getByRole("heading", { level: 1, name: "digest" }).waitFor();
  return runId;
}

// events are what the service has of a run.
export function events(visitor, runId) {
  return call(visitor, "GET", `${base}/runs/${runId}/events`);
}

// status waits for the tag beside the heading.
export async function status(visitor, word) {
  await visitor.page.locator("header.top .tag", { hasText: word }).waitFor();
}

// row is a span of the timeline, by how its name begins.
export function row(visitor, name) {
  return visitor.page.getByRole("row", { name: new RegExp(`^${name}`) });
}

// check blames a page that is not as it should be.
export function check(visitor, name, holds, what) {
  if (!holds) visitor.blame(name, what);
}
