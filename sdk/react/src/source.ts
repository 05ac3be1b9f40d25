/**
 * Source is what a hook reads: an external store that works while somebody listens. It rests a moment after the last listener
 * left, so that components that leave and come back at once, as StrictMode makes them, find it as it was.
 */
export abstract class Source<State extends object> {
  readonly #listeners = new Set<() => void>();
  #state!: State;
  #first: State | undefined;
  #working = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  getSnapshot = (): State => this.#state;

  /** The state that it was made with is what a server renders, and what a page begins with that hydrates. */
  getServerSnapshot = (): State => this.#first!;

  subscribe = (listener: () => void): (() => void) => {
    const own = (): void => listener(); // the same function may listen twice
    this.#listeners.add(own);
    if (!this.#working) {
      this.#working = true;
      this.begin();
    }
    return () => {
      this.#listeners.delete(own);
      queueMicrotask(() => this.#rest());
    };
  };

  /** Whether somebody listens, or did a moment ago. */
  get working(): boolean {
    return this.#working;
  }

  protected abstract begin(): void;
  protected abstract end(): void;
  /** update makes a state of all that is known, and shows it. */
  protected abstract update(): void;

  /** soon updates once for all that happens before the browser has had its turn: a burst is one state, and one render. */
  protected soon(): void {
    this.#timer ??= setTimeout(() => this.now(), 0);
  }

  /** now updates at once: what a person did shows in the same moment. */
  protected now(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.update();
  }

  /** show tells those who listen of a state, unless it is what they know. */
  protected show(state: State): void {
    this.#first ??= state;
    if (this.#state && alike(this.#state, state)) return;
    this.#state = state;
    for (const listener of [...this.#listeners]) listener();
  }

  #rest(): void {
    if (this.#listeners.size > 0 || !this.#working) return;
    this.#working = false;
    this.end();
    this.now();
  }
}

function alike<State extends object>(a: State, b: State): boolean {
  return (Object.keys(b) as (keyof State)[]).every((key) => Object.is(a[key], b[key]));
}

/** steady is the list that was there before where nothing in it has changed. */
export function steady<T>(before: readonly T[] | undefined, now: readonly T[]): readonly T[] {
  return before?.length === now.length && now.every((item, i) => item === before[i]) ? before : now;
}
