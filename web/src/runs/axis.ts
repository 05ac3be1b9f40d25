import type { Folded } from "./fold";

/** Wait is a time in which nothing happened. */
export interface Wait {
  readonly from: number;
  readonly to: number;
}

/** A wait is folded when it is longer than this, and takes so much of the run. */
const longWait = 30_000;
const largeShare = 0.2;
/** What is left of a folded wait, as a part of the rest. */
const foldedShare = 0.1;

/** waitsOf are the waits of a run that are folded: nothing was worked on, and nothing was said. */
export function waitsOf(fold: Folded, now: number): Wait[] {
  const total = fold.duration ?? now;
  const least = Math.max(longWait, total * largeShare);
  if (total <= least) return [];
  const busy: Wait[] = fold.logs.map(({ at }) => ({ from: at, to: at }));
  for (const span of fold.spans.values()) {
    for (const at of span.kept) busy.push({ from: at, to: at });
    if (span.children.length === 0) for (const bar of span.bars) busy.push({ from: bar.from, to: bar.to ?? now });
  }
  busy.sort((a, b) => a.from - b.from);
  const waits: Wait[] = [];
  let end = 0;
  // A live run may go on at any moment: its last wait is not over.
  if (fold.duration !== undefined) busy.push({ from: total, to: total });
  for (const each of busy) {
    if (each.from - end > least) waits.push({ from: end, to: each.from });
    end = Math.max(end, each.to);
  }
  return waits;
}

/** Axis is the time of a run as it is drawn: folded waits take a little room each. Without waits a place is a time. */
export class Axis {
  readonly waits: readonly Wait[];
  readonly #room: number;

  constructor(waits: readonly Wait[], total: number) {
    this.waits = waits;
    const rest = total - waits.reduce((sum, wait) => sum + wait.to - wait.from, 0);
    this.#room = Math.max(50, rest * foldedShare);
  }

  /** placeOf is where a time is drawn. */
  placeOf(time: number): number {
    let place = time;
    for (const wait of this.waits) {
      if (time <= wait.from) break;
      const within = Math.min(time, wait.to) - wait.from;
      const length = wait.to - wait.from;
      place += within * (this.#room / length - 1);
    }
    return place;
  }

  /** timeAt is what is drawn at a place. */
  timeAt(place: number): number {
    let time = place;
    for (const wait of this.waits) {
      const begins = this.placeOf(wait.from);
      if (place <= begins) break;
      const length = wait.to - wait.from;
      const within = Math.min(place - begins, this.#room);
      time += within * (length / this.#room - 1);
    }
    return time;
  }
}

/** View is the part of an axis that is seen. */
export interface View {
  readonly from: number;
  readonly to: number;
}

/** Following keeps now here, and takes a step when it gets there. */
const nowAt = 0.92;
const stepTo = 0.8;
const shortest = 2_000;

/** followed is the view of a live run: as it was, until now has come to its edge. */
export function followed(before: View | undefined, now: number): View {
  if (before && before.from === 0 && now <= before.to * nowAt && now >= before.to * 0.4) return before;
  return { from: 0, to: Math.max(shortest, now / stepTo) };
}

/** whole is the view of all of an ended run, with room for the last duration. */
export function whole(end: number): View {
  return { from: 0, to: Math.max(1, end * 1.08) };
}

const mostZoom = 20; // milliseconds that fill the view

/** zoomed is a view by so much closer, with the place under the pointer where it was. */
export function zoomed(view: View, factor: number, around: number, end: number): View {
  const length = Math.min(Math.max((view.to - view.from) * factor, mostZoom), Math.max(whole(end).to, view.to - view.from));
  const share = (around - view.from) / (view.to - view.from);
  return held({ from: around - share * length, to: around + (1 - share) * length }, end);
}

/** panned is a view so much later. */
export function panned(view: View, by: number, end: number): View {
  return held({ from: view.from + by, to: view.to + by }, end);
}

function held(view: View, end: number): View {
  const length = view.to - view.from;
  const from = Math.min(Math.max(0, view.from), Math.max(0, whole(end).to - length));
  return { from, to: from + length };
}

const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000, 900_000, 1_800_000, 3_600_000, 7_200_000, 21_600_000, 43_200_000, 86_400_000];

export interface Tick {
  readonly at: number;
  readonly label: string;
}

/** ticksOf are the marks of the ruler, about so many, none in a folded wait. */
export function ticksOf(axis: Axis, view: View, about: number): Tick[] {
  const wanted = (view.to - view.from) / Math.max(1, about);
  const step = steps.find((each) => each >= wanted) ?? Math.ceil(wanted / 86_400_000) * 86_400_000;
  const ends = [axis.timeAt(view.from), ...axis.waits.flatMap((wait) => [wait.from, wait.to]), axis.timeAt(view.to)];
  const ticks: Tick[] = [];
  for (let i = 0; i + 1 < ends.length; i += 2) {
    const from = Math.max(ends[i]!, ends[0]!);
    const to = Math.min(ends[i + 1]!, ends.at(-1)!);
    for (let at = Math.ceil(from / step) * step; at <= to; at += step) ticks.push({ at, label: clock(at, step) });
  }
  return ticks;
}

/** clock is a time since the start, as exact as the step between marks. */
export function clock(ms: number, step: number): string {
  if (step < 1_000 && ms < 60_000) return ms === 0 ? "0 s" : ms < 1_000 ? `${Math.round(ms)} ms` : `${trimmed(ms / 1_000, step)} s`;
  const seconds = Math.floor(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  const two = (value: number): string => String(value).padStart(2, "0");
  const minutes = Math.floor(seconds / 60);
  const parts = step < 1_000 ? `.${trimmed((ms % 1_000) / 1_000, step).slice(2)}` : "";
  if (minutes < 60) return `${minutes}:${two(seconds % 60)}${parts}`;
  return `${Math.floor(minutes / 60)}:${two(minutes % 60)}${seconds % 60 ? `:${two(seconds % 60)}` : " h"}`;
}

function trimmed(seconds: number, step: number): string {
  return seconds.toFixed(step >= 100 ? 1 : step >= 10 ? 2 : 3);
}
