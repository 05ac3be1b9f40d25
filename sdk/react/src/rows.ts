import type { Message } from "@svc/sdk";
import { isInput, type AgentMessage } from "./message.js";
import { steady } from "./source.js";

/** Rows are the messages of a conversation with their React keys: the same object for the same message. */
export class Rows {
  readonly #keys = new Map<string, string>(); // of inputs that were shown before they were there, by submission
  readonly #arrived = new Set<string>(); // submissions whose input is there
  readonly #made = new WeakMap<Message, AgentMessage>();
  #messages: readonly Message[] = []; // of which the rows are; none when a key is another
  #rows: readonly AgentMessage[] = [];

  /** name gives the input of a submission the key under which it is shown already. */
  name(submissionId: string, key: string): void {
    this.#keys.set(submissionId, key);
    this.#messages = [];
  }

  unname(submissionId: string): void {
    this.#keys.delete(submissionId);
    this.#messages = [];
  }

  /** isOurs reports whether the input of a submission has the key of a sending. What others sent is named by its submission. */
  isOurs(submissionId: string): boolean {
    return (this.#keys.get(submissionId) ?? submissionId) !== submissionId;
  }

  /** has reports whether the input of a submission is in the conversation. */
  has(submissionId: string): boolean {
    return this.#arrived.has(submissionId);
  }

  /** of makes rows of what differs from the messages before: an update costs what is new, and not what is there. */
  of(messages: readonly Message[]): readonly AgentMessage[] {
    let same = 0;
    while (same < messages.length && messages[same] === this.#messages[same]) same++;
    this.#messages = messages;
    const fresh = messages.slice(same).map((message) => this.#row(message));
    return (this.#rows = steady(this.#rows, [...this.#rows.slice(0, same), ...fresh]));
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
