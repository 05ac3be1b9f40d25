/** What an agent is sent: a turn of a talk, or an event. */
export type DeliveredMessage =
  | { kind: "user"; body: string; attachments?: Attachment[] }
  | { kind: "signal"; type: string; body: string; attributes?: Record<string, string>; tagName?: string };

/** An image, in base64. */
export interface Attachment {
  type: "image";
  data: string;
  mimeType: string;
  filename?: string;
}

/** A message of a conversation. One that is finished never changes. */
export interface Message {
  readonly id: string;
  readonly role: "user" | "assistant" | "system";
  readonly purpose: "user" | "assistant" | "dispatch" | "advisory";
  readonly display: "visible" | "hidden" | "diagnostic";
  readonly submissionId?: string;
  readonly turnId?: string;
  readonly signal?: { readonly tagName?: string; readonly attributes?: Readonly<Record<string, string>> };
  readonly parts: readonly Part[];
  readonly metadata: Metadata;
}

export interface Metadata {
  readonly timestamp?: string;
  readonly usage?: Usage;
  readonly model?: ModelName;
  readonly agentVersion?: string;
}

export interface ModelName {
  readonly provider: string;
  readonly id: string;
}

export interface Usage {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly totalTokens: number;
  readonly cost: { readonly input: number; readonly output: number; readonly cacheRead: number; readonly cacheWrite: number; readonly total: number };
  readonly [more: string]: unknown;
}

export type Part = TextPart | FilePart | ToolPart;

export interface TextPart {
  readonly type: "text" | "reasoning";
  readonly text: string;
  readonly state: "streaming" | "done";
}

export interface FilePart {
  readonly type: "file";
  readonly mediaType: string;
  readonly id: string;
  readonly size: number;
  readonly filename?: string;
  /** Where it is; added by this package. */
  readonly url?: string;
}

export interface ToolPart {
  readonly type: "dynamic-tool";
  readonly toolName: string;
  readonly toolCallId: string;
  readonly input: unknown;
  readonly state: "input-available" | "output-available" | "output-error";
  readonly output?: unknown;
  readonly errorText?: string;
  readonly durationMs?: number;
}

/** How a submission ended. */
export interface Settlement {
  readonly submissionId: string;
  readonly outcome: "completed" | "failed" | "aborted";
  readonly error?: SettlementError;
}

export interface SettlementError {
  readonly name: string;
  readonly message: string;
  readonly type: string;
  readonly details: string;
  readonly meta?: Record<string, unknown>;
}

/** A conversation, and where its updates go on. */
export interface Conversation {
  readonly conversationId: string;
  readonly messages: readonly Message[];
  readonly settlements: readonly Settlement[];
  readonly offset: string;
}

/** Where a chunk stands in its stream: it is what tells one that was seen before. */
export interface Position {
  readonly batch: number;
  readonly index: number;
}

/** One update of a conversation. */
export type Chunk = { readonly conversationId: string; readonly position: Position } & (
  | { readonly type: "conversation-reset"; readonly snapshot: Conversation }
  | { readonly type: "message-appended"; readonly message: Message }
  | {
      readonly type: "message-started";
      readonly messageId: string;
      readonly timestamp?: string;
      readonly submissionId?: string;
      readonly turnId?: string;
      readonly model?: ModelName;
      readonly agentVersion?: string;
    }
  | { readonly type: "message-delta"; readonly messageId: string; readonly kind: "text" | "reasoning"; readonly delta: string }
  | { readonly type: "tool-input"; readonly messageId: string; readonly toolCallId: string; readonly toolName: string; readonly input: unknown }
  | { readonly type: "tool-output"; readonly toolCallId: string; readonly output: unknown; readonly durationMs?: number }
  | { readonly type: "tool-output-error"; readonly toolCallId: string; readonly errorText: string; readonly durationMs?: number }
  | { readonly type: "message-completed"; readonly messageId: string; readonly usage?: Usage }
  | ({ readonly type: "submission-settled" } & Settlement)
);

/** Work that an agent instance has not settled. */
export interface Submission {
  readonly submissionId: string;
  readonly kind: "direct" | "dispatch";
  readonly preview: string;
  readonly admittedAt: string;
  readonly state: "queued" | "running" | "aborting" | "parked";
  readonly reason?: string;
}

/** The record of a run. */
export interface Run<Result = unknown> {
  readonly runId: string;
  readonly workflowName: string;
  readonly status: "active" | "completed" | "errored";
  readonly startedAt: string;
  readonly input?: unknown;
  readonly endedAt?: string;
  readonly isError?: boolean;
  readonly durationMs?: number;
  readonly result?: Result;
  readonly error?: { readonly name: string; readonly message: string };
}

interface EventFacts {
  readonly v: 3;
  readonly eventIndex: number;
  readonly timestamp: string;
  readonly runId: string;
  readonly harness?: string;
  readonly session?: string;
  readonly parentSession?: string;
  readonly conversationId?: string;
  readonly taskId?: string;
  readonly operationId?: string;
  readonly turnId?: string;
}

interface EventKinds {
  run_start: { workflowName: string; startedAt: string; input?: unknown };
  run_resume: { workflowName: string; startedAt: string };
  run_end: { isError: boolean; durationMs: number; result: unknown; error?: { name: string; message: string } };
  log: { level: "info" | "warn" | "error"; message: string; attributes?: Record<string, unknown> & { step?: Step } };
  operation_start: { operationId: string; operationKind: "prompt" | "skill" | "task" | "shell" | "compact" };
  operation: {
    operationId: string;
    operationKind: string;
    durationMs: number;
    isError: boolean;
    result?: unknown;
    usage?: Usage;
    error?: { name: string; message: string };
  };
  idle: {};
  agent_start: {};
  agent_end: { messages: unknown[] };
  turn_start: { turnId: string; purpose: string };
  message_start: { message: unknown; turnId?: string };
  message_end: { message: unknown; turnId?: string };
  text_delta: { text: string };
  thinking_start: { contentIndex?: number };
  thinking_delta: { delta: string; contentIndex?: number };
  thinking_end: { content: string; contentIndex?: number };
  turn: { turnId: string; purpose: string; durationMs: number; isError: boolean; request: Record<string, unknown>; response: Record<string, unknown> };
  tool_start: { toolName: string; toolCallId: string };
  tool: { toolName: string; toolCallId: string; isError: boolean; result?: unknown; durationMs: number };
  turn_messages: { turnId: string; purpose: string; message: unknown; toolResults: unknown[] };
  task_start: { taskId: string; prompt: string; agent?: string; cwd?: string };
  task: { taskId: string; agent?: string; isError: boolean; result?: string; durationMs: number };
  compaction_start: { reason: "threshold" | "overflow" | "manual"; estimatedTokens: number };
  compaction: { messagesBefore: number; messagesAfter: number; durationMs: number; isError: boolean; error?: unknown; usage?: Usage };
}

/** What a log event of a durable step says of it. */
export interface Step {
  readonly name: string;
  readonly seq: number;
  readonly attempt: number;
  readonly state: "started" | "finished" | "failed" | "kept";
  readonly durationMs?: number;
}

/** One event of a run. */
export type RunEvent = { [Type in keyof EventKinds]: EventFacts & { readonly type: Type } & Readonly<EventKinds[Type]> }[keyof EventKinds];
