import { expect, test } from "vitest";
import { pagesOn, servicePages, workspacePages } from "../routes";
import { staffs } from "../server/workspace";
import { titleOf } from "./Page";
import { matches, runIdIn } from "./Palette";
import { isAt } from "./Sidebar";
import { firstOf } from "./Start";
import { pageIn, samePage } from "./where";

test("a tab says thing, page and workspace, and what it runs", () => {
  expect(titleOf({ title: "Runs", where: "Northwind", admin: false })).toBe("Runs · Northwind");
  expect(titleOf({ title: "Runs", thing: "digest", state: "failed", where: "Northwind", admin: false })).toBe("! digest · Runs · Northwind");
  expect(titleOf({ title: "People", admin: true })).toBe("People · Admin");
  expect(titleOf({ title: "Storage", thing: undefined, state: "running", where: "Labs", admin: true })).toBe("● Storage · Labs · Admin");
});

test("one begins where one was, if that is still one's own", () => {
  const scopes = ["users/bob/acme", "users/ada/personal"];
  expect(firstOf(scopes, "bob/acme", "ada")).toBe("/w/bob/acme");
  expect(firstOf(scopes, "bob/gone", "ada")).toBe("/w/ada/personal");
  expect(firstOf(["users/bob/acme"], undefined, "ada")).toBe("/w/bob/acme");
  expect(firstOf([], undefined, "ada")).toBeUndefined();
});

test("the palette knows the id of a run, and finds every word", () => {
  expect(runIdIn(" run_01JCZ9F2Q8XKMB7T4W5E6R7Y8Z ")).toBe("run_01JCZ9F2Q8XKMB7T4W5E6R7Y8Z");
  expect(runIdIn("running")).toBeUndefined();
  expect(matches({ label: "Storage", note: "Workspace" }, "work sto")).toBe(true);
  expect(matches({ label: "Storage" }, "audit")).toBe(false);
});

test("an address belongs to the page that it is below", () => {
  expect(isAt("runs/run_1", "runs")).toBe(true);
  expect(isAt("runsome", "runs")).toBe(false);
  expect(pageIn("/w/ada/labs/settings/models")).toBe("settings/models");
  expect(pageIn("/people")).toBe("people");
  expect([pageIn("/w/admin/mcps/mcp_1"), pageIn("/w/admin"), pageIn("/w/administer/labs/runs")]).toEqual(["mcps/mcp_1", "", "runs"]);
});

test("another workspace shows the same page, and the list in the place of a thing", () => {
  expect(samePage("settings/secrets", workspacePages)).toBe("settings/secrets");
  expect(samePage("runs/run_1", workspacePages)).toBe("runs");
  expect(samePage("people", workspacePages)).toBe("");
  expect(samePage("team", pagesOn("admin", staffs))).toBe("");
});

test("no page stands twice, and every page loads", async () => {
  for (const pages of [workspacePages, servicePages]) {
    const paths = pages.map((page) => page.path);
    expect(paths).toEqual([...new Set(paths)]);
    for (const page of pages) expect(typeof (await page.load())).toBe("function");
  }
  expect(pagesOn("platform").length).toBeLessThan(pagesOn("agents").length);
}, 60_000); // each page is compiled for it
