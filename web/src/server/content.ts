import { SvcError, type Client } from "@svc/sdk";
import { namesOf, type Workspace } from "./workspace";

/** Content is what a file holds, and the etag of exactly that. */
export interface Content {
  readonly blob: Blob;
  readonly etag: string;
}

/** contentPath is the address of a file's content, each part of its path encoded. */
export function contentPath(workspace: Workspace, slug: string, path: string): string {
  const segments = path.split("/").map(encodeURIComponent).join("/");
  return `/api/workspaces/${namesOf(workspace)}/projects/${slug}/files/${segments}`;
}

/** readContent reads a file as it is, also one that is JSON. */
export function readContent(client: Client, address: string, signal?: AbortSignal): Promise<Content> {
  const { connection } = client;
  return connection.patiently({ method: "GET", url: connection.site(address), accept: "*/*", signal }, async (response, attempt) => ({
    blob: await attempt.blob(response, connection.timing.idle),
    etag: response.headers.get("etag") ?? "",
  }));
}

/** Condition is which content a write replaces: one by its etag, none at all, or whatever is there. */
export type Condition = { readonly etag: string } | "new" | "any";

export interface Writing {
  readonly address: string;
  readonly body: Blob;
  readonly condition: Condition;
  readonly signal?: AbortSignal | undefined;
  /** Told how many bytes are on their way. */
  readonly onProgress?: (sent: number) => void;
}

/** writeContent makes or replaces a file. It goes by XMLHttpRequest: fetch does not tell how much of a body has left. */
export function writeContent({ address, body, condition, signal, onProgress }: Writing): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const abort = (): void => request.abort();
    const failed = (): void => reject(new SvcError({ type: "network_error", message: "The server did not answer." }));
    request.open("PUT", address);
    if (condition === "new") request.setRequestHeader("if-none-match", "*");
    else if (condition !== "any") request.setRequestHeader("if-match", condition.etag);
    request.upload.onprogress = (event) => onProgress?.(event.loaded);
    request.onerror = failed;
    request.ontimeout = failed;
    request.onabort = () => reject(signal?.reason ?? new DOMException("Cancelled", "AbortError"));
    request.onload = () => {
      if (request.status < 300) resolve(request.getResponseHeader("etag") ?? "");
      else reject(refusalOf(request.status, request.responseText, request.getResponseHeader("x-request-id")));
    };
    request.onloadend = () => signal?.removeEventListener("abort", abort);
    if (signal?.aborted) return reject(signal.reason as Error);
    signal?.addEventListener("abort", abort);
    // Without a type of its own the body would carry that of the file, which the service does not ask for.
    request.send(body.slice(0, body.size, "application/octet-stream"));
  });
}

/** refusalOf is what the service said against a write, as the client tells every other refusal. */
export function refusalOf(status: number, text: string, requestId: string | null): SvcError {
  const told = envelopeIn(text);
  return new SvcError({
    status,
    type: told?.type ?? "http_error",
    message: told?.message ?? `The answer is ${status}.`,
    details: told?.details ?? "",
    meta: told?.meta,
    requestId: requestId ?? undefined,
  });
}

interface Envelope {
  type: string;
  message: string;
  details?: string;
  meta?: Record<string, unknown>;
}

function envelopeIn(text: string): Envelope | undefined {
  try {
    return (JSON.parse(text) as { error?: Envelope }).error;
  } catch {
    return undefined;
  }
}
