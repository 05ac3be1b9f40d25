import { readFileSync } from "node:fs";
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { expect, test, vi } from "vitest";
import { SvcError } from "@svc/sdk";
import { belowOf, useAct, wantsProof, type Act } from "./act";
import { heardNow, hearing } from "./hearing";
import { begin, end } from "./once";
import { nounOf } from "./path";
import { noteSomebody, presence } from "./presence";
import { isSameList, keyOf } from "./read";
import { fieldErrors } from "./refusal";
import { allows, type Right } from "./role";
import { addressOf } from "./session";
import { namesOf, staffs, WorkspaceProvider } from "./workspace";

test("what changed is read again by its noun", () => {
  expect(nounOf("/api/workspaces/{username}/{business}/keys/{key}/rotate")).toBe("/api/workspaces/{username}/{business}/keys");
  expect(nounOf("/api/admin/people/{id}/suspend")).toBe("/api/admin/people");
  expect(keyOf({ username: "ada", business: "labs" }, "/api/workspaces/{username}/{business}/keys/{key}", { path: { key: "key_1" } }).slice(0, 2)).toEqual(["ada/labs", "/api/workspaces/{username}/{business}/keys"]);
});

test("of what was deleted nothing is read again", () => {
  const mcp = "/api/workspaces/{username}/{business}/mcps/{mcp}";
  const gone = belowOf(mcp, { mcp: "mcp_1" });
  const read = (path: string, params: Record<string, string>): boolean => gone(keyOf(undefined, path, { path: params }));
  expect(read(mcp, { mcp: "mcp_1" })).toBe(true);
  expect(read(`${mcp}/tools`, { mcp: "mcp_1" })).toBe(true);
  expect(read(mcp, { mcp: "mcp_2" })).toBe(false);
  expect(read("/api/workspaces/{username}/{business}/mcps", {})).toBe(false);
});

test("an act is done once: while it is on its way, and when its answer was lost", async () => {
  const path = "/api/workspaces/{username}/{business}/teams";
  const keys: (string | null)[] = [];
  const answers = [Response.json({}, { status: 500 }), Response.json({ id: "team_1" }), Response.json({ id: "team_2" })];
  vi.stubGlobal("location", { origin: "http://agents.svc.localhost" });
  vi.stubGlobal("fetch", async (_: string, init?: RequestInit) => {
    keys.push(new Headers(init?.headers).get("idempotency-key"));
    return answers.shift();
  });
  let make!: Act<typeof path, "post">;
  const Page = (): null => {
    make = useAct("post", path);
    return null;
  };
  const inside = createElement(WorkspaceProvider, { of: { username: "ada", business: "labs" }, children: createElement(Page) });
  renderToStaticMarkup(createElement(QueryClientProvider, { client: new QueryClient(), children: inside }));
  const asking = { body: { name: "Ops" } };
  expect(await Promise.all([make.run(asking), make.run(asking)])).toEqual([undefined, undefined]);
  expect([await make.run(asking), await make.run(asking)]).toEqual([{ answer: { id: "team_1" } }, { answer: { id: "team_2" } }]);
  expect(keys).toEqual([expect.any(String), keys[0], expect.any(String)]);
  expect(keys[2]).not.toBe(keys[0]);
  vi.unstubAllGlobals();
});

test("a request is the same until its end is known or another one is sent", () => {
  const [on, off] = [{}, {}];
  const lost = new SvcError({ type: "network_error", message: "" });
  const keyOf = (by: object, asks?: string, error?: SvcError): string | undefined => {
    const sent = begin(by, asks);
    if (sent) end(sent, error);
    return sent?.key;
  };
  const first = keyOf(on, "a", lost);
  expect(keyOf(on, "a", lost)).toBe(first);
  expect(keyOf(off, "a")).not.toBe(first);
  const again = keyOf(on, "a", lost);
  expect(again).not.toBe(first);
  expect(keyOf(on, "a", new SvcError({ status: 409, type: "name_taken", message: "" }))).toBe(again);
  expect(keyOf(on, "a")).not.toBe(again);
  expect(keyOf(on, undefined, lost)).not.toBe(keyOf(on, undefined, lost));
});

test("rows stay while a filter changes, and not beyond their workspace or thing", () => {
  const versions = "/api/workspaces/{username}/{business}/agents/{name}/versions";
  const key = (business: string, name: string, limit: number): readonly unknown[] => keyOf({ username: "ada", business }, versions, { path: { name }, query: { limit } });
  const before = key("labs", "writer", 50);
  expect([key("labs", "writer", 9), key("home", "writer", 50), key("labs", "clerk", 50)].map((now) => isSameList(before, now))).toEqual([true, false, false]);
  expect(isSameList(undefined, before)).toBe(false);
});

test("roles may what the service lets them", () => {
  const source = readFileSync(new URL("../../../service/workspace/right.go", import.meta.url), "utf8");
  const names = new Map([...source.matchAll(/^\t(\w+)\s+Right = "([a-z.]+)"/gm)].map(([, name, right]) => [name, right as Right]));
  const table = [...source.matchAll(/^\t(\w+):\s+\{([\w, ]+)\},$/gm)];
  expect(table).toHaveLength(6);
  for (const [, role = "", list = ""] of table) {
    const may = list.split(", ").map((name) => names.get(name));
    for (const right of names.values()) expect([role, right, allows(role.toLowerCase(), right, "agents")]).toEqual([role, right, may.includes(right)]);
  }
});

test("a page that nobody touches says so when it reads by itself", async () => {
  const sent: Headers[] = [];
  vi.stubGlobal("fetch", async (_: string, init?: RequestInit) => {
    sent.push(new Headers(init?.headers));
    return new Response();
  });
  vi.useFakeTimers();
  noteSomebody();
  await hearing("/api/admin/health", { headers: { accept: "application/json" } });
  vi.advanceTimersByTime(presence);
  await hearing("/api/admin/health", { headers: { accept: "application/json" } });
  await hearing("/api/admin/people", { method: "POST" });
  expect(sent.map((headers) => [headers.get("svc-unattended"), headers.get("accept")])).toEqual([[null, "application/json"], ["1", "application/json"], [null, null]]);
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("that staff looked enough is known by the first answer to themselves, and not by a service that is busy", async () => {
  const answer = async (status: number, id?: string): Promise<boolean> => {
    vi.stubGlobal("fetch", async () => new Response(null, { status, headers: id ? { "svc-impersonation": id } : {} }));
    await hearing("/api/auth/session");
    return heardNow().lookedEnough;
  };
  expect([await answer(200), await answer(200, "imp_1"), await answer(503), await answer(404), await answer(200), await answer(200, "imp_2")]).toEqual([false, false, false, true, true, false]);
  await answer(200);
  vi.unstubAllGlobals();
});

test("nobody is allowed anything before their role is known", () => {
  expect(allows(undefined, "enter")).toBe(false);
  expect(allows("nonsense", "read")).toBe(false);
});

test("a proof mends a session that ended and one that is stale, and nothing else", () => {
  const refusal = (status: number, type: string): SvcError => new SvcError({ status, type, message: "" });
  expect(wantsProof(refusal(401, "unauthenticated"))).toBe(true);
  expect(wantsProof(refusal(403, "reauth_required"))).toBe(true);
  expect(wantsProof(refusal(403, "forbidden"))).toBe(false);
});

test("a refusal names the fields that are wrong", () => {
  const error = new SvcError({ status: 400, type: "invalid_request", message: "", meta: { fields: [{ field: "name", type: "too_long" }, { field: "role", type: "odd" }] } });
  expect(fieldErrors(error)).toEqual({ name: "This is too long.", role: "This is not acceptable." });
  expect(fieldErrors(undefined)).toEqual({});
});

test("the scope of a customer has two names, that of the staff one", () => {
  expect(addressOf("users/ada/labs")).toEqual({ username: "ada", business: "labs" });
  expect(addressOf("admin")).toEqual(staffs);
  expect(addressOf("service")).toBeUndefined();
  expect([namesOf({ username: "ada", business: "labs" }), namesOf(staffs), namesOf(undefined)]).toEqual(["ada/labs", "admin", ""]);
});
