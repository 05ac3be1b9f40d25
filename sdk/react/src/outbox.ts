import { newKey, SvcError, type DeliveredMessage, type Message, type Settlement, type Submission } from "@svc/sdk";
import { isInput, isPreview, rowOf, saysTheSame, type AgentMessage, type PendingState, type Since, type Unsent } from "./message.js";
import type { Rows } from "./rows.js";

/** Entry is one sending of this page, until the conversation has it. */
export class Entry {
  state: PendingState = "sending";
  submissionId: string | undefined;
  error: SvcError | undefined;
  /** Asked for again with the same key, it is the same sending. */
  idempotencyKey = newKey();
  /** The submission that it seems to be, seen in the conversation or in the queue before its own answer came. */
  guess: string | undefined;
  /** Whether it is to be stopped as soon as it has a name. */
  stopped = false;
  /** What was there before it was sent; undefined: that is not known. */
  since: Since | undefined;
  readonly key: string;
  readonly message: DeliveredMessage;
  #row: AgentMessage | undefined;

  constructor(key: string, message: DeliveredMessage, since: Since | undefined) {
    this.key = key;
    this.message = message;
    this.since = since;
  }

  /** Whether it is over, and stays for a person to decide. */
  get rests(): boolean {
    return this.state !== "sending" && this.state !== "waiting";
  }

  become(change: Partial<Pick<Entry, "state" | "submissionId" | "error" | "idempotencyKey" | "guess" | "stopped" | "since">>): void {
    Object.assign(this, change);
  }

  /** row is the entry as a message, the same object until something of it changes. */
  row(submission: Submission | undefined): AgentMessage {
    const { key, state, message, submissionId, error, idempotencyKey, since } = this;
    const was = this.#row?.pending;
    if (was?.state === state && was.submissionId === submissionId && was.error === error && was.submission === submission) return this.#row!;
    return (this.#row = rowOf({ key, state, message, submissionId, error, submission, own: true, sending: { idempotencyKey, since } }));
  }
}

/** Outbox is what this page sends, one after the other, so that the queue has it in the order of its writing. */
export class Outbox {
  readonly #rows: Rows;
  readonly #own = new Set<string>(); // submissions of this page
  readonly #keys = new Set<string>(); // of its sendings
  #entries: Entry[] = [];
  #count = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(rows: Rows) {
    this.#rows = rows;
  }

  get entries(): readonly Entry[] {
    return this.#entries;
  }

  /** owns reports whether a submission was sent here. */
  owns(submissionId: string): boolean {
    return this.#own.has(submissionId);
  }

  find(key: string): Entry | undefined {
    return this.#entries.find((entry) => entry.key === key);
  }

  add(message: DeliveredMessage, since: Since | undefined): Entry {
    const entry = new Entry(`new-${++this.#count}`, message, since);
    this.#entries.push(entry);
    return entry;
  }

  /** restore takes up a sending from before a reload, unless it is known here. One that was on its way may have been admitted. */
  restore({ state, message, sending: { idempotencyKey, since } }: Unsent): void {
    if (this.#keys.has(idempotencyKey)) return;
    this.#keys.add(idempotencyKey);
    this.add(message, since).become({ idempotencyKey, state: state === "sending" ? "unknown" : state });
  }

  remove(entry: Entry): void {
    this.#entries = this.#entries.filter((other) => other !== entry);
  }

  /** again makes a new sending of one that was admitted and is over. Any other is the same sending still. */
  again(entry: Entry, since: Since | undefined): void {
    // A refusal stores nothing, but an attempt before it, whose answer was lost, may have been admitted.
    if (entry.submissionId !== undefined) entry.become({ idempotencyKey: newKey(), since, guess: undefined });
    const stays = entry.state === "unknown";
    entry.become({ state: "sending", submissionId: undefined, error: undefined, stopped: false });
    if (stays) return;
    this.remove(entry);
    this.#entries.push(entry);
  }

  /** deliver sends an entry when those before it were, and reports whether it was admitted. */
  deliver(entry: Entry, send: (entry: Entry) => Promise<string>): Promise<boolean> {
    this.#keys.add(entry.idempotencyKey);
    const sent = this.#last.then(() => this.#send(entry, send));
    this.#last = sent;
    return sent;
  }

  async #send(entry: Entry, send: (entry: Entry) => Promise<string>): Promise<boolean> {
    if (entry.stopped) entry.become({ state: "stopped" }); // before it had left
    if (entry.stopped) return false;
    try {
      this.#admit(entry, await send(entry));
      return true;
    } catch (error) {
      this.#refuse(entry, error);
      return false;
    }
  }

  #admit(entry: Entry, submissionId: string): void {
    if (entry.guess !== undefined && entry.guess !== submissionId) this.#rows.unname(entry.guess);
    this.#rows.name(submissionId, entry.key);
    this.#own.add(submissionId);
    entry.become({ state: "waiting", submissionId, error: undefined, guess: undefined });
  }

  #refuse(entry: Entry, thrown: unknown): void {
    const error = thrown instanceof SvcError ? thrown : new SvcError({ type: "network_error", message: String(thrown), cause: thrown });
    if (!didNothing(error)) return entry.become({ state: "unknown", error });
    if (entry.guess !== undefined) this.#rows.unname(entry.guess);
    entry.become({ state: "refused", error, guess: undefined });
  }

  /** guess finds sendings in the conversation, and in the queue, whose answer has not come: their place is there, not at its end. */
  guess(messages: readonly Message[], queue: readonly Submission[]): void {
    const waiting = queue.filter(({ kind }) => kind === "direct");
    for (const entry of this.#entries) {
      if (entry.state !== "sending" && entry.state !== "unknown") continue;
      const id = entry.guess ?? this.#found(entry, messages, waiting);
      if (id === undefined) continue;
      if (entry.guess === undefined) this.#rows.name(id, entry.key);
      entry.guess = id;
      // What the queue has was admitted, though the answer was lost.
      if (entry.state === "unknown" && waiting.some(({ submissionId }) => submissionId === id)) this.#admit(entry, id);
    }
  }

  /** found is the submission that says what was sent, and was not there before. */
  #found({ message, since }: Entry, messages: readonly Message[], waiting: readonly Submission[]): string | undefined {
    if (!since) return undefined;
    const isNew = (id: string): boolean => !this.#rows.isOurs(id) && !since.queue.includes(id);
    const begun = messages.slice(since.messages).find((m) => isInput(m) && isNew(m.submissionId) && saysTheSame(m, message));
    const queued = waiting.find(({ submissionId: id, preview }) => isNew(id) && !this.#rows.has(id) && isPreview(preview, message));
    return (begun ?? queued)?.submissionId;
  }

  /** settle lets go of what the conversation has, and of what was settled without being begun. */
  settle(settlementOf: (submissionId: string) => Settlement | undefined): void {
    this.#entries = this.#entries.filter((entry) => {
      const { submissionId } = entry;
      if (submissionId === undefined || entry.rests) return !(entry.state === "unknown" && this.shows(entry));
      if (this.#rows.has(submissionId)) return false;
      const settlement = settlementOf(submissionId);
      if (settlement?.outcome === "completed") return false;
      if (settlement?.outcome === "aborted") entry.become({ state: "stopped" });
      if (settlement?.outcome === "failed") entry.become({ state: "refused", error: failure(settlement) });
      return true;
    });
  }

  /** shows reports whether an entry is seen in the conversation. */
  shows(entry: Entry): boolean {
    const id = entry.submissionId ?? entry.guess;
    return id !== undefined && this.#rows.has(id);
  }
}

/** didNothing reports whether an error is a refusal: others leave open whether the sending was admitted. */
function didNothing({ type, status }: SvcError): boolean {
  return (status >= 400 && status < 500) || status === 503 || status === 507 || ["credentials_error", "invalid_request", "redirected"].includes(type);
}

function failure({ submissionId, error }: Settlement): SvcError {
  const { type = "submission_failed", message = "The submission has failed.", details = "", meta } = error ?? {};
  return new SvcError({ type, message, details, meta, submissionId });
}
