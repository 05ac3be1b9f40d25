import type { Message } from "@svc/sdk";
import { isInput, type AgentMessage } from "./message.js";
import { steady } from "./source.js";

/** Rows are the messages of a conversation with their React keys: the same object for the same message. */
export class Rows {
  readonly #keys = new Map<string, string>(); // of inputs that were shown before they were there, by submission
  readonly #arrived = new Set<string>(); // submissions whose input is there
  readonly #made = new WeakMap<Message, AgentMessage>();
  #rows: readonly AgentMessage[] = [];

  /** name gives the input of a submission the key under which it is shown already. */
  name(submissionId: string, key: string): void {
    this.#keys.set(submissionId, key);
  }

  unname(submissionId: string): void {
    this.#keys.delete(submissionId);
  }

  isNamed(submissionId: string): boolean {
    return this.#keys.has(submissionId);
  }

  /** has reports whether the input of a submission is in the conversation. */
  has(submissionId: string): boolean {
    return this.#arrived.has(submissionId);
  }

  of(messages: readonly Message[]): readonly AgentMessage[] {
    return (this.#rows = steady(this.#rows, messages.map((message) => this.#row(message))));
  }

  #row(message: Message): AgentMessage {
    const key = (isInput(message) && this.#keys.get(message.submissionId)) || message.id;
    const made = this.#made.get(message);
    if (made?.key === key) return made;
    if (isInput(message)) this.#arrived.add(message.submissionId);
    const row = { ...message, key };
    this.#made.set(message, row);
    return row;
  }
}
