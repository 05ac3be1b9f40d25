import { expect, test } from "vitest";
import { kindsOf, largestFirst, stateOf } from "./storage";

test("the parts of storage are all of it, and what is on its way", () => {
  const storage = { limitBytes: 100, usedBytes: 60, reservedBytes: 5, softLimitPercent: 80, state: "ok" as const, byKind: { projects: 30, attachments: 20, streams: 10, snapshots: 0 }, measuredAt: "2026-11-17T11:00:00.000Z" };
  expect(kindsOf(storage).reduce((sum, kind) => sum + kind.bytes, 0)).toBe(65);
});

test("a full workspace is told what still works", () => {
  expect(stateOf({ state: "ok" }).advice).toBeUndefined();
  expect(stateOf({ state: "over" }).advice).toContain("Reading and deleting still work");
});

test("what takes most stands first", () => {
  const of = (name: string, bytes: number): { name: string; bytes: number } => ({ name, bytes });
  expect(largestFirst([of("b", 1), of("c", 9), of("a", 1)]).map((each) => each.name)).toEqual(["c", "a", "b"]);
});
