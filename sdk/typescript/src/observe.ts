import { dresser, history, instance, updatesUrl } from "./agents.js";
import type { Connection } from "./connection.js";
import { SvcError, isTransient } from "./error.js";
import { Projection } from "./projection.js";
import { read, type StreamOptions } from "./stream.js";
import { Pace, pause } from "./timing.js";
import type { Chunk, Conversation, Message, Settlement } from "./types.js";

/**
 * How an observation stands: `loading` until there is a history, `connecting` while there is no stream, `live`; `absent` until
 * somebody writes the first message; `error` where asking again does not help; `closed` for good.
 */
export type Phase = "loading" | "connecting" | "live" | "absent" | "error" | "closed";

/** ConversationState is a conversation at one moment. It never changes; finished messages are the same objects in the next. */
export interface ConversationState {
  readonly phase: Phase;
  readonly conversationId: string | undefined;
  readonly messages: readonly Message[];
  readonly settlements: readonly Settlement[];
  /** Everything up to here is in `messages`, and nothing behind it. */
  readonly offset: string | undefined;
  /** What went wrong last: for good where the phase is `error`, else until the stream is back. */
  readonly error: unknown;
}

export interface ObserveOptions extends StreamOptions {
  /** A state that was kept, to go on from without asking for the history. */
  from?: Conversation | undefined;
  /**
   * Nobody has written in it yet: it is not asked for until something is sent there, or it is refreshed. Where this client sent
   * anything while nobody listened, it is asked for when somebody listens again.
   */
  fresh?: boolean | undefined;
  /**
   * Given each update, before the state that has it. The next one waits for it, and what it throws ends the observation: its
   * batch counts as not delivered. An observation that has one reads from the start, others while somebody listens.
   */
  onUpdate?: ((chunk: Chunk) => void | Promise<void>) | undefined;
}

/**
 * Observation is a conversation that follows the service: an external store, as `useSyncExternalStore` wants one, and an
 * async iterable of its states. It reads while somebody listens, and goes on where it was when somebody listens again.
 */
export interface Observation extends AsyncIterable<ConversationState> {
  getSnapshot: () => ConversationState;
  subscribe: (listener: () => void) => () => void;
  /** Read the history anew, also after an error and where there was no conversation. */
  refresh: () => void;
  close: () => void;
}

/** observe follows the conversation of an agent instance. */
export function observe(connection: Connection, name: string, id: string, options: ObserveOptions = {}): Observation {
  return new Watch(connection, name, id, options);
}

class Watch implements Observation {
  readonly #connection: Connection;
  readonly #name: string;
  readonly #id: string;
  readonly #options: ObserveOptions;
  readonly #listeners = new Set<() => void>();
  readonly #dress: (message: Message) => Message;
  #state: ConversationState;
  #fresh: boolean; // nobody has written yet
  #prompts: number; // prompts of the connection that it was told of
  #projection: Projection | undefined;
  #reading: AbortController | undefined; // while somebody listens
  #round: AbortController | undefined; // until it is refreshed

  constructor(connection: Connection, name: string, id: string, options: ObserveOptions) {
    this.#connection = connection;
    this.#name = name;
    this.#id = id;
    this.#options = options;
    this.#dress = dresser(connection, name, id);
    this.#fresh = options.fresh ?? false;
    this.#prompts = connection.prompts;
    this.#state = { ...empty, phase: this.#fresh ? "absent" : "loading", error: undefined };
    if (options.from) this.#adopt(options.from);
    options.signal?.addEventListener("abort", this.close);
    if (options.signal?.aborted) this.close();
    else if (options.onUpdate) this.subscribe(() => {});
  }

  getSnapshot = (): ConversationState => this.#state;

  subscribe = (listener: () => void): (() => void) => {
    const own = (): void => listener(); // the same function may listen twice
    if (!this.#reading && this.#state.phase !== "closed") this.#begin();
    this.#listeners.add(own);
    return () => {
      this.#listeners.delete(own);
      // Whoever listens again at once, as components do, finds the connection as it was.
      queueMicrotask(() => {
        if (this.#listeners.size === 0) this.#end();
      });
    };
  };

  refresh = (): void => {
    this.#fresh = false;
    this.#projection = undefined;
    this.#round?.abort();
  };

  close = (): void => {
    this.#options.signal?.removeEventListener("abort", this.close);
    this.#end();
    this.#show({ phase: "closed" });
    this.#listeners.clear();
  };

  async *[Symbol.asyncIterator](): AsyncGenerator<ConversationState, void, void> {
    let wake = (): void => {};
    const stop = this.subscribe(() => wake());
    try {
      for (let shown: ConversationState | undefined; ; ) {
        const state = this.#state;
        if (state === shown) {
          await new Promise<void>((resolve) => (wake = resolve));
          continue;
        }
        if (state.phase === "error") throw state.error;
        yield (shown = state);
        if (state.phase === "closed") return;
      }
    } finally {
      stop();
    }
  }

  #begin(): void {
    const reading = (this.#reading = new AbortController());
    const path = instance(this.#name, this.#id);
    // A prompt of which it was not told, since nobody listened, may be of this conversation.
    if (this.#prompts !== this.#connection.prompts) this.#fresh = false;
    const tell = (prompted: string): void => {
      this.#prompts = this.#connection.prompts;
      // An answer that is on its way may be older.
      if (prompted === path && !this.#projection) this.refresh();
    };
    this.#connection.prompted.add(tell);
    if (this.#state.phase === "error") this.#show({ phase: this.#waiting(), error: undefined });
    void this.#run(reading.signal).finally(() => this.#connection.prompted.delete(tell));
  }

  #end(): void {
    this.#reading?.abort();
    this.#reading = undefined;
    this.#round?.abort();
    if (this.#state.phase === "live") this.#show({ phase: "connecting" });
  }

  /** run reads round after round until nobody listens. */
  async #run(signal: AbortSignal): Promise<void> {
    const pace = new Pace(this.#connection.timing);
    while (!signal.aborted) {
      const round = (this.#round = new AbortController());
      if (this.#fresh) await this.#rest({}, round.signal);
      if (round.signal.aborted) continue;
      try {
        const projection = (this.#projection ??= await this.#hydrate(round.signal));
        await this.#follow(projection, pace, round.signal);
      } catch (error) {
        if (signal.aborted) return;
        if (!round.signal.aborted) await this.#after(error, pace, round.signal).catch(() => {});
      }
    }
  }

  /** after decides what comes of a round that failed. */
  async #after(error: unknown, pace: Pace, signal: AbortSignal): Promise<void> {
    const refused = error instanceof SvcError ? error : undefined;
    const known = this.#projection !== undefined;
    const gone = refused?.status === 410 || (known && refused?.type === "stream_not_found");
    if (gone) this.#projection = undefined; // what is known is of another time
    else if (refused?.type === "stream_not_found") return this.#rest({ ...empty, phase: "absent", error: undefined }, signal);
    else if (!isTransient(error)) return this.#rest({ phase: "error", error }, signal);
    this.#show({ phase: this.#waiting(), error });
    await pause(pace.next(refused?.retryAfter), signal);
  }

  /** rest waits until it is refreshed, or nobody listens. */
  #rest(state: Partial<ConversationState>, signal: AbortSignal): Promise<void> {
    this.#show(state);
    return new Promise((resolve) => (signal.aborted ? resolve() : signal.addEventListener("abort", () => resolve())));
  }

  async #hydrate(signal: AbortSignal): Promise<Projection> {
    if (this.#state.phase === "absent" || this.#state.phase === "error") this.#show({ phase: this.#waiting(), error: undefined });
    const snapshot = await history(this.#connection, this.#name, this.#id, { signal });
    signal.throwIfAborted();
    return this.#adopt(snapshot);
  }

  #adopt(snapshot: Conversation): Projection {
    const projection = (this.#projection = new Projection(snapshot, this.#dress));
    this.#show({ ...projection.view(), phase: "connecting", offset: snapshot.offset, error: undefined });
    return projection;
  }

  #waiting(): Phase {
    return this.#state.offset === undefined ? "loading" : "connecting";
  }

  /** follow applies updates, batch by batch: the offset moves with the state that has all of its updates. */
  async #follow(projection: Projection, pace: Pace, signal: AbortSignal): Promise<void> {
    const { onUpdate } = this.#options;
    const onTrouble = (error: SvcError): void => this.#show({ phase: "connecting", error });
    const url = updatesUrl(this.#connection, this.#name, this.#id);
    const reading = { ...this.#options, live: this.#options.live || "auto", url, offset: this.#state.offset!, signal, onTrouble };
    for await (const batch of read(this.#connection, reading)) {
      const chunks = batch.items as Chunk[];
      if (onUpdate) for (const chunk of chunks) await onUpdate(chunk);
      signal.throwIfAborted();
      for (const chunk of chunks) projection.apply(chunk);
      pace.reset();
      this.#show({ ...projection.view(), phase: "live", offset: batch.offset, error: undefined });
    }
    throw new SvcError({ type: "bad_response", message: "The stream of a conversation has ended." });
  }

  /** show makes a new state of what differs, and tells those who listen. */
  #show(change: Partial<ConversationState>): void {
    const old = this.#state;
    const next = { ...old, ...change };
    if ((Object.keys(next) as (keyof ConversationState)[]).every((key) => next[key] === old[key])) return;
    this.#state = next;
    for (const listener of [...this.#listeners]) tell(listener);
  }
}

/** empty is what is known of a conversation that is not there. */
const empty = { conversationId: undefined, messages: [], settlements: [], offset: undefined } as const;

/** tell calls a listener. What it throws is its own affair, and ends no stream. */
function tell(listener: () => void): void {
  try {
    listener();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
