import type { AgentMessage } from "@svc/react";
import type { FilePart, Settlement, TextPart, ToolPart } from "@svc/sdk";
import { seenFor } from "./measured";

/** Ended is how a submission ended, and how long it took where the service says so. */
export interface Ended extends Settlement {
  readonly took?: number | undefined;
}

/** Turn is a question and all that came of it. The same object as long as nothing of it changes. */
export interface Turn {
  /** That of the question, from the moment of its sending. */
  readonly key: string;
  readonly submissionId: string | undefined;
  /** What was asked, by a person or a signal; undefined: the turn began before what is shown. */
  readonly input: AgentMessage | undefined;
  /** All messages of the turn but the question, in their order. */
  readonly replies: readonly AgentMessage[];
  readonly settlement: Ended | undefined;
}

/** Piece is a part of a reply as it is shown. */
export type Piece =
  | { readonly kind: "text"; readonly key: string; readonly part: TextPart; readonly message: AgentMessage }
  | { readonly kind: "reasoning"; readonly key: string; readonly part: TextPart; readonly message: AgentMessage }
  | { readonly kind: "tools"; readonly key: string; readonly calls: readonly ToolPart[] }
  | { readonly kind: "seam"; readonly key: string }
  | { readonly kind: "note"; readonly key: string; readonly text: string };

/** Turns folds a conversation into turns, and keeps those that are as they were. An update costs what is new, and not what is there. */
export class Turns {
  #messages: readonly AgentMessage[] = [];
  #settlements: readonly Ended[] = [];
  #settled: ReadonlyMap<string, Ended> = new Map();
  #begins: readonly number[] = []; // where each turn begins among the messages
  #all: readonly Turn[] = [];

  of(messages: readonly AgentMessage[], settlements: readonly Ended[]): readonly Turn[] {
    if (messages === this.#messages && settlements === this.#settlements) return this.#all;
    const kept = settlements === this.#settlements ? this.#untouched(messages) : 0;
    if (settlements !== this.#settlements) this.#settled = new Map(settlements.map((settlement) => [settlement.submissionId, settlement]));
    const groups = gathered(messages, kept === 0 ? 0 : this.#begins[kept]!);
    const made = groups.map((group, i) => this.#turn(group, this.#all[kept + i]));
    this.#messages = messages;
    this.#settlements = settlements;
    this.#begins = [...this.#begins.slice(0, kept), ...groups.map(({ begins }) => begins)];
    if (kept + made.length !== this.#all.length || made.some((turn, i) => turn !== this.#all[kept + i])) this.#all = [...this.#all.slice(0, kept), ...made];
    return this.#all;
  }

  /** untouched is how many turns no change of a message can reach: one that differs may belong to the turn before its own. */
  #untouched(messages: readonly AgentMessage[]): number {
    const before = this.#messages;
    let differs = 0;
    while (differs < before.length && differs < messages.length && before[differs] === messages[differs]) differs++;
    let count = this.#begins.length;
    while (count > 0 && this.#begins[count - 1]! > differs) count--;
    return Math.max(0, count - 2);
  }

  #turn({ submissionId, input, replies }: Group, was: Turn | undefined): Turn {
    const key = input?.key ?? replies[0]?.key ?? "";
    const settlement = submissionId === undefined ? undefined : this.#settled.get(submissionId);
    const same = was?.key === key && was.input === input && was.settlement === settlement && was.replies.length === replies.length && replies.every((reply, i) => reply === was.replies[i]);
    return same ? was : { key, submissionId, input, replies, settlement };
  }
}

interface Group {
  begins: number;
  submissionId: string | undefined;
  input: AgentMessage | undefined;
  replies: AgentMessage[];
}

/** gathered are messages by their submission, from the beginning of a turn on. An advisory without one belongs to what stands before it. */
function gathered(messages: readonly AgentMessage[], from: number): Group[] {
  const groups: Group[] = [];
  for (let begins = from; begins < messages.length; begins++) {
    const message = messages[begins]!;
    if (message.pending) continue;
    const last = groups.at(-1);
    const asks = message.purpose === "user" || message.purpose === "dispatch";
    const same = last && (message.submissionId === undefined || message.submissionId === last.submissionId) && !asks;
    if (same) last.replies.push(message);
    else if (message.purpose === "advisory" && message.submissionId === undefined) continue; // of something that was never begun
    else groups.push({ begins, submissionId: message.submissionId, input: asks ? message : undefined, replies: asks ? [] : [message] });
  }
  return groups;
}

/** piecesOf is what is seen of a turn's replies: calls that stand together are one piece, and empty messages none. */
export function piecesOf(replies: readonly AgentMessage[]): readonly Piece[] {
  const pieces: Piece[] = [];
  for (const message of replies) {
    if (message.role !== "assistant") {
      const said = sayingOf(message);
      if (said) pieces.push(said);
      continue;
    }
    message.parts.forEach((part, i) => {
      const key = `${message.id}-${i}`;
      const last = pieces.at(-1);
      if (part.type === "dynamic-tool" && last?.kind === "tools") pieces[pieces.length - 1] = { ...last, calls: [...last.calls, part] };
      else if (part.type === "dynamic-tool") pieces.push({ kind: "tools", key, calls: [part] });
      else if (part.type !== "file" && part.text.trim() !== "") pieces.push({ kind: part.type, key, part, message });
    });
  }
  return pieces;
}

/** sayingOf is what is shown of an advisory. That something was stopped, its settlement says. */
function sayingOf(message: AgentMessage): Piece | undefined {
  if (message.id.endsWith("_stream_continued")) return { kind: "seam", key: message.id };
  if (!message.id.startsWith("entry_submission_interrupted_")) return undefined;
  return { kind: "note", key: message.id, text: "This was interrupted and could not be continued." };
}

/**
 * tookOf is how long a turn took, in milliseconds: as the service says, else from its question to the advisory that ended it, else as this
 * page has seen it. Undefined: nobody knows.
 */
export function tookOf(turn: Turn): number | undefined {
  const begun = Date.parse(turn.input?.metadata.timestamp ?? "");
  const told = turn.settlement?.outcome === "completed" ? undefined : turn.replies.findLast((message) => message.purpose === "advisory" && ended.test(message.id));
  const stamp = Date.parse(told?.metadata.timestamp ?? "");
  if (turn.settlement?.took !== undefined) return turn.settlement.took;
  if (!Number.isNaN(stamp - begun)) return Math.max(0, stamp - begun);
  return turn.submissionId === undefined ? undefined : seenFor(turn.submissionId);
}

const ended = /^entry_submission_(aborted|interrupted)_/;

/** endOf is when a turn was over, in milliseconds since 1970; undefined: it is not, or nobody knows. */
export function endOf(turn: Turn): number | undefined {
  const took = turn.settlement && tookOf(turn);
  const begun = Date.parse(turn.input?.metadata.timestamp ?? "");
  return took === undefined || Number.isNaN(begun) ? undefined : begun + took;
}

/** proseOf is what a person copies of a turn: its text as Markdown, without reasoning and tools. */
export function proseOf({ replies }: Pick<Turn, "replies">): string {
  return piecesOf(replies)
    .flatMap((piece) => (piece.kind === "text" ? [piece.part.text.trim()] : []))
    .join("\n\n");
}

/** askedOf is the text of a question. */
export function askedOf(turn: Turn): string {
  return textOf(turn.input);
}

/** picturesOf are the images of a question. */
export function picturesOf(message: AgentMessage | undefined): readonly FilePart[] {
  return message?.parts.filter((part) => part.type === "file") ?? [];
}

export function textOf(message: AgentMessage | undefined): string {
  return message?.parts.map((part) => (part.type === "text" ? part.text : "")).join("") ?? "";
}

/** Spent is what a turn has cost. */
export interface Spent {
  readonly tokens: number;
  readonly cost: number;
  readonly model: string | undefined;
  /** The number of the version that answered, of an agent that has versions. */
  readonly version: string | undefined;
}

export function spentOf(replies: readonly AgentMessage[]): Spent {
  let tokens = 0;
  let cost = 0;
  let model: string | undefined;
  let version: string | undefined;
  for (const { metadata } of replies) {
    tokens += metadata.usage?.totalTokens ?? 0;
    cost += metadata.usage?.cost.total ?? 0;
    if (metadata.model) model = `${metadata.model.provider}/${metadata.model.id}`;
    if (/^\d+$/.test(metadata.agentVersion ?? "")) version = metadata.agentVersion;
  }
  return { tokens, cost, model, version };
}
