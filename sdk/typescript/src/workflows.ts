import { newKey, type Connection } from "./connection.js";
import { SvcError } from "./error.js";
import { getRun, streamRun } from "./runs.js";
import type { StreamOptions } from "./stream.js";
import type { Run, RunEvent } from "./types.js";

export interface InvokeOptions {
  /** The input, any JSON. Without it the request has no body. */
  input?: unknown;
  /** Names this invocation: the same key and input again are the same run. Default: a new key. */
  idempotencyKey?: string | undefined;
  signal?: AbortSignal | undefined;
}

/** invoke starts a run. It is asked for again until it is admitted, and is admitted once. */
export async function invoke(connection: Connection, name: string, options?: InvokeOptions): Promise<{ runId: string }>;
/** With `wait` it answers with the run's result; a failed run is thrown as the service words it. */
export async function invoke<Result = unknown>(
  connection: Connection,
  name: string,
  options: InvokeOptions & { wait: "result" },
): Promise<{ runId: string; result: Result }>;
export async function invoke(connection: Connection, name: string, options: InvokeOptions & { wait?: "result" } = {}): Promise<{ runId: string }> {
  const { input, signal, idempotencyKey = newKey() } = options;
  const url = connection.url("workflows", name);
  if (options.wait) url.searchParams.set("wait", options.wait);
  const body = input === undefined ? {} : { body: JSON.stringify(input), contentType: "application/json" };
  return connection.json<{ runId: string }>({ method: "POST", url, ...body, idempotencyKey, signal, within: options.wait ? Infinity : undefined });
}

export interface RunOptions extends InvokeOptions, StreamOptions {
  /** Given each event of the run. The next one waits for it. */
  onEvent?: ((event: RunEvent) => void | Promise<void>) | undefined;
}

/** run starts a run, follows it to its end, and gives its result. A run that failed is thrown, with its id. */
export async function run<Result = unknown>(connection: Connection, name: string, options: RunOptions = {}): Promise<{ runId: string; result: Result }> {
  const { runId } = await invoke(connection, name, options);
  for await (const event of streamRun(connection, runId, options)) {
    await options.onEvent?.(event);
    if (event.type === "run_end") return outcome<Result>(runId, event);
  }
  return outcome<Result>(runId, await getRun(connection, runId, options));
}

const types: Record<string, string> = {
  RunCancelled: "run_cancelled",
  RunInterrupted: "run_interrupted",
  RunDefinitionChanged: "run_definition_changed",
};

/** outcome is what a run that has ended gave. One that failed is thrown, with its id. */
export function outcome<Result = unknown>(runId: string, end: Pick<Run, "isError" | "result" | "error">): { runId: string; result: Result } {
  if (end.isError === false) return { runId, result: end.result as Result };
  const { name = "Error", message = "The run failed." } = end.error ?? {};
  throw new SvcError({ type: types[name] ?? "run_failed", message, meta: { name }, runId });
}
