import { SvcError } from "./error.js";
import { onHidden } from "./page.js";
import { longestTimer, unless } from "./timing.js";

/** Attempt is one request and its answer: it ends with the caller's signal, after too much silence, and when the page is hidden. */
export class Attempt {
  /** Whether the page was hidden meanwhile. */
  hid = false;
  /** Whether a stream began. */
  opened = false;
  /** Whether the reader got further. */
  moved = false;
  readonly #begun = Date.now();
  readonly #controller = new AbortController();
  readonly #release: () => void;
  #silent = false;

  constructor(outer: AbortSignal | undefined, pauses: boolean) {
    const stop = (): void => this.#controller.abort(outer?.reason);
    const hide = (): void => {
      this.hid = true;
      this.#controller.abort();
    };
    if (outer?.aborted) stop();
    outer?.addEventListener("abort", stop);
    const seen = pauses ? onHidden(hide) : undefined;
    this.#release = () => {
      outer?.removeEventListener("abort", stop);
      seen?.();
    };
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  lasted(): number {
    return Date.now() - this.#begun;
  }

  /** end lets go of the connection, if it is still there. */
  end(): void {
    this.#release();
    this.#controller.abort();
  }

  /** failure is why the attempt ended. Silence was told by an abort, which runtimes word as they like. */
  failure(thrown: unknown, idempotencyKey?: string): SvcError {
    if (this.#silent) return new SvcError({ type: "stalled", message: "Nothing came for too long.", idempotencyKey });
    if (thrown instanceof SvcError) return thrown;
    return new SvcError({ type: "network_error", message: "The connection broke.", idempotencyKey, cause: thrown });
  }

  /** watch ends the attempt after so much silence, until it is told that there was none. */
  watch(ms: number): () => void {
    if (ms > longestTimer) return () => {};
    const timer = setTimeout(() => {
      this.#silent = true;
      this.#controller.abort();
    }, ms);
    return () => clearTimeout(timer);
  }

  /** bytes are the body of an answer. A reader who takes long is not taken for silence. */
  async *bytes(response: Response, patience: () => number): AsyncGenerator<Uint8Array, void, void> {
    const reader = response.body?.getReader();
    while (reader) {
      const heard = this.watch(patience());
      const { done, value } = await unless(this.signal, reader.read()).finally(heard);
      if (done) return;
      yield value;
    }
  }

  async text(response: Response, patience: number): Promise<string> {
    const decoder = new TextDecoder();
    let text = "";
    for await (const bytes of this.bytes(response, () => patience)) text += decoder.decode(bytes, { stream: true });
    return text + decoder.decode();
  }

  async blob(response: Response, patience: number): Promise<Blob> {
    const parts: Uint8Array[] = [];
    for await (const bytes of this.bytes(response, () => patience)) parts.push(bytes);
    return new Blob(parts as BlobPart[], { type: response.headers.get("content-type") ?? "" });
  }
}
