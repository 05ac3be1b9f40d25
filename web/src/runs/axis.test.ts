import { expect, test } from "vitest";
import type { RunEvent } from "@svc/sdk";
import { Axis, clock, followed, panned, ticksOf, waitsOf, whole, zoomed } from "./axis";
import { foldRun } from "./fold";

const start = Date.parse("2026-11-17T06:00:00.000Z");

function logged(...times: number[]): RunEvent[] {
  return times.map((at, eventIndex) => ({ v: 3, runId: "run_1", eventIndex, timestamp: new Date(start + at).toISOString(), type: "log", level: "info", message: "." }) as unknown as RunEvent);
}

test("a wait of more than half a minute that takes a fifth of the run is folded", () => {
  const fold = foldRun(logged(0, 1_000, 301_000, 302_000), new Date(start).toISOString());
  fold.duration = 303_000;
  expect(waitsOf(fold, 303_000)).toEqual([{ from: 1_000, to: 301_000 }]);
  fold.duration = 10_000_000;
  expect(waitsOf(fold, 10_000_000)).toEqual([{ from: 302_000, to: 10_000_000 }]);
});

test("a live run may go on at any moment: its last wait is not folded", () => {
  expect(waitsOf(foldRun(logged(0, 1_000), new Date(start).toISOString()), 900_000)).toEqual([]);
});

test("places and times lead to each other, folded or not", () => {
  const axis = new Axis([{ from: 1_000, to: 301_000 }], 303_000);
  for (const time of [0, 500, 1_000, 1_500, 150_000, 301_000, 302_500]) expect(axis.timeAt(axis.placeOf(time))).toBeCloseTo(time, 3);
  expect(axis.placeOf(303_000)).toBeLessThan(5_000);
  expect(new Axis([], 10).placeOf(7)).toBe(7);
});

test("a view that follows takes a step when now comes to its edge, and stands still until then", () => {
  const first = followed(undefined, 8_000);
  expect(first).toEqual({ from: 0, to: 10_000 });
  expect(followed(first, 9_100)).toBe(first);
  expect(followed(first, 9_300).to).toBeCloseTo(11_625);
});

test("to zoom keeps what is under the pointer, and stays within the run", () => {
  const view = zoomed({ from: 0, to: 1_000 }, 0.5, 250, 1_000);
  expect(view).toEqual({ from: 125, to: 625 });
  expect(zoomed(view, 100, 250, 1_000)).toEqual(whole(1_000));
  expect(panned(view, -10_000, 1_000).from).toBe(0);
  expect(zoomed(view, 0.000_01, 250, 1_000).to - zoomed(view, 0.000_01, 250, 1_000).from).toBeCloseTo(20);
});

test("ticks are at round times, and none is in a folded wait", () => {
  expect(ticksOf(new Axis([], 48_000), { from: 0, to: 48_000 }, 6).map(({ label }) => label)).toEqual(["0 s", "10 s", "20 s", "30 s", "40 s"]);
  const axis = new Axis([{ from: 4_000, to: 3_600_000 }], 3_606_000);
  const inside = ticksOf(axis, whole(axis.placeOf(3_606_000)), 8).filter(({ at }) => at > 4_000 && at < 3_600_000);
  expect(inside).toEqual([]);
});

test("a clock is as exact as its step", () => {
  expect([clock(0, 100), clock(300, 100), clock(1_500, 500), clock(90_000, 30_000), clock(3_600_000, 600_000), clock(5_025_000, 1_000), clock(91_500, 500)]).toEqual(["0 s", "300 ms", "1.5 s", "1:30", "1:00 h", "1:23:45", "1:31.5"]);
});
