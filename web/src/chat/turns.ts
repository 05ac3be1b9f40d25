import type { AgentMessage } from "@svc/react";
import type { Settlement, TextPart, ToolPart } from "@svc/sdk";

/** Turn is a question and all that came of it. The same object as long as nothing of it changes. */
export interface Turn {
  /** That of the question, from the moment of its sending. */
  readonly key: string;
  readonly submissionId: string | undefined;
  /** What was asked, by a person or a signal; undefined: the turn began before what is shown. */
  readonly input: AgentMessage | undefined;
  /** All messages of the turn but the question, in their order. */
  readonly replies: readonly AgentMessage[];
  readonly settlement: Settlement | undefined;
}

/** Piece is a part of a reply as it is shown. */
export type Piece =
  | { readonly kind: "text"; readonly key: string; readonly part: TextPart; readonly message: AgentMessage }
  | { readonly kind: "reasoning"; readonly key: string; readonly part: TextPart; readonly message: AgentMessage }
  | { readonly kind: "tools"; readonly key: string; readonly calls: readonly ToolPart[] }
  | { readonly kind: "seam"; readonly key: string }
  | { readonly kind: "note"; readonly key: string; readonly text: string };

/** Turns folds a conversation into turns, and keeps those that are as they were. */
export class Turns {
  #made = new Map<string, Turn>();
  #all: readonly Turn[] = [];

  of(messages: readonly AgentMessage[], settlements: readonly Settlement[]): readonly Turn[] {
    const settled = new Map(settlements.map((settlement) => [settlement.submissionId, settlement]));
    const made = new Map<string, Turn>();
    const all = gathered(messages).map((group) => {
      const turn = this.#turn(group, group.submissionId === undefined ? undefined : settled.get(group.submissionId));
      made.set(turn.key, turn);
      return turn;
    });
    this.#made = made;
    if (all.length !== this.#all.length || all.some((turn, i) => turn !== this.#all[i])) this.#all = all;
    return this.#all;
  }

  #turn({ submissionId, input, replies }: Group, settlement: Settlement | undefined): Turn {
    const key = input?.key ?? replies[0]?.key ?? "";
    const was = this.#made.get(key);
    if (was && was.input === input && was.settlement === settlement && was.replies.length === replies.length && replies.every((reply, i) => reply === was.replies[i])) return was;
    return { key, submissionId, input, replies, settlement };
  }
}

interface Group {
  submissionId: string | undefined;
  input: AgentMessage | undefined;
  replies: AgentMessage[];
}

/** gathered are messages by their submission. An advisory without one belongs to what stands before it. */
function gathered(messages: readonly AgentMessage[]): Group[] {
  const groups: Group[] = [];
  for (const message of messages) {
    if (message.pending) continue;
    const last = groups.at(-1);
    const asks = message.purpose === "user" || message.purpose === "dispatch";
    const same = last && (message.submissionId === undefined || message.submissionId === last.submissionId) && !asks;
    if (same) last.replies.push(message);
    else if (message.purpose === "advisory" && message.submissionId === undefined) continue; // of something that was never begun
    else groups.push({ submissionId: message.submissionId, input: asks ? message : undefined, replies: asks ? [] : [message] });
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

export function textOf(message: AgentMessage | undefined): string {
  return message?.parts.map((part) => (part.type === "text" ? part.text : "")).join("") ?? "";
}

/** Spent is what a turn has cost. */
export interface Spent {
  readonly tokens: number;
  readonly cost: number;
  readonly model: string | undefined;
}

export function spentOf(replies: readonly AgentMessage[]): Spent {
  let tokens = 0;
  let cost = 0;
  let model: string | undefined;
  for (const { metadata } of replies) {
    tokens += metadata.usage?.totalTokens ?? 0;
    cost += metadata.usage?.cost.total ?? 0;
    if (metadata.model) model = `${metadata.model.provider}/${metadata.model.id}`;
  }
  return { tokens, cost, model };
}
