// A service that the test plays itself: what fetch is asked, and what it answers.
import { setImmediate as immediate } from "node:timers/promises";
import type { TestContext } from "node:test";

export interface Asked {
  method: string;
  url: URL;
  headers: Headers;
  body: string;
  signal: AbortSignal | undefined;
  at: number;
}

/** Fake answers each request as the test says, and keeps what was asked. */
export class Fake {
  readonly asked: Asked[] = [];
  readonly #answer: (asked: Asked, n: number) => Response | Promise<Response>;

  constructor(answer: (asked: Asked, n: number) => Response | Promise<Response>) {
    this.#answer = answer;
  }

  fetch: typeof globalThis.fetch = async (input, init) => {
    const asked: Asked = {
      method: init?.method ?? "GET",
      url: new URL(String(input)),
      headers: new Headers(init?.headers),
      body: typeof init?.body === "string" ? init.body : "",
      signal: init?.signal ?? undefined,
      at: Date.now(),
    };
    asked.signal?.throwIfAborted();
    this.asked.push(asked);
    return this.#answer(asked, this.asked.length - 1);
  };

  /** last is what was asked last. */
  get last(): Asked {
    return this.asked.at(-1)!;
  }
}

/** Wire is the body of an answer, written piece by piece. */
export class Wire {
  readonly #encoder = new TextEncoder();
  #controller!: ReadableStreamDefaultController<Uint8Array>;
  readonly #body: ReadableStream<Uint8Array>;
  #open = true;

  constructor(signal?: AbortSignal) {
    this.#body = new ReadableStream({
      start: (controller) => void (this.#controller = controller),
      cancel: () => void (this.#open = false),
    });
    signal?.addEventListener("abort", () => this.break(signal.reason));
  }

  get open(): boolean {
    return this.#open;
  }

  send(...frames: string[]): this {
    if (this.#open) for (const frame of frames) this.#controller.enqueue(this.#encoder.encode(frame));
    return this;
  }

  end(): this {
    if (this.#open) this.#controller.close();
    this.#open = false;
    return this;
  }

  break(reason: unknown = new TypeError("terminated")): this {
    if (this.#open) this.#controller.error(reason);
    this.#open = false;
    return this;
  }

  sse(): Response {
    return new Response(this.#body, { headers: { "content-type": "text/event-stream" } });
  }

  json(headers: Record<string, string> = {}): Response {
    return new Response(this.#body, { headers: { "content-type": "application/json", ...headers } });
  }
}

export const offset = (n: number): string => (n < 0 ? "-1" : `${"0".repeat(16)}_${String(n).padStart(16, "0")}`);

export const data = (...items: unknown[]): string => `event: data\ndata:${JSON.stringify(items)}\n\n`;

export const control = (n: number, more: object = { upToDate: true }): string =>
  `event: control\ndata:${JSON.stringify({ streamNextOffset: offset(n), ...more })}\n\n`;

/** page is the answer to a catch-up or a long-poll. */
export function page(items: unknown[], n: number, headers: Record<string, string> = { "stream-up-to-date": "true" }): Response {
  return Response.json(items, { headers: { "stream-next-offset": offset(n), ...headers } });
}

export function refusal(status: number, type: string, headers: Record<string, string> = {}): Response {
  const body = { error: { type, message: `It is ${type}.`, details: "" } };
  return Response.json(body, { status, headers: { "x-request-id": "req_01K0WEZ7H3Q9V5B2C8D4F6G1JK", ...headers } });
}

/** event is the i-th event of a run. */
export const event = (i: number): { v: 3; type: "log"; eventIndex: number } & Record<string, unknown> => ({
  v: 3,
  type: "log",
  level: "info",
  message: `line ${i}`,
  eventIndex: i,
  runId: "run_1",
  timestamp: "2026-07-01T12:00:00.000Z",
});

/** Clock is a mocked time that the test moves. */
export class Clock {
  readonly #t: TestContext;

  constructor(t: TestContext) {
    this.#t = t;
    t.mock.timers.enable({ apis: ["setTimeout", "Date"], now: 1_000_000 });
  }

  /** advance moves time in steps, and lets everything happen that is due. */
  async advance(ms: number, step = ms): Promise<void> {
    await settle();
    for (let gone = 0; gone < ms; gone += step) {
      this.#t.mock.timers.tick(Math.min(step, ms - gone));
      await settle();
    }
  }
}

/** settle lets promises and streams come to rest. */
export async function settle(rounds = 6): Promise<void> {
  for (let i = 0; i < rounds; i++) await immediate();
}
