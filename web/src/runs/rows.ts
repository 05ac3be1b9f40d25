import type { Folded } from "./fold";
import { endedAt, type Span } from "./span";

/** Row is a span in the order in which it is shown. */
export interface Row {
  readonly span: Span;
  readonly level: number;
  readonly open: boolean;
  /** Its place among its siblings, and how many they are. */
  readonly nth: number;
  readonly of: number;
}

/** Show is which spans are shown. */
export type Show = "all" | "slow" | "failed";

export interface Wanted {
  readonly show: Show;
  /** A part of a name or note. */
  readonly find: string;
  /** The spans whose children are hidden. */
  readonly folded: ReadonlySet<string>;
}

/** rowsOf are the rows of a timeline. A filter keeps what is above a match, so that it is seen where it belongs. */
export function rowsOf(fold: Folded, { show, find, folded }: Wanted): Row[] {
  const wanted = wantedOf(fold, show, find.trim().toLowerCase());
  const rows: Row[] = [];
  const visit = (spans: readonly Span[], level: number): void => {
    const shown = wanted ? spans.filter((span) => wanted.has(span)) : spans;
    shown.forEach((span, i) => {
      // What is looked for is shown however it was folded.
      const open = wanted !== undefined || !folded.has(span.id);
      rows.push({ span, level, open, nth: i + 1, of: shown.length });
      if (open) visit(span.children, level + 1);
    });
  };
  visit(fold.roots, 1);
  return rows;
}

function wantedOf(fold: Folded, show: Show, find: string): Set<Span> | undefined {
  if (show === "all" && !find) return undefined;
  const slow = show === "slow" ? new Set(slowPath(fold)) : undefined;
  const wanted = new Set<Span>();
  for (const span of fold.spans.values()) {
    if (show === "failed" && span.state !== "failed") continue;
    if (slow && !slow.has(span)) continue;
    if (find && !`${span.name} ${span.note}`.toLowerCase().includes(find)) continue;
    for (let each: Span | undefined = span; each && !wanted.has(each); each = each.parent) wanted.add(each);
  }
  return wanted;
}

/** slowPath are the spans that the end of the run waited for: from the end back, what was over last, and the same within it. */
export function slowPath(fold: Folded): Span[] {
  const path: Span[] = [];
  const until = fold.duration ?? Infinity;
  const walk = (spans: readonly Span[], end: number): void => {
    const byEnd = spans.map((span) => ({ span, from: span.bars[0]?.from, to: endedAt(span) ?? Infinity })).sort((a, b) => b.to - a.to);
    let cursor = end;
    for (const { span, from, to } of byEnd) {
      if (from === undefined || from >= cursor || Math.min(to, end) > cursor + slack) continue;
      path.push(span);
      walk(span.children, Math.min(to, cursor));
      cursor = from;
    }
  };
  walk(fold.roots, until);
  return path;
}

/** Stamps are whole milliseconds, and durations are measured apart from them. */
const slack = 5;

/** failuresOf are the spans that failed on their own, in the order of time: one that failed because of what is below it is none. */
export function failuresOf(fold: Folded): Span[] {
  const failed = [...fold.spans.values()].filter((span) => span.state === "failed" && !holdsFailure(span));
  return failed.sort((a, b) => (endedAt(a) ?? 0) - (endedAt(b) ?? 0));
}

function holdsFailure(span: Span): boolean {
  return span.children.some((child) => child.state === "failed" || holdsFailure(child));
}

/** worstBelow reports whether something in a folded span failed. */
export function hidesFailure(span: Span): boolean {
  return span.state !== "failed" && holdsFailure(span);
}
