/** The times of a client, in milliseconds. The defaults suit the service; tests and odd networks have others. */
export interface Timing {
  /** The longest first pause after a failure; each further one is at most twice as long. Default 100. */
  backoff: number;
  /** The longest pause. Default 30,000. */
  backoffMax: number;
  /** The pauses, in all, of one question whose answer does not come. Default 30,000. */
  patience: number;
  /** How soon the first byte of a stream must come; later, something on the way holds it back. Default 5,000. */
  firstByte: number;
  /** How long a stream may be silent: the service sends something every 15 seconds. Default 45,000. */
  idle: number;
  /** How long a long-poll may take: the service answers after 30 seconds. Default 60,000. */
  poll: number;
  /** When server-sent events are tried again after they were held back; twice as long each time. Default 60,000. */
  sseAgain: number;
  /** The longest time without a try. Default 1,800,000. */
  sseAgainMax: number;
}

export const timings: Timing = {
  backoff: 100,
  backoffMax: 30_000,
  patience: 30_000,
  firstByte: 5_000,
  idle: 45_000,
  poll: 60_000,
  sseAgain: 60_000,
  sseAgainMax: 1_800_000,
};

/** The longest time of a timer: one that is set to more ends at once. */
export const longestTimer = 2 ** 31 - 1;

/** Pace is how long to wait between attempts. */
export class Pace {
  readonly #timing: Timing;
  #failures = 0;

  constructor(timing: Timing) {
    this.#timing = timing;
  }

  reset(): void {
    this.#failures = 0;
  }

  /** next is the pause before the next attempt: by chance, so that those who were cut off together do not come back together. */
  next(atLeast = 0): number {
    const most = Math.min(this.#timing.backoffMax, this.#timing.backoff * 2 ** this.#failures++);
    return atLeast + Math.random() * most;
  }
}

/** pause waits, but no longer than until the network is back. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      globalThis.removeEventListener?.("online", done);
      if (signal?.aborted) reject(signal.reason);
      else resolve();
    };
    const timer = setTimeout(done, Math.min(ms, longestTimer));
    signal?.addEventListener("abort", done);
    globalThis.addEventListener?.("online", done);
  });
}

/** unless gives up on a promise when a signal is aborted. */
export function unless<T>(signal: AbortSignal | undefined, promise: Promise<T>): Promise<T> {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop);
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}
