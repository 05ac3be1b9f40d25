import { newKey, SvcError, type Client } from "@svc/sdk";
import { Source } from "./source.js";

/** LaunchState is what is known of a run that was asked for. */
export interface LaunchState {
  readonly starting: boolean;
  readonly runId: string | undefined;
  /** Why there is no run. */
  readonly error: unknown;
  readonly start: (input?: unknown) => Promise<string | undefined>;
  readonly retry: () => Promise<string | undefined>;
}

/** Launch starts runs of a workflow. The newest counts. */
export class Launch extends Source<LaunchState> {
  readonly #client: Client;
  readonly #name: string;
  #wish: { input: unknown; idempotencyKey: string } | undefined;
  #starting = false;
  #runId: string | undefined;
  #error: unknown;

  constructor(client: Client, name: string) {
    super();
    this.#client = client;
    this.#name = name;
    this.update();
  }

  start = (input?: unknown): Promise<string | undefined> => this.#invoke({ input, idempotencyKey: newKey() });

  /** retry asks for the same run, so that one whose answer was lost is not started twice. */
  retry = async (): Promise<string | undefined> => (this.#wish && !this.#starting && this.#error ? this.#invoke(this.#wish) : undefined);

  async #invoke(wish: { input: unknown; idempotencyKey: string }): Promise<string | undefined> {
    this.#wish = wish;
    this.#stands(true, undefined, undefined);
    try {
      const { runId } = await this.#client.workflows.invoke(this.#name, wish);
      if (this.#wish === wish) this.#stands(false, runId, undefined);
      return runId;
    } catch (error) {
      if (this.#wish === wish) this.#stands(false, undefined, error);
      if (!(error instanceof SvcError)) throw error;
      return undefined;
    }
  }

  #stands(starting: boolean, runId: string | undefined, error: unknown): void {
    this.#starting = starting;
    this.#runId = runId;
    this.#error = error;
    this.now();
  }

  protected begin(): void {}
  protected end(): void {}
  protected update(): void {
    this.show({ starting: this.#starting, runId: this.#runId, error: this.#error, start: this.start, retry: this.retry });
  }
}
