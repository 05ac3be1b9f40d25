import { memo, type CSSProperties, type ReactNode } from "react";
import { lasting } from "../kit/amount";
import { Icon } from "../kit/Icon";
import { hidesFailure, type Row } from "./rows";
import { begunAt, endedAt, isUnsure, workOf, type Bar, type Span } from "./span";
import type { Folded } from "./fold";
import type { Told } from "./useRunEvents";
import type { Looking } from "./useView";

export interface SpanRowProps {
  row: Row;
  index: number;
  top: number;
  looking: Looking;
  /** Another object when something has changed. */
  told: Told<Folded>;
  /** Of the bars' side, in pixels. */
  width: number;
  selected: boolean;
  tabbable: boolean;
  onChoose: (span: Span) => void;
  onFold: (span: Span, open: boolean) => void;
}

const inks: Record<Span["kind"], string> = { step: "var(--k-step)", operation: "var(--k-op)", turn: "var(--k-turn)", tool: "var(--k-tool)", task: "var(--k-task)", compaction: "var(--k-op)" };

/** inkOf is the colour of a span: red where it failed, else by its kind. */
export function inkOf(span: Span): CSSProperties {
  return { "--c": span.state === "failed" ? "var(--bad)" : inks[span.kind] } as CSSProperties;
}

/** SpanRow is a span: its name in the tree, and its bars. */
export const SpanRow = memo(function SpanRow({ row, index, top, looking, width, selected, tabbable, onChoose, onFold }: SpanRowProps): ReactNode {
  const { span, level, open } = row;
  const parent = span.children.length > 0;
  const failed = span.state === "failed";
  return (
    <div
      className="span"
      role="row"
      data-span={span.id}
      aria-level={level}
      aria-posinset={row.nth}
      aria-setsize={row.of}
      aria-expanded={parent ? open : undefined}
      aria-selected={selected}
      aria-rowindex={index + 2}
      tabIndex={tabbable ? 0 : -1}
      style={{ transform: `translateY(${top}px)` }}
      onClick={() => onChoose(span)}
      onDoubleClick={() => looking.show(around(span, looking))}
    >
      <div className="nm" role="gridcell" style={{ paddingLeft: Math.min(14 + (level - 1) * 16, 110) }}>
        {parent ? (
          <span
            className="twist faint"
            onClick={(event) => {
              event.stopPropagation();
              onFold(span, !open);
            }}
          >
            <Icon name={open ? "down" : "rightc"} small />
          </span>
        ) : (
          <span className="twist" />
        )}
        <span className="kd" style={inkOf(span)} />
        <span className="trunc">
          <span className={level === 1 ? "w55" : "w45"}>{span.name}</span> <span className="faint">{noteOf(span)}</span>
        </span>
        {(failed || (!open && hidesFailure(span))) && <span className="bad failed-sign"><Icon name="warn" small /><span className="sr">failed</span></span>}
      </div>
      <div className="x" role="gridcell">
        <span className="sr">{said(span, looking.now())}</span>
        <div className="bars" aria-hidden="true">
          <Bars span={span} parent={parent} looking={looking} width={width} />
        </div>
      </div>
    </div>
  );
});

/** noteOf is what stands behind a name. */
function noteOf(span: Span): string {
  const attempt = (span.facts.attempts ?? 1) > 1 ? `attempt ${span.facts.attempts}` : "";
  return [span.note, attempt, span.state === "interrupted" ? "interrupted" : ""].filter(Boolean).join(" · ");
}

/** said is a bar in words. */
function said(span: Span, now: number): string {
  const words = { open: "running", done: "took", failed: "failed after", interrupted: "interrupted after", kept: "kept, took" }[span.state];
  return `${words} ${isUnsure(span) ? "a time that is not recorded" : lasting(workOf(span, now))}, from ${lasting(begunAt(span))}`;
}

function around(span: Span, { axis, now }: Looking): { from: number; to: number } {
  const from = axis.placeOf(begunAt(span));
  const to = axis.placeOf(endedAt(span) ?? now());
  const room = Math.max(10, (to - from) * 0.15);
  return { from: Math.max(0, from - room), to: to + room };
}

function Bars({ span, parent, looking, width }: { span: Span; parent: boolean; looking: Looking; width: number }): ReactNode {
  const { axis, view } = looking;
  const length = view.to - view.from;
  const share = (time: number): number => (axis.placeOf(time) - view.from) / length;
  const last = span.bars.at(-1);
  return (
    <>
      {span.bars.map((bar) => (
        <OneBar key={bar.from} bar={bar} span={span} parent={parent} share={share} place={axis.placeOf(bar.from)} />
      ))}
      {span.firstText !== undefined && inside(share(span.firstText)) && <i className="notch" style={{ left: `${share(span.firstText) * 100}%` }} />}
      {span.kept.filter((at) => inside(share(at))).map((at) => (
        <span key={at} className="kept-mark" style={{ left: `${share(at) * 100}%` }}><i className="tick-mark" />kept</span>
      ))}
      {/* A label that has moved with now keeps no trace of it: another element takes its place. */}
      {last && <Label key={last.to === undefined ? "live" : "over"} span={span} bar={last} share={share} width={width} />}
    </>
  );
}

function inside(share: number): boolean {
  return share >= 0 && share <= 1;
}

function OneBar({ bar, span, parent, share, place }: { bar: Bar; span: Span; parent: boolean; share: (time: number) => number; place: number }): ReactNode {
  const from = Math.max(0, share(bar.from));
  const looks = ["bar-t", parent ? "soft" : "", bar.state === "interrupted" ? "cut" : ""].filter(Boolean).join(" ");
  const ink = bar.state === "failed" ? ({ "--c": "var(--bad)" } as CSSProperties) : inkOf(span);
  if (bar.to === undefined) {
    if (from > 1) return null;
    return (
      <span className="grows" style={{ left: `${from * 100}%` }}>
        <span className={`${looks} grow`} data-grows={place} style={ink} />
      </span>
    );
  }
  const to = share(bar.to);
  if (to < 0 || from > 1) return null;
  return <span className={looks} data-from={bar.from} data-took={bar.to - bar.from} style={{ ...ink, left: `${from * 100}%`, width: `${Math.max(0, Math.min(1.02, to) - from) * 100}%` }} />;
}

/** Pixels of a character of a label, about. */
const letter = 6.6;

/** Label is how long it took: right of the bar, left of it where there is no room. */
function Label({ span, bar, share, width }: { span: Span; bar: Bar; share: (time: number) => number; width: number }): ReactNode {
  const from = share(bar.from);
  if (bar.to === undefined) {
    if (from > 1) return null;
    // Now is at its right: the label stands at its left, or moves before now.
    const room = from * width > 70;
    return <span key={room ? "beside" : "before"} className="lbl live" data-since={bar.from} data-moves={room ? undefined : ""} style={room ? { right: `calc(${(1 - from) * 100}% + 7px)` } : { left: 0 }} />;
  }
  const to = share(bar.to);
  if (to < 0 || from > 1) return null;
  const took = bar.unsure ? "end not recorded" : lasting(bar.to - bar.from);
  const code = bar.state === "failed" && span.cause && span.cause.name !== "Error" ? span.cause.name : undefined;
  const text = code ? `${code} · ${took}` : took;
  const needs = text.length * letter + 12;
  const kept = span.kept.some((at) => share(at) * width > to * width - 4 && share(at) * width < to * width + needs + 10);
  const right = (1 - to) * width > needs && !kept;
  if (!right && from * width < needs) return null;
  return <span className={`lbl ${bar.state === "failed" ? "bad" : ""}`} style={right ? { left: `calc(${Math.max(0, to) * 100}% + 7px)` } : { right: `calc(${(1 - from) * 100}% + 7px)` }}>{text}</span>;
}
