import { newKey, segment, type Connection } from "./connection.js";
import { SvcError } from "./error.js";
import { Projection } from "./projection.js";
import { read, type StreamOptions } from "./stream.js";
import type { Chunk, Conversation, DeliveredMessage, Message, Settlement, Submission } from "./types.js";

export interface SendOptions {
  /** What is sent. A string is a turn of a user. */
  message: DeliveredMessage | string;
  /** Names this sending: the same key and message again are the same submission. Default: a new key. */
  idempotencyKey?: string | undefined;
  signal?: AbortSignal | undefined;
}

/** Admission is what came of a sending: the submission is durable, and its updates lie behind the offset. */
export interface Admission {
  streamUrl: string;
  offset: string;
  submissionId: string;
}

/** send gives an agent instance a message. It is asked for again until it is admitted, and is admitted once. */
export async function send(connection: Connection, name: string, id: string, options: SendOptions): Promise<Admission> {
  const { message, signal, idempotencyKey = newKey() } = options;
  const admission = await connection.json<Admission>({
    method: "POST",
    url: connection.url("agents", name, id),
    body: JSON.stringify(typeof message === "string" ? { kind: "user", body: message } : message),
    contentType: "application/json",
    idempotencyKey,
    signal,
  });
  const path = instance(name, id);
  connection.prompts++;
  for (const tell of connection.prompted) tell(path);
  return admission;
}

export interface WaitOptions extends StreamOptions {
  /** Given each update of the conversation from the admission on. The next one waits for it. */
  onUpdate?: ((chunk: Chunk) => void | Promise<void>) | undefined;
}

/** Reply is what a submission brought. */
export interface Reply {
  submissionId: string;
  /** The messages of the submission: what was sent, and what was answered. */
  messages: readonly Message[];
  /** The text of the last answer. */
  text: string;
  /** Behind this lies what came after the submission. */
  offset: string;
}

/** wait follows a submission until it is settled, and throws a SvcError where that is a failure or an abort. */
export async function wait(connection: Connection, admission: Admission, options: WaitOptions = {}): Promise<Reply> {
  const { submissionId } = admission;
  const [name, id] = instanceOf(admission);
  const projection = new Projection(undefined, dresser(connection, name, id));
  const url = updatesUrl(connection, name, id);
  let settled: Settlement | undefined;
  for await (const batch of read(connection, { ...options, url, offset: admission.offset })) {
    for (const chunk of batch.items as Chunk[]) {
      await options.onUpdate?.(chunk);
      if (chunk.type === "submission-settled" && chunk.submissionId === submissionId) settled = chunk;
      if (concerns(chunk, submissionId)) projection.apply(chunk);
    }
    if (!settled) continue;
    if (settled.outcome !== "completed") throw failure(settled);
    const { messages } = projection.view();
    return { submissionId, messages, text: lastText(messages), offset: batch.offset };
  }
  throw new SvcError({ type: "settlement_missing", message: "The stream ended before the submission did.", submissionId });
}

/** concerns reports whether a chunk is of a submission. Those that only name a message are judged by its beginning. */
function concerns(chunk: Chunk, submissionId: string): boolean {
  switch (chunk.type) {
    case "message-appended":
      return chunk.message.submissionId === submissionId;
    case "message-started":
    case "submission-settled":
      return chunk.submissionId === submissionId;
    case "conversation-reset":
      return false;
  }
  return true;
}

function failure({ submissionId, outcome, error }: Settlement): SvcError {
  return new SvcError({
    type: error?.type ?? `submission_${outcome}`,
    message: error?.message ?? `The submission is ${outcome}.`,
    details: error?.details ?? "",
    meta: error?.meta,
    submissionId,
  });
}

function lastText(messages: readonly Message[]): string {
  const answer = messages.findLast((message) => message.role === "assistant");
  return (answer?.parts ?? []).map((part) => (part.type === "text" ? part.text : "")).join("");
}

/** instanceOf is whom an admission names. It is followed below our own address, so that no credential goes anywhere else. */
function instanceOf({ streamUrl }: Admission): [name: string, id: string] {
  const [name = "", id = ""] = new URL(streamUrl).pathname.split("/").slice(-2).map(decodeURIComponent);
  return [name, id];
}

export interface AbortOptions {
  /** The one submission to stop. Default: all that the instance has not settled. */
  submissionId?: string | undefined;
  signal?: AbortSignal | undefined;
}

/** abort stops the work of an instance, and reports whether there was any. It answers before the work is settled. */
export async function abort(connection: Connection, name: string, id: string, options: AbortOptions = {}): Promise<{ aborted: boolean }> {
  const { submissionId, signal } = options;
  const url = connection.url("agents", name, id, "abort");
  if (submissionId !== undefined) url.searchParams.set("submission", submissionId);
  // Without a name it would stop what was sent since.
  return connection.json<{ aborted: boolean }>({ method: "POST", url, signal, repeats: submissionId !== undefined });
}

export interface AskOptions {
  signal?: AbortSignal | undefined;
}

/** history is a conversation as it stands. */
export async function history(connection: Connection, name: string, id: string, options: AskOptions = {}): Promise<Conversation> {
  const url = connection.url("agents", name, id);
  url.searchParams.set("view", "history");
  const value = await connection.json<Conversation>({ method: "GET", url, signal: options.signal });
  return { ...value, messages: value.messages.map(dresser(connection, name, id)) };
}

/** submissions are the unsettled work of an instance, in the order of its queue. */
export async function submissions(connection: Connection, name: string, id: string, options: AskOptions = {}): Promise<Submission[]> {
  const url = connection.url("agents", name, id, "submissions");
  const value = await connection.json<{ submissions: Submission[] }>({ method: "GET", url, signal: options.signal });
  return value.submissions;
}

/** attachmentUrl is where an attachment is fetched, with the same credentials as everything else. */
export function attachmentUrl(connection: Connection, name: string, id: string, attachmentId: string): string {
  return connection.url("agents", name, id, "attachments", attachmentId).href;
}

/** updatesUrl is where the updates of an instance are read. */
export function updatesUrl(connection: Connection, name: string, id: string): URL {
  const url = connection.url("agents", name, id);
  url.searchParams.set("view", "updates");
  return url;
}

/** dresser adds to the files of a message where they are. */
export function dresser(connection: Connection, name: string, id: string): (message: Message) => Message {
  return (message) => {
    if (!message.parts.some((part) => part.type === "file")) return message;
    const parts = message.parts.map((part) => (part.type === "file" ? { ...part, url: attachmentUrl(connection, name, id, part.id) } : part));
    return { ...message, parts };
  };
}

/** instance names an agent instance within a connection. */
export function instance(name: string, id: string): string {
  return `${segment(name)}/${segment(id)}`;
}
