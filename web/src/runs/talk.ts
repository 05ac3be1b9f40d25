import type { AgentMessage } from "@svc/react";
import { Projection, type Message, type Part, type RunEvent, type Usage } from "@svc/sdk";
import { Turns, type Ended, type Turn } from "../chat/turns";
import { isObject, resultText, saidOf, textOf, type Said } from "./message";

type Of<Type extends RunEvent["type"]> = Extract<RunEvent, { type: Type }>;

/**
 * Talk folds the events of a run into the conversation that its agents had: what a workflow asks is a question, and the operation that
 * answers it a turn. It makes the updates of a conversation of them, so that a run is shown as a chat is.
 */
export class Talk {
  readonly #projection = new Projection();
  readonly #turns = new Turns();
  readonly #ended: Ended[] = [];
  /** The operations that were begun, in their order, by the turn that they belong to. */
  readonly #turnOf = new Map<string, string>();
  readonly #open = new Map<string, Of<"operation_start">>();
  /** Operations that a restart cut: each is done again as another, in the same turn. */
  #cut: Of<"operation_start">[] = [];
  readonly #keyed = new WeakMap<Message, AgentMessage>();
  #at = 0;
  #index = 0;

  /** turns are the conversation as it stands: the same objects where nothing has changed. */
  turns(): readonly Turn[] {
    // Prompts that run side by side are read one after the other.
    const order = new Map([...new Set(this.#turnOf.values())].map((turn, i) => [turn, i]));
    const place = ({ submissionId = "" }: Message): number => order.get(submissionId) ?? 0;
    const messages = [...this.#projection.view().messages].sort((a, b) => place(a) - place(b));
    return this.#turns.of(messages.map((message) => this.#row(message)), this.#ended);
  }

  add(event: RunEvent): void {
    this.#at = event.eventIndex;
    this.#index = 0;
    switch (event.type) {
      case "operation_start": return this.#begin(event);
      case "operation": return this.#end(event);
      case "message_start": return this.#start(event);
      case "text_delta": return this.#grow(event, "text", event.text);
      case "thinking_delta": return this.#grow(event, "reasoning", event.delta);
      case "message_end": return this.#finish(event);
      case "tool": return this.#answer(event);
      case "run_resume": return this.#resume();
    }
  }

  #begin(event: Of<"operation_start">): void {
    const again = this.#cut.findIndex((cut) => cut.operationKind === event.operationKind && cut.session === event.session);
    const [cut] = again < 0 ? [] : this.#cut.splice(again, 1);
    this.#turnOf.set(event.operationId, (cut && this.#turnOf.get(cut.operationId)) ?? event.operationId);
    this.#open.set(event.operationId, event);
  }

  #end({ operationId, isError, durationMs, error }: Of<"operation">): void {
    this.#open.delete(operationId);
    const failure = { name: error?.name ?? "Error", message: error?.message ?? "This failed, and its events do not say why.", type: "operation_failed", details: "" };
    this.#ended.push({ submissionId: this.#turn({ operationId }), outcome: isError ? "failed" : "completed", took: durationMs, ...(isError && { error: failure }) });
  }

  // What was said before a restart stays, and a seam stands behind it.
  #resume(): void {
    this.#cut = [...this.#open.values()];
    this.#open.clear();
    for (const { operationId } of this.#cut) {
      const submissionId = this.#turn({ operationId });
      const id = `${operationId}_${this.#at}_stream_continued`;
      this.#put({ id, role: "system", purpose: "advisory", display: "hidden", submissionId, parts: [], metadata: {} });
    }
  }

  #start(event: Of<"message_start">): void {
    const said = saidOf(event.message);
    if (said?.role === "user") return this.#put(asked(event, said, this.#turn(event)));
    if (said?.role !== "assistant") return;
    const { turnId, timestamp } = event;
    this.#apply({ type: "message-started", messageId: idOf(event), timestamp, submissionId: this.#turn(event), ...(turnId && { turnId }), ...modelOf(said) });
  }

  #grow(event: Of<"text_delta"> | Of<"thinking_delta">, kind: "text" | "reasoning", delta: string): void {
    this.#apply({ type: "message-delta", messageId: idOf(event), kind, delta });
  }

  // A message is whole when it has ended, however little of it was seen to come.
  #finish(event: Of<"message_end">): void {
    const said = saidOf(event.message);
    if (said?.role !== "assistant") return;
    const { turnId } = event;
    const usage = isObject(event.message) ? (event.message["usage"] as Usage | undefined) : undefined;
    const begun = this.#projection.view().messages.find((message) => message.id === idOf(event))?.metadata.timestamp ?? event.timestamp;
    this.#put({
      ...{ id: idOf(event), role: "assistant", purpose: "assistant", display: "visible", submissionId: this.#turn(event), parts: partsOf(event.message) },
      ...(turnId && { turnId }),
      metadata: { timestamp: begun, ...(usage && { usage }), ...modelOf(said) },
    });
  }

  #answer({ toolCallId, isError, result, durationMs }: Of<"tool">): void {
    const told = resultText(result);
    if (isError) this.#apply({ type: "tool-output-error", toolCallId, errorText: told, durationMs });
    else this.#apply({ type: "tool-output", toolCallId, output: valueOf(told), durationMs });
  }

  #turn({ operationId = "" }: { operationId?: string }): string {
    // The beginning of a long run is read after its end.
    if (!this.#turnOf.has(operationId)) this.#turnOf.set(operationId, operationId);
    return this.#turnOf.get(operationId) ?? operationId;
  }

  #put(message: Message): void {
    this.#apply({ type: "message-appended", message });
  }

  #apply(chunk: Chunk): void {
    this.#projection.apply({ ...chunk, conversationId: "", position: { batch: this.#at, index: this.#index++ } } as Parameters<Projection["apply"]>[0]);
  }

  #row(message: Message): AgentMessage {
    const made = this.#keyed.get(message) ?? { ...message, key: message.id };
    this.#keyed.set(message, made);
    return made;
  }
}

type Bare<Update> = Update extends unknown ? Omit<Update, "conversationId" | "position"> : never;
type Chunk = Bare<Parameters<Projection["apply"]>[0]>;

/** idOf is the message that an event tells of: a turn has one answer. */
function idOf(event: { turnId?: string; operationId?: string; eventIndex: number }): string {
  return event.turnId ?? event.operationId ?? `event-${event.eventIndex}`;
}

function asked(event: Of<"message_start">, said: Said, submissionId: string): Message {
  return { id: `asked-${event.eventIndex}`, role: "user", purpose: "user", display: "visible", submissionId, parts: [{ type: "text", text: said.text, state: "done" }], metadata: { timestamp: event.timestamp } };
}

function modelOf({ model }: Said): { model?: { provider: string; id: string } } {
  const slash = model?.indexOf("/") ?? -1;
  if (!model) return {};
  return { model: slash < 0 ? { provider: "", id: model } : { provider: model.slice(0, slash), id: model.slice(slash + 1) } };
}

/** partsOf are the blocks of a message as a conversation has them. Their shape is called unstable, so each field is looked at. */
function partsOf(message: unknown): Part[] {
  const content = isObject(message) ? message["content"] : undefined;
  if (typeof content === "string") return [{ type: "text", text: content, state: "done" }];
  if (!Array.isArray(content)) return [];
  return content.filter(isObject).flatMap((block): Part[] => {
    switch (block["type"]) {
      case "text": return [{ type: "text", text: textOf(block["text"]) ?? "", state: "done" }];
      case "thinking": return [{ type: "reasoning", text: textOf(block["thinking"]) ?? textOf(block["text"]) ?? "", state: "done" }];
      case "toolCall": return [{ type: "dynamic-tool", toolName: textOf(block["name"]) ?? "", toolCallId: textOf(block["id"]) ?? "", input: block["arguments"] ?? block["input"], state: "input-available" }];
    }
    return [];
  });
}

/** valueOf is what a tool gave: its value, where the text that the model saw is one. */
function valueOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
