import type { SvcError } from "@svc/sdk";
import type { Status } from "../kit/StatusTag";

/** RunRow is a run as lists have it. */
export interface RunRow {
  readonly runId: string;
  readonly workflowName: string;
  readonly status: string;
  readonly startedAt: string;
  readonly endedAt?: string | undefined;
  readonly durationMs?: number | undefined;
  readonly scope: string;
  readonly startedBy?: string | undefined;
  readonly error?: { readonly name?: string | undefined; readonly message?: string | undefined } | undefined;
}

/** The fixed names of errors that the service gives a run, and what a person is told of them. */
const told: Readonly<Record<string, string>> = {
  RunInterrupted: "It was interrupted ten times without getting further, and was given up.",
  RunDefinitionChanged: "The workflow has changed since it began, and cannot go on from what is recorded.",
};

/** statusOf is how a run stands, in the interface's words: one that was cancelled is stopped, and did not fail. */
export function statusOf(run: Pick<RunRow, "status" | "error">): Status {
  if (run.status === "active") return "running";
  if (run.status === "completed") return "completed";
  if (run.status === "errored") return run.error?.name === "RunCancelled" ? "stopped" : "failed";
  return "unknown";
}

/** whyOf is why a run ended as it did. */
export function whyOf(run: Pick<RunRow, "status" | "error">): { name: string | undefined; message: string } | undefined {
  if (run.status !== "errored" || !run.error) return undefined;
  const name = run.error.name;
  if (name === "RunCancelled") return { name: undefined, message: run.error.message || "It was cancelled." };
  const message = (name && told[name]) || run.error.message || "No reason was given.";
  return { name: name && name !== "Error" ? name : undefined, message };
}

/** tookOf is how long a run took, or has taken so far; undefined: nobody knows. */
export function tookOf(run: RunRow, now: number): number | undefined {
  if (run.durationMs !== undefined) return run.durationMs;
  return run.status === "active" ? Math.max(0, now - Date.parse(run.startedAt)) : undefined;
}

/** shortId is enough of an id to tell runs of a list apart. */
export function shortId(runId: string): string {
  return `…${runId.slice(-4)}`;
}

/** middle is an id with its ends. */
export function middle(runId: string): string {
  return runId.length > 16 ? `${runId.slice(0, 10)}…${runId.slice(-4)}` : runId;
}

/** isRunId reports whether a text is the id of a run. */
export function isRunId(text: string): boolean {
  return /^run_[0-9A-HJKMNP-TV-Z]{26}$/.test(text.trim());
}

/** atMost are the ranges by which a list can be bounded, in milliseconds. */
export const ranges = { hour: 3_600_000, day: 86_400_000, week: 604_800_000 } as const;

export type Range = keyof typeof ranges;

export function rangeOf(text: unknown): Range | undefined {
  return text === "hour" || text === "day" || text === "week" ? text : undefined;
}

/** isGone reports whether an error says that something is not there. */
export function isGone(error: unknown): error is SvcError {
  return typeof error === "object" && error !== null && (error as { status?: unknown }).status === 404;
}
