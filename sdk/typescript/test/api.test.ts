import assert from "node:assert/strict";
import { test } from "node:test";
import { createClient, type AnswerOf, type CallOptions, type PathOf } from "@svc/sdk";
import { Clock, Fake, Wire, refusal } from "./support/fake.js";

const baseUrl = "https://agents.example/v1/ada/personal";
const path = { username: "ada", business: "personal" };
const W = "/api/workspaces/{username}/{business}";

test("a path is filled, a query added, a body sent with a key, and the answer read", async () => {
  const fake = new Fake(() => Response.json({ items: [], id: "prj_1" }));
  const { api } = createClient({ baseUrl, fetch: fake.fetch, token: "t" });
  await api.get(`${W}/projects`, { path: { ...path, username: "a/b" }, query: { limit: 5 } });
  assert.equal(fake.last.url.href, "https://agents.example/api/workspaces/a%2Fb/personal/projects?limit=5");
  assert.equal(fake.last.headers.get("idempotency-key"), null);
  await api.post(`${W}/projects`, { path, body: { name: "Shop", slug: "shop" } });
  assert.equal(fake.last.body, '{"name":"Shop","slug":"shop"}');
  assert.equal(fake.last.headers.get("content-type"), "application/json");
  assert.match(fake.last.headers.get("idempotency-key")!, /^[0-9a-f]{32}$/);
  assert.equal(fake.last.headers.get("authorization"), "Bearer t");
});

test("a path with slashes keeps them where the description says so", async () => {
  const fake = new Fake(() => new Response("text", { headers: { "content-type": "text/plain" } }));
  const { api } = createClient({ baseUrl, fetch: fake.fetch });
  const file = await api.get(`${W}/projects/{slug}/files/{path}`, { path: { ...path, slug: "shop", path: "src/a b.ts" } });
  assert.equal(fake.last.url.pathname, "/api/workspaces/ada/personal/projects/shop/files/src/a%20b.ts");
  assert.equal(await (file as Blob).text(), "text");
  await assert.rejects(api.get(`${W}/projects/{slug}/files/{path}`, { path: { ...path, slug: "shop", path: "../secrets" } }), { type: "invalid_request" });
});

test("nothing is nothing, and a refusal is a SvcError", async () => {
  const fake = new Fake((_, n) => (n === 0 ? new Response(null, { status: 204 }) : refusal(404, "project_not_found")));
  const { api } = createClient({ baseUrl, fetch: fake.fetch });
  assert.equal(await api.delete(`${W}/projects/{slug}`, { path: { ...path, slug: "shop" } }), undefined);
  await assert.rejects(api.get(`${W}/projects/{slug}`, { path: { ...path, slug: "shop" } }), { type: "project_not_found" });
});

test("an answer that falls silent in its middle is asked for again, a file too", async (t) => {
  const clock = new Clock(t);
  for (const type of ["application/json", "text/plain"]) {
    const headers = { "content-type": type };
    const fake = new Fake((_, n) => (n === 0 ? new Wire().send("[").json(headers) : new Response("[1]", { headers })));
    const { api } = createClient({ baseUrl, fetch: fake.fetch });
    const answer: Promise<unknown> = api.get(`${W}/projects/{slug}/files/{path}`, { path: { ...path, slug: "shop", path: "a" } });
    await clock.advance(47_000, 1_000);
    assert.equal(fake.asked.length, 2, type);
    const told = await answer;
    assert.deepEqual(told instanceof Blob ? [told.type, await told.text()] : told, type === "text/plain" ? [type, "[1]"] : [1]);
  }
});

// What follows is judged by the compiler alone.
type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const yes = <T extends true>(): T | undefined => undefined;

export function types(): void {
  const { api } = createClient({ baseUrl });
  type Agents = AnswerOf<"/api/workspaces/{username}/{business}/agents", "get">;
  yes<Equal<Agents["items"][number]["name"], string>>();
  yes<Equal<AnswerOf<"/api/workspaces/{username}/{business}/projects/{slug}", "delete">, undefined>>();
  yes<Equal<"/api/workspaces" extends PathOf<"post"> ? true : false, true>>();
  yes<Equal<"/api/auth/session" extends PathOf<"post"> ? true : false, false>>();
  yes<Equal<CallOptions<"/api/workspaces/{username}/{business}/agents", "get">["path"]["username"], string>>();
  // @ts-expect-error: there is no such path
  void api.get("/api/nowhere");
  // @ts-expect-error: nobody posts a session
  void api.post("/api/auth/session");
  // @ts-expect-error: a name is missing
  void api.get("/api/workspaces/{username}/{business}/agents", { path: { username: "ada" } });
  // @ts-expect-error: a path is missing
  void api.get("/api/workspaces/{username}/{business}/agents");
  // @ts-expect-error: a body is missing
  void api.post("/api/workspaces/{username}/{business}/projects", { path });
  void api.get("/api/auth/session");
}
