import { Attempt } from "./attempt.js";
import { SvcError, badResponse, errorOf, isTransient } from "./error.js";
import { Pace, pause, timings, unless, type Timing } from "./timing.js";

/** ClientOptions say where the service is, and as whom it is asked. */
export interface ClientOptions {
  /** The address of the API mount, such as `https://agents.example.com/v1/ada/personal`. In a page it may be relative. */
  baseUrl: string | URL;
  /**
   * A bearer token, or a function that gives one. A function is asked once, and again after a 401, by one request for all.
   * What it throws counts as a failure that passes, and so does an answer that takes longer than a long-poll may; to give up,
   * throw a SvcError with the status of a refusal.
   */
  token?: string | (() => string | Promise<string>) | undefined;
  /** Headers of every request, or a function that is asked for them each time. They win over the token. */
  headers?: HeadersOf | (() => HeadersOf | Promise<HeadersOf>) | undefined;
  /** What fetches. Default: the global fetch. */
  fetch?: typeof globalThis.fetch | undefined;
  timing?: Partial<Timing> | undefined;
}

export type HeadersOf = Record<string, string>;

/** Ask is one request. */
export interface Ask {
  method: string;
  url: URL;
  accept?: string;
  body?: BodyInit | undefined;
  contentType?: string | undefined;
  headers?: HeadersOf | undefined;
  idempotencyKey?: string | undefined;
  signal?: AbortSignal | undefined;
  /** Called when the request goes out, for one who bounds the time until its answer begins; what it returns is called then. */
  watch?: () => () => void;
  /** How soon an answer must begin that is asked for patiently. Default: the time of a long-poll. */
  within?: number | undefined;
  /** Whether it may be asked again when its answer was lost. GET, HEAD and what has a key may. */
  repeats?: boolean;
}

/** Connection is the way to one service. All verbs of this package take one; createClient binds them to it. */
export class Connection {
  readonly timing: Timing;
  /** Told the path of every agent instance that this connection has prompted. */
  readonly prompted = new Set<(path: string) => void>();
  /** How many prompts of this connection were admitted. */
  prompts = 0;
  readonly #base: string;
  readonly #options: ClientOptions;
  #token: Promise<string> | undefined;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.timing = { ...timings, ...options.timing };
    const base = new URL(options.baseUrl, globalThis.location?.href);
    this.#base = base.origin + base.pathname.replace(/\/+$/, "");
  }

  /** url is an address below the mount, each segment encoded. */
  url(...segments: string[]): URL {
    return new URL(this.#base + segments.map((s) => "/" + segment(s)).join(""));
  }

  /** site is an address of the host that has the mount. */
  site(path: string): URL {
    return new URL(new URL(this.#base).origin + path);
  }

  /** json asks until there is an answer, as long as that may help, and reads it. */
  json<T>(ask: Ask): Promise<T> {
    return this.patiently(ask, async (response, attempt) => {
      const text = await attempt.text(response, this.timing.idle);
      try {
        return (text === "" ? undefined : JSON.parse(text)) as T;
      } catch {
        throw badResponse(response, "The answer is not JSON.");
      }
    });
  }

  /** patiently asks until an answer has been read whole, as long as asking again is safe and may help. */
  async patiently<T>(ask: Ask, read: (response: Response, attempt: Attempt) => Promise<T>): Promise<T> {
    const pace = new Pace(this.timing);
    const watch = (attempt: Attempt) => () => attempt.watch(ask.within ?? this.timing.poll);
    for (let waited = 0; ; ) {
      const attempt = new Attempt(ask.signal, false);
      let delay: number;
      try {
        return await read(await this.open({ ...ask, signal: attempt.signal, watch: watch(attempt) }), attempt);
      } catch (thrown) {
        ask.signal?.throwIfAborted();
        const error = attempt.failure(thrown, ask.idempotencyKey);
        waited += delay = pace.next(error.retryAfter);
        if (waited > this.timing.patience || !mayRepeat(ask, error)) throw error;
      } finally {
        attempt.end();
      }
      await pause(delay, ask.signal);
    }
  }

  /** open asks once, and once more with a new token where the one it has is refused. Whatever is no success is thrown. */
  async open(ask: Ask): Promise<Response> {
    const token = this.#bearer();
    let response = await this.#fetch(ask, token);
    if (response.status === 401 && typeof this.#options.token === "function") {
      await response.body?.cancel().catch(() => {});
      // Others may have been refused as well: whoever is first asks for all.
      if (this.#token === token) this.#token = undefined;
      response = await this.#fetch(ask, this.#bearer());
    }
    if (response.ok) return response;
    throw await unless(ask.signal, errorOf(response, ask.idempotencyKey)).finally(ask.watch?.());
  }

  #bearer(): Promise<string> | undefined {
    const { token } = this.#options;
    if (token === undefined) return undefined;
    if (this.#token) return this.#token;
    const asked = this.#timely((async () => (typeof token === "function" ? token() : token))());
    // What failed is not kept.
    asked.catch(() => {
      if (this.#token === asked) this.#token = undefined;
    });
    return (this.#token = asked);
  }

  /** timely gives up on a promise after the time of a long-poll. */
  #timely<T>(promise: Promise<T>): Promise<T> {
    const attempt = new Attempt(undefined, false);
    return unless(attempt.signal, promise).finally(attempt.watch(this.timing.poll));
  }

  async #headers(ask: Ask, token: Promise<string> | undefined): Promise<Headers> {
    try {
      const { headers } = this.#options;
      const bearer = token && (await unless(ask.signal, token));
      const own = typeof headers === "function" ? await unless(ask.signal, this.#timely(Promise.resolve(headers()))) : headers;
      const all = new Headers(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` });
      for (const [name, value] of Object.entries({ ...own, ...ask.headers })) all.set(name, value);
      all.set("accept", ask.accept ?? "application/json");
      if (ask.contentType) all.set("content-type", ask.contentType);
      if (ask.idempotencyKey) all.set("idempotency-key", ask.idempotencyKey);
      return all;
    } catch (cause) {
      ask.signal?.throwIfAborted();
      if (cause instanceof SvcError) throw cause;
      throw new SvcError({ type: "credentials_error", message: "There are no credentials to ask with.", cause });
    }
  }

  async #fetch(ask: Ask, token: Promise<string> | undefined): Promise<Response> {
    const headers = await this.#headers(ask, token);
    const fetch = this.#options.fetch ?? globalThis.fetch;
    const answered = ask.watch?.();
    try {
      // A redirect is not followed: it would take the body, the key and the headers to wherever it leads.
      const asked = fetch(ask.url, { method: ask.method, headers, body: ask.body ?? null, signal: ask.signal ?? null, redirect: "manual" });
      return await unless(ask.signal, asked);
    } finally {
      answered?.();
    }
  }
}

/** connect is the way to a service, for programs that import single verbs. */
export function connect(options: ClientOptions): Connection {
  return new Connection(options);
}

/** newKey is an idempotency key that nobody else has. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
}

/** segment encodes a part of a path. Dots alone would lead elsewhere, encoded or not. */
export function segment(value: string): string {
  if (value.trim() === "" || value === "." || value === "..") {
    throw new SvcError({ type: "invalid_request", message: `${JSON.stringify(value)} is no name.` });
  }
  return encodeURIComponent(value);
}

/** mayRepeat: a refusal has done nothing; after an answer that was lost, only what is not done twice is asked again. */
function mayRepeat(ask: Ask, error: SvcError): boolean {
  if (!isTransient(error) || error.status === 500) return false;
  if (error.status === 429 || error.status === 503) return true;
  return ask.repeats ?? (ask.method === "GET" || ask.idempotencyKey !== undefined);
}
