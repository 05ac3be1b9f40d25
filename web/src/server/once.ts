import { newKey, type SvcError } from "@svc/sdk";

/** Sent is a request that a page has sent, and the key that names it. */
export interface Sent {
  /** The act that it belongs to. */
  readonly by: object;
  /** All that it asks for; undefined: it carries a file, and is like no other. */
  readonly asks: string | undefined;
  readonly key: string;
  /** Its answer is still to come. */
  pending: boolean;
}

/** The request that was sent last, until its end is known. Another one forgets it: that may have undone what it did. */
let last: Sent | undefined;

/** begin names a request. One that asks for the same again, after nobody knew what became of it, has the same key. Undefined: the same is on its way. */
export function begin(by: object, asks: string | undefined, key?: string): Sent | undefined {
  const same = asks !== undefined && last?.by === by && last.asks === asks ? last : undefined;
  if (same?.pending) return undefined;
  return (last = { by, asks, key: key ?? same?.key ?? newKey(), pending: true });
}

/** end is told what came of a request. An answer and a refusal are its end; without either it may have been done. */
export function end(sent: Sent, error?: SvcError): void {
  sent.pending = false;
  if (last === sent && (!error || (error.status >= 400 && error.status < 500))) last = undefined;
}
