import { Attempt } from "./attempt.js";
import type { Connection } from "./connection.js";
import { badResponse, isTransient, type SvcError } from "./error.js";
import { isHidden, untilVisible } from "./page.js";
import { Route, type Live } from "./route.js";
import { Frames } from "./sse.js";
import { Pace, pause } from "./timing.js";

/** StreamOptions are those of everything that reads a stream. */
export interface StreamOptions {
  /**
   * How to read: `auto` takes server-sent events, long-polls where something on the way holds those back, and tries again
   * later; `false` reads what there is, and ends. Default `auto`.
   */
  live?: Live | undefined;
  signal?: AbortSignal | undefined;
  /** Whether to let go of the connection while the page is hidden, and to go on when it is seen again. Default true. */
  pauseWhenHidden?: boolean | undefined;
}

/** Reading is a stream to read, and those who want to know how it goes. */
export interface Reading extends StreamOptions {
  url: URL;
  offset: string;
  /** Told of every failure that passes. */
  onTrouble?: (failure: SvcError) => void;
}

/** Batch is what lies between two offsets. The one who has all of its items may go on behind it. */
export interface Batch {
  items: unknown[];
  offset: string;
  upToDate: boolean;
  closed: boolean;
}

/**
 * read gives the batches of a stream, each whole and in order, over any number of connections. It ends when the stream is
 * closed, and throws what asking again does not mend. A batch counts as delivered when the next one is asked for: until then
 * a new connection begins before it.
 */
export async function* read(connection: Connection, reading: Reading): AsyncGenerator<Batch, void, void> {
  const { signal, onTrouble } = reading;
  const route = new Route(reading.live ?? "auto", connection.timing);
  const pace = new Pace(connection.timing);
  const at: Place = { url: reading.url, offset: reading.offset, cursor: undefined };
  for (;;) {
    const pauses = reading.pauseWhenHidden !== false;
    if (pauses && isHidden()) await untilVisible(signal);
    const attempt = new Attempt(signal, pauses);
    const way = at.offset === "now" ? "page" : route.way();
    let failure: SvcError | undefined;
    try {
      for await (const batch of way === "sse" ? follow(connection, attempt, at) : ask(connection, attempt, at, way)) {
        yield batch;
        attempt.moved ||= batch.offset !== at.offset;
        at.offset = batch.offset;
        if (batch.closed || (reading.live === false && batch.upToDate)) return;
      }
    } catch (thrown) {
      signal?.throwIfAborted();
      if (attempt.hid) continue;
      failure = attempt.failure(thrown);
      if (!isTransient(failure)) throw failure;
      onTrouble?.(failure);
    } finally {
      attempt.end();
    }
    if (attempt.moved || attempt.lasted() >= 5_000) pace.reset();
    route.went(way, attempt, failure);
    // A stream that has more, and a long-poll that waited, are asked again at once.
    if (failure || way === "sse" || !(attempt.moved || attempt.lasted() >= 1_000)) await pause(pace.next(failure?.retryAfter), signal);
  }
}

/** Place is where a reader stands. */
interface Place {
  readonly url: URL;
  offset: string;
  cursor: string | undefined;
}

function address(at: Place, live: string | undefined): URL {
  const url = new URL(at.url);
  url.searchParams.set("offset", at.offset);
  if (live) url.searchParams.set("live", live);
  if (live && at.cursor) url.searchParams.set("cursor", at.cursor);
  return url;
}

/** ask reads one page, and waits for it where the way is long-poll. */
async function* ask(connection: Connection, attempt: Attempt, at: Place, way: "page" | "long-poll"): AsyncGenerator<Batch, void, void> {
  const { poll, idle } = connection.timing;
  const url = address(at, way === "page" ? undefined : way);
  const response = await connection.open({ method: "GET", url, signal: attempt.signal, watch: () => attempt.watch(poll) });
  const text = await attempt.text(response, idle);
  const offset = response.headers.get("stream-next-offset");
  // From another origin a page sees only the headers that the service exposes.
  if (!offset) throw badResponse(response, "The answer has no Stream-Next-Offset, or does not expose it.");
  at.cursor = response.headers.get("stream-cursor") ?? undefined;
  yield {
    items: items(response, text),
    offset,
    upToDate: response.headers.has("stream-up-to-date"),
    closed: response.headers.get("stream-closed")?.toLowerCase() === "true",
  };
}

/** follow reads server-sent events. Data counts when the control frame behind it has come. */
async function* follow(connection: Connection, attempt: Attempt, at: Place): AsyncGenerator<Batch, void, void> {
  const { firstByte, idle } = connection.timing;
  const [method, accept, url] = ["GET", "text/event-stream", address(at, "sse")] as const;
  const response = await connection.open({ method, url, accept, signal: attempt.signal, watch: () => attempt.watch(firstByte) });
  if (!response.headers.get("content-type")?.includes(accept)) throw badResponse(response, "The answer is no stream.");
  const frames = new Frames();
  let pending: unknown[] = [];
  for await (const bytes of attempt.bytes(response, () => (attempt.opened ? idle : firstByte))) {
    attempt.opened = true;
    for (const frame of frames.push(bytes)) {
      if (frame.event === "data") pending = pending.concat(items(response, frame.data));
      if (frame.event !== "control") continue;
      const control = json(response, frame.data) as { streamNextOffset?: unknown; upToDate?: unknown; streamClosed?: unknown } | null;
      if (typeof control?.streamNextOffset !== "string") throw badResponse(response, "A control frame has no offset.");
      const batch = pending;
      pending = [];
      yield { items: batch, offset: control.streamNextOffset, upToDate: control.upToDate === true, closed: control.streamClosed === true };
    }
  }
}

/** items are those of a body or frame. */
function items(response: Response, text: string): unknown[] {
  if (text === "") return [];
  const value = json(response, text);
  return Array.isArray(value) ? value : [value];
}

function json(response: Response, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw badResponse(response, "A part of the stream is not JSON.");
  }
}
