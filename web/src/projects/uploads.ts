import { useSyncExternalStore } from "react";
import { SvcError } from "@svc/sdk";
import { wantsProof } from "../server/act";
import { writeContent, type Condition } from "../server/content";

/** Upload is a file on its way into a project. */
export interface Upload {
  readonly id: number;
  /** The project, as `username/business/slug`. */
  readonly project: string;
  readonly path: string;
  readonly size: number;
  readonly sent: number;
  readonly startedAt: number;
  readonly state: "waiting" | "sending" | "done" | "taken" | "failed";
  readonly error?: SvcError;
}

/** Chosen is a file that somebody picked or dropped, and where it goes. */
export interface Chosen {
  readonly file: File;
  readonly path: string;
}

/** Bound is what an upload needs of the page that began it. */
export interface Bound {
  readonly project: string;
  readonly addressOf: (path: string) => string;
  /** Asks who the person is, when their session has ended. */
  readonly prove: (refusal: SvcError) => Promise<boolean>;
  /** Told when a file has arrived. */
  readonly onArrival: () => void;
}

interface Job {
  readonly chosen: Chosen;
  readonly bound: Bound;
  condition: Condition;
  readonly ending: AbortController;
}

/** So many go at once: more would only share the same line. */
const atOnce = 2;

// Uploads outlive the page that began them: whoever looks at something else meanwhile loses nothing.
let all: readonly Upload[] = [];
const jobs = new Map<number, Job>();
const listeners = new Set<() => void>();
let last = 0;

function tell(next: readonly Upload[]): void {
  all = next;
  for (const listener of listeners) listener();
}

function change(id: number, part: Partial<Upload>): void {
  tell(all.map((upload) => (upload.id === id ? { ...upload, ...part } : upload)));
}

/** useUploads are those of a project, the first first. */
export function useUploads(project: string): readonly Upload[] {
  const uploads = useSyncExternalStore(subscribe, () => all);
  return uploads.filter((upload) => upload.project === project);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** upload begins with files. What is there already is not replaced before somebody says so. */
export function upload(chosen: readonly Chosen[], bound: Bound): void {
  const added = chosen.map((each): Upload => {
    const id = ++last;
    jobs.set(id, { chosen: each, bound, condition: "new", ending: new AbortController() });
    return { id, project: bound.project, path: each.path, size: each.file.size, sent: 0, startedAt: 0, state: "waiting" };
  });
  tell([...all, ...added]);
  proceed();
}

/** again tries an upload once more; replacing what is there, where that was in the way. */
export function again(id: number, replace = false): void {
  const job = jobs.get(id);
  if (!job) return;
  if (replace) job.condition = "any";
  tell(all.map((upload) => (upload.id === id ? fresh(upload) : upload)));
  proceed();
}

function fresh({ error: _, ...upload }: Upload): Upload {
  return { ...upload, state: "waiting", sent: 0 };
}

/** drop forgets an upload. One that is on its way is broken off: nobody sees a part of it. */
export function drop(id: number): void {
  jobs.get(id)?.ending.abort();
  jobs.delete(id);
  tell(all.filter((upload) => upload.id !== id));
  proceed();
}

/** dropDone forgets what has arrived. */
export function dropDone(project: string): void {
  tell(all.filter((upload) => upload.project !== project || upload.state !== "done"));
}

function proceed(): void {
  const busy = all.filter((upload) => upload.state === "sending").length;
  for (const next of all.filter((upload) => upload.state === "waiting").slice(0, Math.max(0, atOnce - busy))) void send(next.id);
}

async function send(id: number): Promise<void> {
  const job = jobs.get(id);
  if (!job) return;
  const { chosen, bound, ending } = job;
  change(id, { state: "sending", startedAt: Date.now(), sent: 0 });
  const attempt = (): Promise<string> =>
    writeContent({ address: bound.addressOf(chosen.path), body: chosen.file, condition: job.condition, signal: ending.signal, onProgress: (sent) => change(id, { sent: Math.min(sent, chosen.file.size) }) });
  try {
    await proven(attempt, bound.prove);
    jobs.delete(id);
    change(id, { state: "done", sent: chosen.file.size });
    bound.onArrival();
  } catch (thrown) {
    if (!ending.signal.aborted) change(id, refused(thrown));
  }
  proceed();
}

async function proven<T>(attempt: () => Promise<T>, prove: Bound["prove"]): Promise<T> {
  try {
    return await attempt();
  } catch (thrown) {
    if (!(thrown instanceof SvcError) || !wantsProof(thrown) || !(await prove(thrown))) throw thrown;
    return attempt();
  }
}

function refused(thrown: unknown): Partial<Upload> {
  const error = thrown instanceof SvcError ? thrown : new SvcError({ type: "internal_error", message: "This file could not be read." });
  return error.status === 412 ? { state: "taken" } : { state: "failed", error };
}

/** secondsLeft is how long the rest takes at the pace so far; undefined: it is too early to tell. */
export function secondsLeft(upload: Pick<Upload, "sent" | "size" | "startedAt">, now: number): number | undefined {
  const passed = (now - upload.startedAt) / 1000;
  if (passed < 1 || upload.sent === 0) return undefined;
  return Math.ceil(((upload.size - upload.sent) * passed) / upload.sent);
}

// Leaving would break off what is on its way.
if (typeof addEventListener === "function") {
  addEventListener("beforeunload", (event) => {
    if (all.some((upload) => upload.state === "sending" || upload.state === "waiting")) event.preventDefault();
  });
}
