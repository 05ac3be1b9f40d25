import type { Submission } from "@svc/sdk";

/** Dispatched work ends without a word in the stream: while there is some, the service is asked so often. */
const again = 3_000;

/** Queue is the work of an instance that is not settled, as the service said when it was asked last. No stream tells it. */
export class Queue {
  items: readonly Submission[] = [];
  /** Whether the service was asked. */
  known = false;
  /** A submission that is over, though the stream does not say so. */
  over: string | undefined;
  readonly #list: (signal: AbortSignal) => Promise<readonly Submission[]>;
  readonly #current: () => string | undefined;
  readonly #changed: () => void;
  #asking: AbortController | undefined;
  #again = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** current is the submission in question: when it was known before the service was asked, and is not in the answer, it is over. */
  constructor(list: (signal: AbortSignal) => Promise<readonly Submission[]>, current: () => string | undefined, changed: () => void) {
    this.#list = list;
    this.#current = current;
    this.#changed = changed;
  }

  has(submissionId: string): boolean {
    return this.items.some((item) => item.submissionId === submissionId);
  }

  ask(): void {
    clearTimeout(this.#timer);
    if (this.#asking) this.#again = true;
    else void this.#run((this.#asking = new AbortController()));
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#asking?.abort();
    this.#asking = undefined;
    this.#again = false;
  }

  async #run(asking: AbortController): Promise<void> {
    const current = this.#current();
    const items = await this.#list(asking.signal).catch(() => undefined); // it is asked again when the stream is back
    if (this.#asking !== asking) return;
    this.#asking = undefined;
    this.known = true;
    if (items) this.items = items;
    if (items && current !== undefined && !this.has(current)) this.over = current;
    if (this.#again) {
      this.#again = false;
      this.ask();
    } else if (items?.some((item) => item.kind === "dispatch")) {
      this.#timer = setTimeout(() => this.ask(), again);
    }
    this.#changed();
  }
}
