import type { SvcError } from "./error.js";
import type { Timing } from "./timing.js";

/** How a stream is read. */
export type Live = "auto" | "sse" | "long-poll" | false;

/** Trip is what is known of a connection that has ended. */
export interface Trip {
  readonly opened: boolean;
  readonly moved: boolean;
  lasted(): number;
}

/** So many streams that ended at once and brought nothing are no accident. */
const shortTrips = 3;

/** Route decides how to read next. Proxies that hold streams back are found by their silence, and by cutting at once. */
export class Route {
  readonly #live: Live;
  readonly #timing: Timing;
  #detour = 0; // until then it is long-poll
  #penalty: number;
  #short = 0;

  constructor(live: Live, timing: Timing) {
    this.#live = live;
    this.#timing = timing;
    this.#penalty = timing.sseAgain;
  }

  way(): "sse" | "long-poll" | "page" {
    if (this.#live === false) return "page";
    if (this.#live !== "auto") return this.#live;
    return Date.now() < this.#detour ? "long-poll" : "sse";
  }

  /** went learns from a connection. */
  went(way: string, trip: Trip, failure: SvcError | undefined): void {
    if (way !== "sse") return;
    const short = trip.opened && !trip.moved && trip.lasted() < 1_000;
    this.#short = short ? this.#short + 1 : 0;
    // Heartbeats came through: it works here.
    if (trip.lasted() > this.#timing.idle && failure?.type !== "stalled") this.#penalty = this.#timing.sseAgain;
    if (failure?.type !== "stalled" && this.#short < shortTrips) return;
    this.#short = 0;
    this.#detour = Date.now() + this.#penalty;
    this.#penalty = Math.min(this.#penalty * 2, this.#timing.sseAgainMax);
  }
}
