import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test, vi } from "vitest";
import { initials } from "./Avatar";
import { bytes, count, lasting } from "./amount";
import { Button } from "./Button";
import { matching } from "./Combobox";
import { nextRow } from "./DataList";
import { step } from "./Menu";
import { relative } from "./Time";

test("amounts have three figures at most", () => {
  expect([0, 1023, 1024, 1536, 10_485_760, 5_046_586_573, 10 * 2 ** 30].map(bytes)).toEqual(["0 B", "1023 B", "1 KB", "1.5 KB", "10 MB", "4.7 GB", "10 GB"]);
  expect(count(1_284)).toBe("1\u2009284");
  expect([212, 9_210, 61_000, 7_200_000, 172_800_000].map(lasting)).toEqual(["212 ms", "9.2 s", "1 min", "2 h", "2 d"]);
});

test("a time is told from now, before and after", () => {
  const now = new Date("2026-11-17T11:00:00Z");
  const told = (at: string): string => relative(new Date(at), now);
  expect(told("2026-11-17T10:59:05Z")).toBe("just now");
  expect(told("2026-11-17T11:00:40Z")).toBe("in 40 sec");
  expect(told("2026-11-17T10:58:00Z")).toBe("2 min ago");
  expect(told("2026-11-16T11:00:00Z")).toBe("yesterday");
  expect(told("2026-11-17T13:00:00Z")).toBe("in 2 hr");
});

test("a moment among others is told in the reader's zone, to the millisecond", async () => {
  vi.stubEnv("TZ", "Asia/Kolkata");
  vi.resetModules();
  const { Clock } = await import("./Time");
  expect(renderToStaticMarkup(createElement(Clock, { at: "2026-11-17T11:00:00.250Z" }))).toMatch(/title="17 Nov 2026.* GMT\+5:30">16:30:00\.250</);
  vi.unstubAllEnvs();
});

test("a button that is off is still the one that Enter presses", () => {
  expect(renderToStaticMarkup(createElement(Button, { type: "submit", busy: true }, "Send"))).toContain('type="submit"');
});

test("arrows go round in a menu, and a letter finds what begins with it", () => {
  const all = ["Rename", "Archive", "Delete"].map((textContent) => ({ textContent }));
  expect(step("ArrowDown", 2, all)).toBe(0);
  expect(step("ArrowUp", 0, all)).toBe(2);
  expect(step("End", 0, all)).toBe(2);
  expect(step("d", 0, all)).toBe(2);
  expect(step("z", 0, all)).toBeUndefined();
  expect(step("Tab", 0, all)).toBeUndefined();
});

test("j and k stop at the ends of a list", () => {
  expect(nextRow("j", 0, 3)).toBe(1);
  expect(nextRow("ArrowDown", 2, 3)).toBe(2);
  expect(nextRow("k", 0, 3)).toBe(0);
  expect(nextRow("x", 0, 3)).toBeUndefined();
});

test("a combobox finds every typed word, and shows first what begins with them", () => {
  const choices = ["America/Oslo", "Europe/Oslo", "Oslo time"].map((label) => ({ value: label, label }));
  expect(matching(choices, "oslo").map((choice) => choice.label)).toEqual(["Oslo time", "America/Oslo", "Europe/Oslo"]);
  expect(matching(choices, "eur os").map((choice) => choice.label)).toEqual(["Europe/Oslo"]);
  expect(matching(choices, "paris")).toEqual([]);
});

test("a person has two letters, whatever the name", () => {
  expect(["Ada Moreno", "ada", "x", "", "Ægir Þór Ösp"].map(initials)).toEqual(["AM", "AD", "X", "?", "ÆÖ"]);
});
