/** Kind is what a span is of. */
export type Kind = "step" | "operation" | "turn" | "tool" | "task" | "compaction";

/** How a span or one of its bars stands; `kept`: recorded before a restart, read after it, and not done again. */
export type State = "open" | "done" | "failed" | "interrupted" | "kept";

/** Bar is one attempt. Times are milliseconds since the start of the run. */
export interface Bar {
  readonly from: number;
  /** Undefined: it is not over. */
  to: number | undefined;
  state: State;
  readonly attempt: number | undefined;
  /** It was over at some time after `to`: when, nobody has recorded. */
  readonly unsure?: boolean;
}

/** Cause is why something failed: a fixed name for machines, where there is one, and a sentence. */
export interface Cause {
  readonly name: string;
  readonly message: string;
}

/** Span is something that a run did: a row of its timeline. */
export interface Span {
  /** Stands in the address of a page, so it is the same however often the run is read. */
  readonly id: string;
  readonly kind: Kind;
  parent: Span | undefined;
  readonly children: Span[];
  name: string;
  /** What tells it from others of its name: an argument, a model. */
  note: string;
  readonly bars: Bar[];
  /** When its recorded result was read after a restart. */
  readonly kept: number[];
  state: State;
  cause: Cause | undefined;
  /** When the first text of a turn came. */
  firstText: number | undefined;
  /** What it was given, and what came of it, where events tell. */
  input: unknown;
  output: unknown;
  readonly facts: Facts;
}

/** Facts are what else is known of a span. */
export interface Facts {
  operationId?: string | undefined;
  turnId?: string | undefined;
  toolCallId?: string | undefined;
  taskId?: string | undefined;
  model?: string | undefined;
  finishReason?: string | undefined;
  tokens?: number | undefined;
  cost?: number | undefined;
  attempts?: number | undefined;
  /** The turn that asked for a tool. */
  askedBy?: Span | undefined;
}

/** begunAt is when a span first began; one that was only kept began where it was read. */
export function begunAt(span: Span): number {
  return span.bars[0]?.from ?? span.kept[0] ?? 0;
}

/** endedAt is when the last of a span was over; undefined: it is not. */
export function endedAt(span: Span): number | undefined {
  const last = span.bars.at(-1);
  return last ? last.to : span.kept.at(-1);
}

/** workOf is how long a span was worked on, in all attempts. */
export function workOf(span: Span, now: number): number {
  return span.bars.reduce((sum, bar) => sum + Math.max(0, (bar.to ?? now) - bar.from), 0);
}

/** isUnsure reports whether it is not known when a span was over. */
export function isUnsure(span: Span): boolean {
  return span.bars.at(-1)?.unsure === true;
}

/** levelOf is how deep a span stands, from 1. */
export function levelOf(span: Span): number {
  let level = 1;
  for (let above = span.parent; above; above = above.parent) level++;
  return level;
}
