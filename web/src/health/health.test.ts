import { expect, test } from "vitest";
import { rotationOf } from "../secretstore/rotation";
import { checkName, migrationsOf, skewOf, stateOf, versionOf } from "./health";

test("a node that is not ready says so, and one that leaves is no failure", () => {
  expect(stateOf({ ready: true, state: "serving" })).toEqual({ tone: "ok", word: "Serving" });
  expect(stateOf({ ready: false, state: "serving" })).toEqual({ tone: "bad", word: "Not ready" });
  expect(stateOf({ ready: false, state: "draining" }).word).toBe("Draining");
});

test("a clock is behind or ahead", () => {
  expect(skewOf(0)).toBe("As the database's");
  expect(skewOf(840)).toBe("840 ms behind the database");
  expect(skewOf(-2_000)).toBe("2.0 s ahead of the database");
});

test("a build that was made by hand says so", () => {
  expect(versionOf("(devel)")).toBe("Development");
  expect(versionOf("1.14.2")).toBe("1.14.2");
});

test("a check that this page does not know keeps its name", () => {
  expect(checkName("keys")).toBe("Keys open");
  expect(checkName("moon")).toBe("moon");
});

test("rooms that are behind are counted", () => {
  expect(migrationsOf([{ room: "audit", database: 2, binary: 3 }, { room: "keys", database: 4, binary: 3 }])).toEqual({ done: 1, all: 2, behind: ["audit"] });
});

test("a rotation is done when only the active key seals something", () => {
  expect(rotationOf({ activeKid: "k3", rowsByKid: { k2: 25, k3: 75 } })).toEqual({ all: 100, moved: 75, left: 25, keys: [{ kid: "k3", rows: 75, active: true }, { kid: "k2", rows: 25, active: false }] });
  expect(rotationOf({ activeKid: "k3", rowsByKid: {} })).toMatchObject({ all: 0, left: 0, keys: [{ kid: "k3", rows: 0, active: true }] });
});
