import { expect, test } from "vitest";
import { atMost, because, leftOf, mayOf, roles, rows, whyNotGive } from "./role";

test("the table of roles is that of the service", () => {
  const table = Object.fromEntries(rows.map((row) => [row.what, roles.map((role) => mayOf(role, row))]));
  expect(table).toEqual({
    "Read agents, runs, projects": ["yes", "yes", "yes", "yes", "no"],
    "Prompt, run, edit projects and agents": ["no", "yes", "yes", "yes", "no"],
    "Models, keys, secrets, MCPs": ["no", "no", "yes", "yes", "no"],
    "People and teams": ["no", "no", "yes", "yes", "no"],
    "Read the audit log": ["no", "no", "yes", "yes", "no"],
    "Owners, delete workspace": ["no", "no", "no", "yes", "no"],
    Billing: ["no", "no", "read", "yes", "yes"],
  });
});

test("nobody gives more than they have, and billing stands beside the others", () => {
  expect(atMost("builder", "admin")).toBe(true);
  expect(atMost("owner", "admin")).toBe(false);
  expect(atMost("billing", "admin")).toBe(false);
  expect(atMost("billing", "owner")).toBe(true);
  expect(whyNotGive("admin", "owner", false)).toBe("Only owners give this role.");
  expect(whyNotGive("viewer", "viewer", false)).toBe("You need the admin role.");
  expect(whyNotGive("admin", "owner", true)).toBeUndefined();
});

test("a team's role is told only where it is more than one's own", () => {
  const teams = [{ id: "t1", projects: [{ slug: "ops", role: "builder" }, { slug: "docs", role: "builder" }, { slug: "old", role: "viewer" }] }];
  expect(because({ role: "viewer", teams: [{ id: "t1", name: "Ops" }] }, teams)).toBe("builder in docs and ops");
  expect(because({ role: "admin", teams: [{ id: "t1", name: "Ops" }] }, teams)).toBeUndefined();
  expect(because({ role: "viewer", teams: [] }, teams)).toBeUndefined();
});

test("an invitation says how long it is good for, or since when it is not", () => {
  const now = new Date("2026-11-17T12:00:00Z");
  expect(leftOf("2026-11-24T11:00:00Z", now)).toEqual({ expired: false, told: "7 d left" });
  expect(leftOf("2026-11-17T14:30:00Z", now)).toEqual({ expired: false, told: "2 h left" });
  expect(leftOf("2026-11-13T12:00:00Z", now)).toEqual({ expired: true, told: "4 d ago" });
});
