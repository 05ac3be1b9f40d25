import type { DeliveredMessage, Message, Part, Submission, SvcError } from "@svc/sdk";

/** AgentMessage is a message and the React key that it keeps from the moment of its sending. One that is finished never changes. */
export interface AgentMessage extends Message {
  readonly key: string;
  /** What is known of a message that the conversation does not have yet. */
  readonly pending?: Pending;
}

/**
 * How a sending stands: `sending` until the service has it; `waiting` in the queue; `refused`, and nothing was admitted;
 * `unknown` where no answer came, and it may have been; `stopped` before it was begun. The last three stay until they are
 * retried or discarded.
 */
export type PendingState = "sending" | "waiting" | "refused" | "unknown" | "stopped";

/** Since is what was there before something was sent: so many messages, and the submissions that waited as far as they were known. */
export interface Since {
  readonly messages: number;
  readonly queue: readonly string[];
}

/** Sending names what this page sends: with the same key it is admitted once. */
export interface Sending {
  readonly idempotencyKey: string;
  /** What was there before it was sent; undefined: that is not known, and nothing is taken for it. */
  readonly since?: Since | undefined;
}

/** Unsent is what a page keeps of a pending message that has no submission, to restore it after a reload. It is plain JSON. */
export interface Unsent {
  readonly state: PendingState;
  readonly message: DeliveredMessage;
  readonly sending: Sending;
}

/** Pending is a message that was sent, and is not in the conversation. */
export interface Pending {
  readonly key: string;
  readonly state: PendingState;
  /** What was sent. Of a sending that this page does not know, the first 280 characters. */
  readonly message: DeliveredMessage;
  readonly submissionId: string | undefined;
  /** Why it was refused, or what became of its answer. */
  readonly error: SvcError | undefined;
  /** Where it stands in the queue, as far as the service was asked. */
  readonly submission: Submission | undefined;
  /** Whether it was sent here, and not in another tab, before a reload or by somebody else. */
  readonly own: boolean;
  /** How it is sent, where it was sent here. */
  readonly sending?: Sending;
}

/** isInput reports whether a message is what a submission sent, and no answer to it. */
export function isInput(message: Message): message is Message & { submissionId: string } {
  return message.submissionId !== undefined && (message.purpose === "user" || message.purpose === "dispatch");
}

/** Current is the submission that was begun last, the only one that can be in progress, and whether it is being answered. */
export interface Current {
  id: string;
  replied: boolean;
}

export function currentOf(messages: readonly Message[]): Current | undefined {
  let id: string | undefined;
  for (let i = messages.length - 1; i >= 0; i--) {
    const message = messages[i]!;
    if (message.submissionId === undefined) continue;
    id ??= message.submissionId;
    if (message.submissionId === id && message.role === "assistant") return { id, replied: true };
    if (message.submissionId !== id || isInput(message)) break;
  }
  return id === undefined ? undefined : { id, replied: false };
}

/** isWriting reports whether a reply is seen to grow. */
export function isWriting(message: Message | undefined): boolean {
  return message?.parts.some((part) => (part.type === "text" || part.type === "reasoning") && part.state === "streaming") ?? false;
}

/** rowOf is a pending message as the conversation will show it. */
export function rowOf(pending: Pending): AgentMessage {
  const { key, message, submissionId } = pending;
  const said = message.kind === "user" ? ({ role: "user", purpose: "user", display: "visible" } as const) : ({ role: "system", purpose: "dispatch", display: "diagnostic" } as const);
  return { id: key, key, ...said, ...(submissionId && { submissionId }), parts: partsOf(message, key), metadata: {}, pending };
}

function partsOf(message: DeliveredMessage, key: string): Part[] {
  const files = message.kind === "user" ? (message.attachments ?? []) : [];
  return [
    { type: "text", text: message.body, state: "done" },
    ...files.map(({ data, mimeType, filename }, i): Part => {
      const size = Math.floor((data.replace(/[\s=]/g, "").length * 3) / 4);
      return { type: "file", id: `${key}-${i}`, mediaType: mimeType, size, ...(filename && { filename }), url: `data:${mimeType};base64,${data}` };
    }),
  ];
}

/** saysTheSame reports whether a message of the conversation can be what was sent. */
export function saysTheSame(message: Message, sent: DeliveredMessage): boolean {
  const files = sent.kind === "user" ? (sent.attachments ?? []) : [];
  return (
    (message.role === "user") === (sent.kind === "user") &&
    textOf(message) === sent.body &&
    message.parts.filter((part) => part.type === "file").length === files.length
  );
}

/** The queue tells so many characters of a text. */
const previewLength = 280;

/** isPreview reports whether what the queue tells of a text can be of what was sent. */
export function isPreview(preview: string, { body }: DeliveredMessage): boolean {
  return preview === body || (body.startsWith(preview) && Array.from(preview).length === previewLength);
}

export function textOf(message: Message): string {
  return message.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}
