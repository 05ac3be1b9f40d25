import { useMemo, type ReactNode } from "react";
import { lasting } from "../kit/amount";
import { ticksOf } from "./axis";
import type { Band } from "./fold";
import type { Looking } from "./useView";

const markWidth = 96;

/** Grid is what stands behind the bars: lines of time, restarts, folded waits, and now. */
export function Grid({ looking, bands, live, width }: { looking: Looking; bands: readonly Band[]; live: boolean; width: number }): ReactNode {
  const { axis, view } = looking;
  const ticks = useMemo(() => ticksOf(axis, view, width / markWidth), [axis, view, width]);
  const share = (time: number): number => (axis.placeOf(time) - view.from) / (view.to - view.from);
  const strip = (from: number, to: number): { left: string; width: string } => ({ left: `${share(from) * 100}%`, width: `${Math.max(0.2, (share(to) - share(from)) * 100)}%` });
  const seen = (from: number, to: number): boolean => share(to) > 0 && share(from) < 1;
  return (
    <div className="grid-v" aria-hidden="true">
      {ticks.map((tick) => share(tick.at)).filter((left) => left >= 0 && left <= 1).map((left) => (
        <i key={left} style={{ left: `${left * 100}%` }} />
      ))}
      {axis.waits.filter((wait) => seen(wait.from, wait.to) && !bands.some((band) => band.from <= wait.from + 1 && band.to >= wait.to - 1)).map((wait) => (
        <div key={wait.from} className="break" style={strip(wait.from, wait.to)}><Note text={`waited ${lasting(wait.to - wait.from)}`} centre={(share(wait.from) + share(wait.to)) / 2} width={width} /></div>
      ))}
      {bands.filter((band) => seen(band.from, band.to)).map((band) => (
        <div key={band.from} className="gap" style={strip(band.from, band.to)}><Note text={`Server restarted · resumed after ${lasting(band.to - band.from)}`} centre={(share(band.from) + share(band.to)) / 2} width={width} /></div>
      ))}
      {live && <div className="now" />}
    </div>
  );
}

/** Pixels of a character of a note, about, and of its edges. */
const letter = 6.5;
const edges = 20;

/** Note is written below the middle of a strip, and stays within the view. */
function Note({ text, centre, width }: { text: string; centre: number; width: number }): ReactNode {
  const half = (text.length * letter + edges) / 2;
  const wanted = Math.min(Math.max(centre * width, half), Math.max(half, width - half));
  return <span style={{ transform: `translateX(${wanted - centre * width}px)` }}>{text}</span>;
}
