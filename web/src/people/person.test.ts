import { expect, test } from "vitest";
import { minutesLeft } from "../shell/Countdown";
import { staffingOf } from "../server/staff";
import { businessesOf, deviceName, roleOf, standingOf, waysOf } from "./person";

const well = { suspended: false, eraseAt: null, email: "ada@example.com", emailVerified: true };

test("the worst of how somebody stands is said", () => {
  expect(standingOf(well).word).toBe("Active");
  expect(standingOf({ ...well, emailVerified: false }).word).toBe("E-mail unverified");
  expect(standingOf({ ...well, email: null, emailVerified: false }).word).toBe("Active");
  expect(standingOf({ ...well, suspended: true, emailVerified: false }).word).toBe("Suspended");
  expect(standingOf({ ...well, suspended: true, eraseAt: "2026-11-30T00:00:00.000Z" }).word).toBe("Deleted");
});

test("a role over the service goes before those in workspaces, and of those the highest is named", () => {
  const workspaces = [{ role: "viewer" }, { role: "owner" }, { role: "billing" }];
  expect(roleOf({ serviceRole: "none", workspaces })).toEqual({ word: "Owner", staff: false });
  expect(roleOf({ serviceRole: "support", workspaces })).toEqual({ word: "Support", staff: true });
  expect(roleOf({ serviceRole: "none", workspaces: [] }).word).toBe("–");
});

test("many workspaces are a few names and a number", () => {
  const named = (...names: string[]) => names.map((business) => ({ business }));
  expect(businessesOf([])).toBe("–");
  expect(businessesOf(named("personal"))).toBe("personal");
  expect(businessesOf(named("personal", "labs"))).toBe("labs");
  expect(businessesOf(named("a", "b", "c"))).toBe("a, b, c");
  expect(businessesOf(named("a", "b", "c", "d", "e"))).toBe("a, b, c and 2 more");
});

test("browsers have the names that people call them by", () => {
  expect(deviceName("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")).toBe("Firefox on Linux");
  expect(deviceName("Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1 Version/19.0 Mobile/15E148 Safari/604.1")).toBe("Safari on iPhone");
  expect(deviceName("Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0")).toBe("Edge on Windows");
  expect(deviceName("")).toBe("An unknown program");
  expect(waysOf(["password", "github"])).toBe("Password, GitHub");
});

test("only administrators change something, and everybody is told why not", () => {
  expect(staffingOf({ role: "admin", expiresAt: "" })).toMatchObject({ may: true, why: undefined });
  expect(staffingOf({ role: "support", expiresAt: "" })).toMatchObject({ may: false, why: "Support reads everything and changes nothing." });
  expect(staffingOf(undefined).may).toBe(false);
});

test("the time that is left is rounded up, and ends", () => {
  const now = new Date("2026-11-17T12:00:00Z");
  expect(minutesLeft("2026-11-17T12:26:01Z", now)).toBe(27);
  expect(minutesLeft("2026-11-17T11:00:00Z", now)).toBe(0);
});
