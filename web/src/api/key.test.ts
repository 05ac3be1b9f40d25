import { expect, test } from "vitest";
import { dayOf, endOf, expiryOf, scopes, shortOf, stateOf } from "./key";
import { samplesOf } from "./samples";

const now = new Date("2026-11-17T12:00:00Z");
const key = (expiresAt: string | null, revokedAt: string | null = null) => ({ expiresAt, revokedAt });

test("a key is recognised by its ends", () => {
  expect(shortOf({ prefix: "7Kq2mVx90bTd", last4: "x4Lm" })).toBe("svck_7Kq2…x4Lm");
  expect(shortOf({ prefix: "svck_7Kq2mVx90bTd", last4: "x4Lm" })).toBe("svck_7Kq2…x4Lm");
});

test("the last two weeks of a key are a warning, and a grace is named", () => {
  expect(expiryOf(key("2027-02-15T12:00:00Z"), now)).toEqual({ on: "15 Feb 2027", left: "90 d left", tone: "" });
  expect(expiryOf(key("2026-12-01T12:00:00Z"), now)).toMatchObject({ left: "14 d left", tone: "warn" });
  expect(expiryOf(key("2026-11-17T11:00:00Z"), now)).toMatchObject({ left: "over", tone: "bad" });
  expect(expiryOf(key(null), now).on).toBe("Never");
  expect(expiryOf(key(null, "2026-11-17T13:30:00Z"), now).left).toBe("rotated, 2 h left");
});

test("a key whose maker is gone says so", () => {
  expect(stateOf({ state: "live" })).toBeUndefined();
  expect(stateOf({ state: "orphaned" })?.word).toBe("Dead");
});

test("a day is that of the reader, in the morning and at night", () => {
  expect([dayOf(new Date(2026, 10, 7, 0, 1)), dayOf(new Date(2026, 10, 7, 23, 59))]).toEqual(["2026-11-07", "2026-11-07"]);
});

test("a date is within a year from now", () => {
  expect(endOf("90", "", now)?.toISOString()).toBe("2027-02-15T12:00:00.000Z");
  expect(endOf("never", "", now)).toBeNull();
  expect(endOf("date", "2026-11-01", now)).toBeUndefined();
  expect(endOf("date", "2028-01-01", now)).toBeUndefined();
  expect(endOf("date", "", now)).toBeUndefined();
  expect(endOf("date", "2026-12-24", now)).toBeInstanceOf(Date);
});

test("there is a snippet for whatever a key may do, and it holds the key and the address", () => {
  const of = { base: "https://agents.example.com/v1/ada/labs", agent: "central", instance: "try-1" };
  for (const { scope } of scopes) {
    for (const sample of samplesOf({ ...of, key: "svck_secret", scopes: [scope] })) {
      expect(sample.text, `${scope} ${sample.name}`).toContain("svck_secret");
      expect(sample.text).toContain("https://agents.example.com");
    }
  }
  for (const sample of samplesOf({ ...of, key: undefined, scopes: undefined })) expect(sample.text).toContain("SVC_KEY");
});

test("what a shell would read is quoted", () => {
  const [curl] = samplesOf({ base: "https://a.example/v1/a/b", agent: "central", instance: "try-1", key: undefined, scopes: undefined });
  expect(curl?.text).toContain('"Authorization: Bearer $SVC_KEY"');
  expect(curl?.text).not.toMatch(/'[^'\n]*\$SVC_KEY/);
});
