import { useEffect, useRef, type MouseEvent, type ReactNode } from "react";
import type { Row } from "./rows";
import { begunAt, endedAt } from "./span";
import type { Looking } from "./useView";
import type { Seen } from "./window";

const height = 48;

/** Minimap is all rows at once, for those who see: the tree below has the same. A press leads there. */
export function Minimap({ rows, looking, seen, onRow, version }: { rows: readonly Row[]; looking: Looking; seen: Seen; onRow: (index: number) => void; version: unknown }): ReactNode {
  const canvas = useRef<HTMLCanvasElement>(null);
  const { axis, now } = looking;
  useEffect(() => {
    const element = canvas.current;
    const pen = element?.getContext("2d");
    if (!element || !pen) return;
    const scale = devicePixelRatio || 1;
    const width = element.clientWidth;
    element.width = width * scale;
    element.height = height * scale;
    pen.scale(scale, scale);
    draw(pen, rows, (time) => axis.placeOf(time), width, axis.placeOf(now()), (name) => inkOn(element, name));
  }, [rows, axis, now, version]);
  const press = (event: MouseEvent): void => {
    const box = event.currentTarget.getBoundingClientRect();
    onRow(Math.floor(((event.clientY - box.top) / box.height) * rows.length));
  };
  return (
    <div className="minimap" aria-hidden="true" onClick={press}>
      <canvas ref={canvas} style={{ height }} />
      <i style={{ top: `${(seen.from / rows.length) * 100}%`, height: `${Math.max(4, ((seen.to - seen.from) / rows.length) * 100)}%` }} />
    </div>
  );
}

function draw(pen: CanvasRenderingContext2D, rows: readonly Row[], placeOf: (time: number) => number, width: number, end: number, ink: (name: string) => string): void {
  const inks = { step: ink("--k-step"), operation: ink("--k-op"), turn: ink("--k-turn"), tool: ink("--k-tool"), task: ink("--k-task"), compaction: ink("--k-op") };
  const bad = ink("--bad");
  const thick = Math.max(1, height / rows.length);
  rows.forEach(({ span }, i) => {
    const from = placeOf(begunAt(span)) / end;
    const over = endedAt(span);
    const to = over === undefined ? 1 : placeOf(over) / end;
    pen.fillStyle = span.state === "failed" ? bad : inks[span.kind];
    pen.fillRect(from * width, (i / rows.length) * height, Math.max(1, (to - from) * width), thick);
  });
}

/** inkOn is a colour of the scheme as a canvas understands it: only a property of the element resolves it. */
function inkOn(element: HTMLElement, name: string): string {
  element.style.color = `var(${name})`;
  return getComputedStyle(element).color;
}
