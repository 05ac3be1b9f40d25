import { SvcError, type Client, type ConversationState, type DeliveredMessage, type Observation, type ObserveOptions, type Phase, type Settlement, type StreamOptions, type Submission } from "@svc/sdk";
import { deliveredOf } from "./again.js";
import { currentOf, isInput, isWriting, rowOf, type AgentMessage, type Current, type Pending, type Since, type Unsent } from "./message.js";
import { Outbox, type Entry } from "./outbox.js";
import { Queue } from "./queue.js";
import { Rows } from "./rows.js";
import { Source, steady } from "./source.js";
import { onSeen } from "./seen.js";

/**
 * How a conversation stands: `loading` until that is known; `submitted` while something was sent and is not answered yet;
 * `streaming` while an answer is made; `idle`; `error` where it cannot be read, until it is refreshed.
 */
export type AgentStatus = "loading" | "idle" | "submitted" | "streaming" | "error";

/** Agent is a conversation at one moment, and what can be done in it. Its functions are the same for the life of the conversation. */
export interface Agent {
  /** The conversation, and behind it what was sent and is not part of it yet. */
  readonly messages: readonly AgentMessage[];
  readonly pending: readonly Pending[];
  readonly status: AgentStatus;
  /** How its stream stands. */
  readonly phase: Phase;
  /** How submissions ended. */
  readonly settlements: readonly Settlement[];
  /** Why the conversation cannot be read: for good where the status is `error`, else until the stream is back. */
  readonly error: unknown;
  /** Send a message. It shows at once; the promise says whether it was admitted, and `pending` why not. */
  readonly send: (message: DeliveredMessage | string) => Promise<boolean>;
  /** Stop all work, also what is queued, or one submission. The promise says whether there was any. */
  readonly stop: (submissionId?: string) => Promise<boolean>;
  /** Send again what is pending and rests, or ask again what a message of the conversation asked. */
  readonly retry: (key: string) => Promise<boolean>;
  /** Let go of what is pending and rests. */
  readonly discard: (key: string) => void;
  /** Take up what was pending before a reload and had no submission. It rests: what was being sent is `unknown`. */
  readonly restore: (unsent: Unsent) => void;
  /** Read the conversation anew. */
  readonly refresh: () => void;
}

/** AgentStore is one conversation as all components of a page share it. */
export class AgentStore extends Source<Agent> {
  readonly #client: Client;
  readonly #name: string;
  readonly #id: string;
  readonly #observation: Observation;
  readonly #touch: () => void;
  readonly #rows = new Rows();
  readonly #outbox = new Outbox(this.#rows);
  readonly #queue: Queue;
  readonly #others = new WeakMap<Submission, AgentMessage>(); // pending rows of what was not sent here
  #release: () => void = () => {};
  #fresh: boolean; // nobody else begins it
  #fault: unknown; // why it cannot be observed at all
  #healthy = false;
  #asked: string | undefined; // the submission that the queue was asked for last
  #writing = false;

  constructor(client: Client, name: string, id: string, options: StreamOptions & Pick<ObserveOptions, "fresh">, touch: () => void) {
    super();
    this.#client = client;
    this.#name = name;
    this.#id = id;
    this.#touch = touch;
    this.#fresh = options.fresh ?? false;
    this.#observation = client.agents.observe(name, id, options);
    this.#queue = new Queue((signal) => client.agents.submissions(name, id, { signal }), () => this.#current?.id, () => this.soon());
    this.update();
  }

  /** Whether nobody would miss it. */
  get idle(): boolean {
    return !this.working && this.#outbox.entries.length === 0;
  }

  send = (message: DeliveredMessage | string): Promise<boolean> => {
    const entry = this.#outbox.add(typeof message === "string" ? { kind: "user", body: message } : message, this.#since());
    return this.#deliver(entry);
  };

  stop = async (submissionId?: string): Promise<boolean> => {
    // What is on its way cannot be named yet.
    const sending = this.#outbox.entries.filter((entry) => entry.state === "sending" && submissionId === undefined);
    for (const entry of sending) entry.stopped = true;
    const { aborted } = await this.#client.agents.abort(this.#name, this.#id, { submissionId });
    return aborted || sending.length > 0;
  };

  retry = async (key: string): Promise<boolean> => {
    const entry = this.#outbox.find(key);
    if (entry && !entry.rests) return false;
    if (entry) {
      this.#outbox.again(entry, this.#since());
      return this.#deliver(entry);
    }
    const message = this.getSnapshot().messages.find((row) => row.key === key);
    if (!message || message.pending || !isInput(message)) return false;
    return this.send(await deliveredOf(this.#client, message));
  };

  discard = (key: string): void => {
    const entry = this.#outbox.find(key);
    if (!entry?.rests) return;
    this.#outbox.remove(entry);
    this.now();
    this.#touch();
  };

  restore = (unsent: Unsent): void => {
    this.#outbox.restore(unsent);
    this.now();
    this.#touch();
  };

  refresh = (): void => {
    this.#observation.refresh();
    if (this.working) this.#queue.ask();
  };

  protected begin(): void {
    this.#touch();
    try {
      this.#release = joined(this.#observation.subscribe(this.#changed), onSeen(this.#seen));
    } catch (error) {
      this.#fault = error; // there is no such name
      this.soon();
    }
    if (this.#observation.getSnapshot().offset !== undefined) this.#queue.ask();
  }

  protected end(): void {
    this.#release();
    this.#release = () => {};
    this.#queue.end();
    this.#touch();
  }

  /** changed is called for each state of the observation. */
  #changed = (): void => {
    const { phase, offset, error } = this.#observation.getSnapshot();
    const was = this.#healthy;
    this.#healthy = offset !== undefined && error === undefined && (phase === "connecting" || phase === "live");
    // A history was read, or a connection that was lost is back: the queue may be another.
    if (this.#healthy && !was) this.#queue.ask();
    this.soon();
  };

  /** seen: a conversation that another page has begun is found when somebody looks at this one. */
  #seen = (): void => {
    // One that was made here is begun here.
    if (!this.#fresh && this.#observation.getSnapshot().phase === "absent") this.#observation.refresh();
  };

  get #current(): Current | undefined {
    return currentOf(this.#observation.getSnapshot().messages);
  }

  /** since is what is there before what is sent now. */
  #since(): Since | undefined {
    const { phase, offset, messages } = this.#observation.getSnapshot();
    if (offset === undefined && phase !== "absent") return undefined;
    const waiting = [...this.#queue.items, ...this.#outbox.entries];
    return { messages: messages.length, queue: waiting.flatMap(({ submissionId }) => submissionId ?? []) };
  }

  async #deliver(entry: Entry): Promise<boolean> {
    this.now();
    const { message } = entry;
    const sent = await this.#outbox.deliver(entry, async ({ idempotencyKey }) => {
      const { submissionId } = await this.#client.agents.send(this.#name, this.#id, { message, idempotencyKey });
      return submissionId;
    });
    this.now();
    if (entry.state === "unknown") {
      this.#fresh = false; // the service may have begun it
      this.#seen();
    }
    if (!this.working) this.#touch();
    if (sent && entry.stopped) await this.#client.agents.abort(this.#name, this.#id, { submissionId: entry.submissionId }).catch(() => {});
    return sent;
  }

  protected update(): void {
    const seen = this.#observation.getSnapshot();
    const settlementOf = (id: string): Settlement | undefined => seen.settlements.findLast((settlement) => settlement.submissionId === id);
    this.#outbox.guess(seen.messages, this.#queue.items);
    const rows = this.#rows.of(seen.messages);
    this.#outbox.settle(settlementOf);
    const waiting = this.#waiting(settlementOf);
    const before = this.getSnapshot() as Agent | undefined;
    const current = this.#current;
    const works = current && this.#works(current, seen, settlementOf);
    const pending = steady(before?.pending, waiting.map((row) => row.pending!));
    this.show({
      messages: steady(before?.messages, waiting.length > 0 ? [...rows, ...waiting] : rows),
      pending,
      status: this.#fault ? "error" : statusOf(seen.phase, pending, current, works),
      phase: this.#fault ? "error" : seen.phase,
      settlements: steady(before?.settlements, seen.settlements),
      error: this.#fault ?? seen.error,
      send: this.send,
      stop: this.stop,
      retry: this.retry,
      discard: this.discard,
      restore: this.restore,
      refresh: this.refresh,
    });
    if (works && this.working) this.#inquire(current!.id, isWriting(seen.messages.at(-1)));
  }

  /** works reports whether a submission is in progress, and nothing where that is not known yet. */
  #works({ id }: Current, seen: ConversationState, settlementOf: (id: string) => Settlement | undefined): boolean | undefined {
    if (settlementOf(id)) return false;
    if (this.#outbox.owns(id) || this.#queue.has(id) || isWriting(seen.messages.at(-1))) return true;
    if (this.#queue.over === id) return false;
    return this.#queue.known || undefined;
  }

  /** inquire asks for a submission of somebody else: only the queue says whether its end will be told, and of some that it has come. */
  #inquire(id: string, writing: boolean): void {
    const wrote = this.#writing && !writing;
    this.#writing = writing;
    if (this.#outbox.owns(id) || this.#queue.over === id) return;
    if (this.#queue.has(id) ? !wrote : this.#asked === id) return;
    this.#asked = id;
    this.#queue.ask();
  }

  /** waiting are the rows behind the conversation: the queue in its order, then what has no place in it. */
  #waiting(settlementOf: (id: string) => Settlement | undefined): AgentMessage[] {
    const own = this.#outbox.entries.filter((entry) => !this.#outbox.shows(entry));
    const queued = this.#queue.items.filter(({ submissionId: id }) => !this.#rows.has(id) && !settlementOf(id));
    const place = (entry: Entry): Submission | undefined => queued.find((item) => item.submissionId === (entry.submissionId ?? entry.guess) && !entry.rests);
    const rest = own.filter((entry) => !place(entry)).map((entry) => entry.row(undefined));
    return [...queued.map((item) => own.find((entry) => place(entry) === item)?.row(item) ?? this.#other(item)), ...rest];
  }

  /** other is the pending row of a submission that this page did not send. */
  #other(submission: Submission): AgentMessage {
    const made = this.#others.get(submission);
    if (made) return made;
    const { submissionId, preview } = submission;
    const key = submissionId;
    const row = rowOf({ key, state: "waiting", message: { kind: "user", body: preview }, submissionId, error: undefined, submission, own: false });
    this.#rows.name(submissionId, key);
    this.#others.set(submission, row);
    return row;
  }
}

function statusOf(phase: Phase, pending: readonly Pending[], current: Current | undefined, works: boolean | undefined): AgentStatus {
  if (phase === "error") return "error";
  if (works && current!.replied) return "streaming";
  if (works || pending.some(({ state }) => state === "sending" || state === "waiting")) return "submitted";
  return phase === "loading" || (current && works === undefined) ? "loading" : "idle";
}

function joined(...releases: (() => void)[]): () => void {
  return () => releases.forEach((release) => release());
}

/** Nobody is what there is where no conversation was named. */
export class Nobody extends Source<Agent> {
  constructor() {
    super();
    const refuse = async (): Promise<never> => {
      throw new SvcError({ type: "invalid_request", message: "No conversation was named." });
    };
    const facts = { messages: [], pending: [], settlements: [], status: "idle", phase: "absent", error: undefined } as const;
    this.show({ ...facts, send: refuse, stop: refuse, retry: refuse, discard: () => {}, restore: () => {}, refresh: () => {} });
  }

  protected begin(): void {}
  protected end(): void {}
  protected update(): void {}
}
