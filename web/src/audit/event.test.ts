import { expect, test } from "vitest";
import { actorName } from "./event";

const ada = { kind: "account" as const, id: "acc_1", username: "ada" };
const sam = { kind: "account" as const, id: "acc_2", username: "sam" };

test("staff are named as staff, and in whose name they looked", () => {
  expect(actorName({ actor: ada, authority: "customer" })).toBe("ada");
  expect(actorName({ actor: sam, authority: "admin" })).toBe("sam (staff)");
  expect(actorName({ actor: ada, impersonator: sam, authority: "customer" })).toBe("sam (staff, as ada)");
});
