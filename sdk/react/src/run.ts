import { outcome, type Client, type RunEvent, type RunStream, type StreamOptions, type SvcError } from "@svc/sdk";
import { Source } from "./source.js";

/** How a run stands: `loading` until something of it was read; then as its record says; `idle` where no run was named. */
export type RunStatus = "idle" | "loading" | "active" | "completed" | "errored";

/** How the stream of a run stands: `loading` until something was read, `connecting`, `live`, `closed` at its end; `error` for good. */
export type RunPhase = "idle" | "loading" | "connecting" | "live" | "closed" | "error";

/** RunState is a run at one moment. */
export interface RunState<Result = unknown> {
  readonly runId: string | undefined;
  readonly status: RunStatus;
  readonly phase: RunPhase;
  /** Its events so far, each once and in order. */
  readonly events: readonly RunEvent[];
  /** What it gave, where it is completed. */
  readonly result: Result | undefined;
  /** Why the run failed, where it is errored; else why it cannot be read, or why its stream is lost for now. */
  readonly error: unknown;
  /** Read on after an error, without waiting for the next attempt. */
  readonly refresh: () => void;
}

/** RunStore is one run as all components of a page share it. */
export class RunStore extends Source<RunState> {
  readonly #client: Client;
  readonly #runId: string;
  readonly #options: StreamOptions & { tail?: number | undefined };
  readonly #touch: () => void;
  readonly #events: RunEvent[] = [];
  #offset: string | undefined;
  #stream: RunStream | undefined;
  #reading: AbortController | undefined;
  #phase: RunPhase = "loading";
  #trouble: unknown;

  constructor(client: Client, runId: string, options: StreamOptions & { tail?: number | undefined }, touch: () => void) {
    super();
    this.#client = client;
    this.#runId = runId;
    this.#options = options;
    this.#touch = touch;
    this.update();
  }

  get idle(): boolean {
    return !this.working;
  }

  refresh = (): void => {
    if (this.#trouble === undefined) return;
    this.#leave();
    this.#phase = this.#events.length > 0 ? "connecting" : "loading";
    this.#trouble = undefined;
    this.now();
    if (this.working) this.#read();
  };

  protected begin(): void {
    this.#touch();
    if (this.#phase !== "closed" && this.#phase !== "error") this.#read();
  }

  protected end(): void {
    this.#leave();
    if (this.#phase === "live") this.#phase = "connecting";
    this.#touch();
  }

  /** leave ends the reading that goes on; the next begins where it was. */
  #leave(): void {
    this.#reading?.abort();
    this.#offset = this.#stream?.offset ?? this.#offset;
  }

  #read(): void {
    const reading = (this.#reading = new AbortController());
    void this.#follow(reading.signal).catch((error: unknown) => {
      if (!reading.signal.aborted) this.#stands("error", error);
    });
  }

  /** follow reads to the end of the run. To read again is to go on behind the last whole batch; what it had of the next is known. */
  async #follow(signal: AbortSignal): Promise<void> {
    const from = { ...this.#options, offset: this.#offset, signal, onHealth: this.#health };
    const stream = (this.#stream = this.#client.runs.stream(this.#runId, from));
    for await (const event of stream) {
      if (event.eventIndex <= (this.#events.at(-1)?.eventIndex ?? -1)) continue;
      this.#events.push(event);
      this.soon();
    }
    if (!signal.aborted) this.#stands("closed", undefined);
  }

  #health = (failure: SvcError | undefined): void => {
    if (!failure) this.#stands("live", undefined);
    else this.#stands(this.#phase === "loading" ? "loading" : "connecting", failure);
  };

  #stands(phase: RunPhase, trouble: unknown): void {
    if (this.#phase === phase && this.#trouble === trouble) return;
    this.#phase = phase;
    this.#trouble = trouble;
    this.soon();
  }

  protected update(): void {
    const before = this.getSnapshot() as RunState | undefined;
    const events = before?.events.length === this.#events.length ? before.events : [...this.#events];
    const last = events.at(-1);
    const facts = { runId: this.#runId, phase: this.#phase, events, refresh: this.refresh };
    if (last?.type !== "run_end") {
      const status = this.#phase === "loading" || (this.#phase === "error" && events.length === 0) ? "loading" : "active";
      return this.show({ ...facts, status, result: undefined, error: this.#trouble });
    }
    if (before && before.status !== "active" && before.status !== "loading") return this.show({ ...before, ...facts });
    this.show({ ...facts, ...this.#ended(last) });
  }

  #ended(end: Extract<RunEvent, { type: "run_end" }>): Pick<RunState, "status" | "result" | "error"> {
    try {
      return { status: "completed", result: outcome(this.#runId, end).result, error: undefined };
    } catch (error) {
      return { status: "errored", result: undefined, error };
    }
  }
}

/** NoRun is what there is where no run was named. */
export class NoRun extends Source<RunState> {
  constructor() {
    super();
    this.show({ runId: undefined, status: "idle", phase: "idle", events: [], result: undefined, error: undefined, refresh: () => {} });
  }

  protected begin(): void {}
  protected end(): void {}
  protected update(): void {}
}
