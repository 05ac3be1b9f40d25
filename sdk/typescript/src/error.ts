/** What is known of something that went wrong. */
export interface ErrorFacts {
  type: string;
  message: string;
  status?: number;
  requestId?: string | undefined;
  details?: string;
  meta?: Record<string, unknown> | undefined;
  retryAfter?: number | undefined;
  idempotencyKey?: string | undefined;
  submissionId?: string;
  runId?: string;
  body?: unknown;
  cause?: unknown;
}

/**
 * SvcError is the one error of this package: a refusal of the service, an answer that never came, a submission or a run that
 * failed. Branch on `type`, never on `message`. What a caller aborts rejects with the reason of its signal instead.
 */
export class SvcError extends Error {
  /** A name for machines, such as `agent_not_found`. Ours are `network_error`, `credentials_error`, `bad_response`,
   *  `redirected`, `stalled`, `frame_too_large`, `settlement_missing`, `run_failed` and, for an answer that has no type,
   *  `http_error`. */
  readonly type: string;
  /** The status of the answer; 0 where there was none. */
  readonly status: number;
  /** The id by which an operator finds the request. */
  readonly requestId: string | undefined;
  readonly details: string;
  readonly meta: Record<string, unknown> | undefined;
  /** Milliseconds to wait before asking again, where the service said so; ten minutes at most. */
  readonly retryAfter: number | undefined;
  /** The key of the request. Send it again with the same body, and nothing is done twice. */
  readonly idempotencyKey: string | undefined;
  readonly submissionId: string | undefined;
  readonly runId: string | undefined;
  /** The answer as it came, where it was not in the service's envelope. */
  readonly body: unknown;

  constructor(facts: ErrorFacts) {
    super(facts.message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.name = "SvcError";
    this.type = facts.type;
    this.status = facts.status ?? 0;
    this.requestId = facts.requestId;
    this.details = facts.details ?? "";
    this.meta = facts.meta;
    this.retryAfter = facts.retryAfter;
    this.idempotencyKey = facts.idempotencyKey;
    this.submissionId = facts.submissionId;
    this.runId = facts.runId;
    this.body = facts.body;
  }
}

/** errorOf is the refusal that an answer tells. */
export async function errorOf(response: Response, idempotencyKey?: string): Promise<SvcError> {
  const { status } = response;
  const requestId = response.headers.get("x-request-id") ?? undefined;
  if (isRedirect(response)) return new SvcError({ type: "redirected", message: elsewhere, status, requestId, idempotencyKey });
  const body = parsed(await response.text().catch(() => ""));
  const told = envelope(body);
  return new SvcError({
    type: text(told?.["type"]) ?? "http_error",
    message: text(told?.["message"]) ?? `The answer is ${status}.`,
    details: text(told?.["details"]) ?? "",
    meta: record(told?.["meta"]),
    status,
    requestId,
    retryAfter: wait(response.headers.get("retry-after")),
    idempotencyKey,
    body: told ? undefined : body,
  });
}

const elsewhere = "The service is elsewhere: a redirect is not followed, and which baseUrl to name is unknown.";

/** isRedirect reports whether an answer leads elsewhere. A page is not told its status. */
function isRedirect({ type, status }: Response): boolean {
  return type === "opaqueredirect" || [301, 302, 303, 307, 308].includes(status);
}

/** badResponse is an answer that is not the service's: of a proxy, or cut where nothing tells that it was. */
export function badResponse(response: Response, message: string): SvcError {
  return new SvcError({
    type: "bad_response",
    message,
    status: response.status,
    requestId: response.headers.get("x-request-id") ?? undefined,
  });
}

/** isTransient reports whether the same request may do better later. */
export function isTransient(error: unknown): boolean {
  if (!(error instanceof SvcError) || error.type === "frame_too_large" || error.type === "redirected") return false;
  // It is not the service that cannot be reached, but what it was to look at: the answer is the result of the look.
  if (error.type === "mcp_unreachable") return false;
  if (error.status === 0 || error.type === "bad_response") return true;
  // A workspace without room stays so until somebody makes some.
  return [408, 425, 429].includes(error.status) || (error.status >= 500 && error.status !== 507);
}

function envelope(body: unknown): Record<string, unknown> | undefined {
  const told = record(record(body)?.["error"]);
  return typeof told?.["type"] === "string" ? told : undefined;
}

function record(value: unknown): Record<string, unknown> | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return body;
  }
}

/** The longest wait that a service can ask for. */
const longestWait = 600_000;

/** wait reads Retry-After, in seconds or as a date. */
function wait(header: string | null): number | undefined {
  if (header === null) return undefined;
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(0, ms), longestWait);
}
