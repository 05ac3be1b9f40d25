import assert from "node:assert/strict";
import { test } from "node:test";
import { createClient } from "@svc/sdk";
import { eventually } from "./support/contract.js";
import { wantSame } from "./support/same.js";

// A gateway, and a key of the workspace ada/personal: go test starts one.
const { SVC_PRODUCT: baseUrl = "", SVC_PRODUCT_KEY: token = "" } = process.env;
const skip = baseUrl === "" && "SVC_PRODUCT names no gateway; go test runs this with one";

test("through the gateway, with a key: prompts, streams, runs and the product's own routes", { skip }, async (t) => {
  let asked = 0;
  const client = createClient({ baseUrl, token: async () => (asked++, token) });
  const observation = client.agents.observe("central", "sdk");
  t.after(observation.close);
  observation.subscribe(() => {});
  const admission = await client.agents.send("central", "sdk", { message: "n=5 delay=20" });
  const reply = await client.agents.wait(admission);
  assert.match(reply.text, /^word0 word1 word2 word3 word4 $/);
  const history = await client.agents.history("central", "sdk");
  await eventually("it is where the history is", () => observation.getSnapshot().offset === history.offset);
  wantSame(observation.getSnapshot(), history, "central", true);
  assert.deepEqual(await client.agents.submissions("central", "sdk"), []);
  assert.deepEqual(await client.agents.abort("central", "sdk"), { aborted: false });

  const path = { username: "ada", business: "personal" };
  const agents = await client.api.get("/api/workspaces/{username}/{business}/agents", { path });
  assert.ok(agents.items.some((agent) => agent.name === "central"));
  const project = await client.api.post("/api/workspaces/{username}/{business}/projects", { path, body: { name: "Shop", slug: "shop" } });
  assert.equal(project.slug, "shop");
  const file = { path: { ...path, slug: "shop", path: "notes/today.txt" } };
  await client.api.put("/api/workspaces/{username}/{business}/projects/{slug}/files/{path}", { ...file, body: new Blob(["hello"]) });
  const read = (await client.api.get("/api/workspaces/{username}/{business}/projects/{slug}/files/{path}", file)) as Blob;
  assert.equal(await read.text(), "hello");
  const workflows = await client.api.get("/api/workspaces/{username}/{business}/workflows", { path });
  assert.ok(workflows.items.some((workflow) => workflow.name === "digest"), JSON.stringify(workflows));
  const ran = await client.workflows.run<{ files: number }>("digest", { input: { project: "shop" } });
  assert.equal(ran.result.files, 1);
  assert.equal((await client.runs.get(ran.runId)).status, "completed");
  const events = await client.runs.events(ran.runId);
  assert.deepEqual([events[0]?.type, events.at(-1)?.type], ["run_start", "run_end"]);
  const later = await client.workflows.run("digest", { input: { project: "shop" } });
  const first = await client.runs.list({ limit: 1, status: "completed" });
  const second = await client.runs.list({ limit: 1, cursor: first.nextCursor! });
  assert.deepEqual([...first.items, ...second.items].map((run) => run.runId), [later.runId, ran.runId]);

  await assert.rejects(client.api.get("/api/workspaces/{username}/{business}/keys", { path }), { name: "SvcError" });
  assert.ok(asked >= 1);
});

test("through the gateway, a key that nobody has is refused", { skip }, async () => {
  await assert.rejects(createClient({ baseUrl, token: "svck_nobody" }).agents.history("central", "sdk"), { type: "invalid_api_key", status: 401 });
});
