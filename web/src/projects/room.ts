import type { SvcError } from "@svc/sdk";
import { bytes } from "../kit/amount";
import { sentenceOf } from "../kit/Refusal";

/** refusedFor says why a file was not stored, in figures where it is a matter of room. */
export function refusedFor(error: SvcError): string {
  if (error.status === 413) {
    const limit = error.meta?.["limit"];
    return typeof limit === "number" ? `This file is too large: at most ${bytes(limit)} can be stored in one.` : "This file is too large.";
  }
  if (error.status !== 507) return sentenceOf(error);
  const [limit, used, wanted] = ["limitBytes", "usedBytes", "requestedBytes"].map((name) => error.meta?.[name]);
  if (typeof limit !== "number" || typeof used !== "number") return "The workspace is full. Delete something, then try again.";
  const free = Math.max(0, limit - used);
  if (typeof wanted !== "number" || wanted <= free) return `The workspace is full: ${bytes(free)} of ${bytes(limit)} are left. Delete something, then try again.`;
  return `${bytes(wanted - free)} too much: this needs ${bytes(wanted)}, and ${bytes(free)} of ${bytes(limit)} are left. Delete something, then try again.`;
}
