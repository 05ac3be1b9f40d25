import { useMemo, useRef, useState, type PointerEvent, type ReactNode } from "react";
import { ticksOf } from "./axis";
import type { LogLine } from "./fold";
import type { Looking } from "./useView";

/** Pixels that a mark and its label need. */
const markWidth = 96;

/** A press that moves less than this is a click. */
const drag = 5;

/** Ruler is the time above the bars, with a tick for each log line. To drag over it is to look closer. */
export function Ruler({ looking, logs, width }: { looking: Looking; logs: readonly LogLine[]; width: number }): ReactNode {
  const { axis, view } = looking;
  const lane = useRef<HTMLDivElement>(null);
  const [dragged, setDragged] = useState<{ from: number; to: number }>();
  const ticks = useMemo(() => ticksOf(axis, view, width / markWidth), [axis, view, width]);
  const length = view.to - view.from;
  const share = (time: number): number => (axis.placeOf(time) - view.from) / length;
  const at = (event: PointerEvent): number => {
    const box = lane.current?.getBoundingClientRect();
    return box ? Math.min(1, Math.max(0, (event.clientX - box.left) / box.width)) : 0;
  };
  const finish = (): void => {
    if (dragged && Math.abs(dragged.to - dragged.from) * width > drag) {
      const [from, to] = [Math.min(dragged.from, dragged.to), Math.max(dragged.from, dragged.to)];
      looking.show({ from: view.from + from * length, to: view.from + to * length });
    }
    setDragged(undefined);
  };
  return (
    <div className="ruler-group" role="rowgroup">
      <div className="ruler" role="row" aria-rowindex={1}>
        <span role="columnheader">Span</span>
        <div
          ref={lane}
          className="x"
          role="columnheader"
          aria-label="Time since the start"
          onPointerDown={(event) => {
            if (event.button !== 0) return;
            event.currentTarget.setPointerCapture(event.pointerId);
            setDragged({ from: at(event), to: at(event) });
          }}
          onPointerMove={(event) => dragged && setDragged({ ...dragged, to: at(event) })}
          onPointerUp={finish}
          onPointerCancel={() => setDragged(undefined)}
        >
          {ticks.map((tick) => ({ ...tick, left: share(tick.at) })).filter(({ left }) => left >= 0 && left < 0.97).map(({ at, label, left }) => (
            <span key={at} aria-hidden="true" data-first={left < 0.02 || undefined} style={{ left: `${left * 100}%` }}>{label}</span>
          ))}
          <LogTicks logs={logs} share={share} width={width} />
          {dragged && <i className="dragged" style={{ left: `${Math.min(dragged.from, dragged.to) * 100}%`, width: `${Math.abs(dragged.to - dragged.from) * 100}%` }} />}
        </div>
      </div>
    </div>
  );
}

const weight = { info: 0, warn: 1, error: 2 } as const;

/** LogTicks are the moments of log lines. Of several at one place the worst is shown. */
function LogTicks({ logs, share, width }: { logs: readonly LogLine[]; share: (time: number) => number; width: number }): ReactNode {
  const worst = new Map<number, LogLine["level"]>();
  for (const line of logs) {
    if (line.ofStep && line.level === "info") continue;
    const left = share(line.at);
    if (left < 0 || left > 1) continue;
    const place = Math.round((left * width) / 3);
    const before = worst.get(place);
    if (!before || weight[line.level] > weight[before]) worst.set(place, line.level);
  }
  return [...worst].map(([place, level]) => <i key={place} className={`log-tick ${level}`} style={{ left: place * 3 }} />);
}
