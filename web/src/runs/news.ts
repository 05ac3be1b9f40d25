import type { RunRow } from "./run";

/** Shown is a list of runs as the reader sees it, and what has come since. */
export interface Shown {
  readonly rows: readonly RunRow[];
  /** The runs that are newer than the first row: they wait until the reader asks for them. */
  readonly news: readonly RunRow[];
}

/**
 * merge puts what is known now into a list that was read before. A row changes in its place; a run that is new waits in `news`,
 * unless the reader has been shown it.
 */
export function merge(before: readonly RunRow[], fresh: readonly RunRow[], admitted: ReadonlySet<string>): Shown {
  const now = new Map(fresh.map((run) => [run.runId, run]));
  const known = new Set(before.map((run) => run.runId));
  const rows = before.map((run) => newer(run, now.get(run.runId)));
  const first = before[0]?.runId ?? "";
  const unseen = fresh.filter((run) => !known.has(run.runId) && run.runId > first);
  return { rows: [...unseen.filter((run) => admitted.has(run.runId)), ...rows], news: unseen.filter((run) => !admitted.has(run.runId)) };
}

// A run that has ended does not become active again: that answer is the older one.
function newer(run: RunRow, now: RunRow | undefined): RunRow {
  return now && !(run.status !== "active" && now.status === "active") ? now : run;
}

/** since are the rows of a range. The list is in the order of time, so that the first that is too old ends it. */
export function since(rows: readonly RunRow[], oldest: number | undefined): { rows: readonly RunRow[]; whole: boolean } {
  if (oldest === undefined) return { rows, whole: false };
  const end = rows.findIndex((run) => Date.parse(run.startedAt) < oldest);
  return end < 0 ? { rows, whole: false } : { rows: rows.slice(0, end), whole: true };
}

/** stillActive reports whether rows are shown as active that are not any more: their list has to be read again. */
export function hasEnded(rows: readonly RunRow[], active: readonly RunRow[]): boolean {
  const running = new Set(active.map((run) => run.runId));
  return rows.some((run) => run.status === "active" && !running.has(run.runId));
}
