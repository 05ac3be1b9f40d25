import type { Chunk, Conversation, Message, Part, Position, Settlement, ToolPart } from "./types.js";

/** View is a conversation as it stands. It never changes; what is finished is the same object in later ones. */
export type View = Omit<Conversation, "offset">;

type Draft = { -readonly [Key in keyof Message]: Key extends "parts" ? Part[] : Message[Key] };

/**
 * Projection folds chunks into a conversation: what it shows equals the history of the service at the same place, but for
 * neighbouring blocks that a stream cannot tell apart, blocks without text, and the model of a reply in progress.
 */
export class Projection {
  #conversationId = "";
  #messages: Message[] = [];
  #settlements: Settlement[] = [];
  #places = new Map<string, number>();
  #mark: Position | undefined;
  #drafts = new Set<Message>(); // messages that no view has
  #view: View | undefined;
  readonly #dress: (message: Message) => Message;

  /** It begins with a snapshot, or with nothing. `dress` adds to messages what only the reader knows. */
  constructor(snapshot?: View, dress: (message: Message) => Message = (message) => message) {
    this.#dress = dress;
    if (snapshot) this.#reset(snapshot);
  }

  /** view is the conversation as it stands, the same object until it changes. */
  view(): View {
    this.#drafts.clear();
    return (this.#view ??= { conversationId: this.#conversationId, messages: [...this.#messages], settlements: [...this.#settlements] });
  }

  /** apply takes in a chunk. One that was applied before, and one of a kind that is not known, change nothing. */
  apply(chunk: Chunk): void {
    const { batch, index } = chunk.position;
    const mark = this.#mark;
    if (mark && (batch < mark.batch || (batch === mark.batch && index <= mark.index))) return;
    this.#mark = chunk.position;
    this.#view = undefined;
    this.#take(chunk);
  }

  #take(chunk: Chunk): void {
    switch (chunk.type) {
      case "conversation-reset":
        return this.#reset(chunk.snapshot);
      case "message-appended":
        return this.#put(this.#dress(chunk.message));
      case "message-started":
        return this.#start(chunk);
      case "message-delta":
        return this.#change(chunk.messageId, (parts) => grow(parts, chunk.kind, chunk.delta));
      case "tool-input":
        return this.#change(chunk.messageId, (parts) => call(parts, chunk));
      case "tool-output":
        return this.#answer(chunk.toolCallId, { state: "output-available", output: chunk.output, ...lasted(chunk) });
      case "tool-output-error":
        return this.#answer(chunk.toolCallId, { state: "output-error", errorText: chunk.errorText, ...lasted(chunk) });
      case "message-completed":
        return this.#change(chunk.messageId, (parts, draft) => {
          finish(parts, parts.length);
          if (chunk.usage) draft.metadata = { ...draft.metadata, usage: chunk.usage };
        });
      case "submission-settled":
        return this.#settle(chunk);
    }
  }

  #reset(snapshot: View): void {
    this.#conversationId = snapshot.conversationId;
    this.#messages = snapshot.messages.map(this.#dress);
    this.#settlements = [...snapshot.settlements];
    this.#places = new Map(this.#messages.map((message, i) => [message.id, i]));
    this.#drafts.clear();
  }

  #put(message: Message): void {
    const place = this.#places.get(message.id) ?? this.#messages.length;
    this.#places.set(message.id, place);
    this.#messages[place] = message;
  }

  #start(chunk: Extract<Chunk, { type: "message-started" }>): void {
    if (this.#places.has(chunk.messageId)) return;
    const { messageId: id, submissionId, turnId, timestamp, model, agentVersion } = chunk;
    this.#put({
      ...{ id, role: "assistant", purpose: "assistant", display: "visible" },
      ...(submissionId && { submissionId }),
      ...(turnId && { turnId }),
      parts: [],
      metadata: { ...(timestamp && { timestamp }), ...(model && { model }), ...(agentVersion && { agentVersion }) },
    });
  }

  /** change edits the parts of a message, in a copy of its own unless it is still a draft. */
  #change(id: string, edit: (parts: Part[], draft: Draft) => void): void {
    const place = this.#places.get(id);
    if (place !== undefined) this.#edit(place, edit);
  }

  #edit(place: number, edit: (parts: Part[], draft: Draft) => void): void {
    let message = this.#messages[place]!;
    if (!this.#drafts.has(message)) {
      message = { ...message, parts: [...message.parts] };
      this.#messages[place] = message;
      this.#drafts.add(message);
    }
    edit(message.parts as Part[], message as Draft);
  }

  /** answer ends a tool call of the last message that has it. */
  #answer(toolCallId: string, outcome: Partial<ToolPart>): void {
    const isCall = (part: Part): part is ToolPart => part.type === "dynamic-tool" && part.toolCallId === toolCallId;
    for (let place = this.#messages.length - 1; place >= 0; place--) {
      const at = this.#messages[place]!.parts.findIndex(isCall);
      if (at < 0) continue;
      this.#edit(place, (parts) => (parts[at] = { ...(parts[at] as ToolPart), ...outcome }));
      return;
    }
  }

  #settle({ submissionId, outcome, error }: Settlement): void {
    const settlement: Settlement = { submissionId, outcome, ...(error && { error }) };
    const at = this.#settlements.findIndex((s) => s.submissionId === submissionId);
    if (at < 0) this.#settlements.push(settlement);
    else this.#settlements[at] = settlement;
  }
}

/** grow adds text to the last part where it is of that kind and goes on, else it begins the next. */
function grow(parts: Part[], kind: "text" | "reasoning", delta: string): void {
  const at = parts.length - 1;
  const last = parts[at];
  if (last?.type === kind && last.state === "streaming") {
    finish(parts, at);
    parts[at] = { ...last, text: last.text + delta };
    return;
  }
  finish(parts, parts.length);
  parts.push({ type: kind, text: delta, state: "streaming" });
}

function call(parts: Part[], { toolName, toolCallId, input }: Extract<Chunk, { type: "tool-input" }>): void {
  if (parts.some((part) => part.type === "dynamic-tool" && part.toolCallId === toolCallId)) return;
  finish(parts, parts.length);
  parts.push({ type: "dynamic-tool", toolName, toolCallId, input, state: "input-available" });
}

/** finish ends the first n parts that still stream: a reader who follows learns of an end by what comes behind it. */
function finish(parts: Part[], n: number): void {
  for (let i = n - 1; i >= 0; i--) {
    const part = parts[i]!;
    if ((part.type === "text" || part.type === "reasoning") && part.state === "streaming") parts[i] = { ...part, state: "done" };
  }
}

function lasted({ durationMs }: { readonly durationMs?: number }): { durationMs?: number } {
  return durationMs === undefined ? {} : { durationMs };
}
