import type { Client, StreamOptions } from "@svc/sdk";
import { AgentStore } from "./agent.js";
import { RunStore } from "./run.js";

/** So many that nobody shows are kept, without a connection: a page that goes back finds them as they were. */
const spare = 8;

interface Kept {
  readonly idle: boolean;
}

/** Stores are the conversations and runs of a page: components that name the same one share it, and its connection. */
export class Stores {
  readonly client: Client;
  readonly #options: StreamOptions;
  readonly #kept = new Map<string, Kept>(); // the one that was used last stands last

  constructor(client: Client, options: StreamOptions) {
    this.client = client;
    this.#options = options;
  }

  agent(name: string, id: string, fresh?: boolean): AgentStore {
    return this.#keep(JSON.stringify(["agent", name, id]), (touch) => new AgentStore(this.client, name, id, { ...this.#options, fresh }, touch));
  }

  run(runId: string, tail: number | undefined): RunStore {
    return this.#keep(JSON.stringify(["run", runId, tail]), (touch) => new RunStore(this.client, runId, { ...this.#options, tail }, touch));
  }

  // What was made for a component that never came to be shown is idle, and goes like all others.
  #keep<Store extends Kept>(key: string, make: (touch: () => void) => Store): Store {
    const kept = this.#kept.get(key) as Store | undefined;
    const store: Store = kept ?? make(() => this.#touch(key, store));
    this.#touch(key, store);
    return store;
  }

  #touch(key: string, store: Kept): void {
    if ((this.#kept.get(key) ?? store) !== store) return; // another has its place
    this.#kept.delete(key);
    this.#kept.set(key, store);
    const idle = [...this.#kept].filter(([, kept]) => kept.idle);
    for (const [old] of idle.slice(0, -spare)) this.#kept.delete(old);
  }
}
