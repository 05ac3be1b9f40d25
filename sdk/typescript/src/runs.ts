import type { Connection } from "./connection.js";
import { SvcError } from "./error.js";
import { read, type StreamOptions } from "./stream.js";
import type { AskOptions } from "./agents.js";
import type { components } from "./generated/paths.js";
import type { Run, RunEvent } from "./types.js";

/** getRun is the record of a run. */
export async function getRun<Result = unknown>(connection: Connection, runId: string, options: AskOptions = {}): Promise<Run<Result>> {
  const url = connection.url("runs", runId);
  url.searchParams.set("meta", "");
  return connection.json<Run<Result>>({ method: "GET", url, signal: options.signal });
}

export interface EventsOptions {
  /** Where to begin: behind this offset, at `-1`, the start, or at `now`. Default `-1`. */
  offset?: string | undefined;
  /** Begin so many events before the end, in the place of the start. */
  tail?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** runEvents are the events of a run so far. They are read whether or not the page is seen. */
export async function runEvents(connection: Connection, runId: string, options: EventsOptions = {}): Promise<RunEvent[]> {
  const events: RunEvent[] = [];
  await streamRun(connection, runId, { ...options, live: false, pauseWhenHidden: false }).forEach((event) => void events.push(event));
  return events;
}

export interface RunStreamOptions extends StreamOptions, EventsOptions {
  /** Told how the stream stands: of every failure that passes, and of nothing when it is read. */
  onHealth?: ((failure: SvcError | undefined) => void) | undefined;
}

/**
 * RunStream is the events of a run, each once and in order. To read it again is to go on: behind the last event that was
 * handed over.
 */
export interface RunStream extends AsyncIterable<RunEvent> {
  /** Every event up to here was delivered. It moves with whole batches, once their last event has been dealt with. */
  readonly offset: string;
  /** Whether the run has ended, and all of it was delivered. */
  readonly closed: boolean;
  /** Call back for each event, one after the other, until the run ends. */
  forEach: (callback: (event: RunEvent) => void | Promise<void>) => Promise<void>;
  /** End every reading of it. */
  cancel: () => void;
}

/** streamRun follows the events of a run until it ends. */
export function streamRun(connection: Connection, runId: string, options: RunStreamOptions = {}): RunStream {
  return new Events(connection, runId, options);
}

class Events implements RunStream {
  offset: string;
  closed = false;
  readonly #connection: Connection;
  readonly #url: URL;
  readonly #options: RunStreamOptions;
  readonly #cancelled = new AbortController();
  #last = -1; // the index of the event that was handed over last

  constructor(connection: Connection, runId: string, options: RunStreamOptions) {
    this.#connection = connection;
    this.#options = options;
    this.offset = options.offset ?? "-1";
    this.#url = connection.url("runs", runId);
    if (options.tail !== undefined) this.#url.searchParams.set("tail", String(options.tail));
  }

  cancel = (): void => this.#cancelled.abort();

  forEach = async (callback: (event: RunEvent) => void | Promise<void>): Promise<void> => {
    for await (const event of this) await callback(event);
  };

  async *[Symbol.asyncIterator](): AsyncGenerator<RunEvent, void, void> {
    if (this.closed || this.#cancelled.signal.aborted) return;
    const own = new AbortController();
    const { signal } = this.#options;
    const stop = (): void => own.abort(signal?.reason);
    signal?.addEventListener("abort", stop);
    this.#cancelled.signal.addEventListener("abort", stop);
    if (signal?.aborted) stop();
    try {
      yield* this.#events(own.signal);
    } catch (error) {
      if (!this.#cancelled.signal.aborted) throw error;
    } finally {
      signal?.removeEventListener("abort", stop);
      this.#cancelled.signal.removeEventListener("abort", stop);
    }
  }

  async *#events(signal: AbortSignal): AsyncGenerator<RunEvent, void, void> {
    const { onHealth } = this.#options;
    const onTrouble = (failure: SvcError): void => onHealth?.(failure);
    for await (const batch of read(this.#connection, { ...this.#options, url: this.#url, offset: this.offset, signal, onTrouble })) {
      onHealth?.(undefined);
      for (const event of batch.items as RunEvent[]) {
        if (event.v !== 3) throw unsupported(event);
        if (event.eventIndex <= this.#last) continue;
        this.#last = event.eventIndex;
        yield event;
      }
      this.offset = batch.offset;
      this.closed = batch.closed;
    }
  }
}

function unsupported(event: { v: unknown }): SvcError {
  return new SvcError({
    type: "product_event_version_unsupported",
    message: "The events of this run are of a version that this package does not know.",
    meta: { storedVersion: event.v, supportedVersion: 3 },
  });
}

export interface ListRunsOptions {
  status?: "active" | "completed" | "errored" | undefined;
  workflow?: string | undefined;
  /** A part of a workflow's name. */
  q?: string | undefined;
  limit?: number | undefined;
  cursor?: string | undefined;
  signal?: AbortSignal | undefined;
}

export interface RunPage {
  items: components["schemas"]["RunItem"][];
  /** Where the list goes on; absent at its end. */
  nextCursor?: string;
}

/** listRuns are the runs of a workspace, the newest first. Only the product has this route: an embedded mount does not. */
export async function listRuns(connection: Connection, { signal, ...query }: ListRunsOptions = {}): Promise<RunPage> {
  const url = connection.url("runs");
  for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, String(value));
  return connection.json<RunPage>({ method: "GET", url, signal });
}
