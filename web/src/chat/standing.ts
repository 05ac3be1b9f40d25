import type { Agent, Pending } from "@svc/react";
import type { Turn } from "./turns";

/** Standing is how a conversation is laid out: what has its place in the transcript, what waits, and what runs. */
export interface Standing {
  readonly rows: readonly Turn[];
  readonly queue: readonly Pending[];
  /** The turn that is being answered. */
  readonly running: Turn | undefined;
  /** The turn of which nobody knows whether it is being answered: the conversation cannot be read now. */
  readonly unsure: Turn | undefined;
  readonly busy: boolean;
}

/**
 * standingOf: what was sent stands in the transcript when nothing is before it, and else in the queue. What rests, refused or not
 * sent, stands at the end of the transcript until somebody decides.
 */
export function standingOf({ status, pending, messages }: Pick<Agent, "status" | "pending" | "messages">, turns: readonly Turn[]): Standing {
  const busy = status === "streaming" || status === "submitted";
  const last = turns.at(-1);
  // A conversation that was only sent something stands as submitted too: then its last turn is over.
  const runs = busy && last !== undefined && !last.settlement && (status === "streaming" || last.replies.length === 0);
  const running = runs ? last : undefined;
  const unsure = (status === "error" || status === "loading") && last && !last.settlement ? last : undefined;
  const going = pending.filter(({ state }) => state === "sending" || state === "waiting");
  const queue = running ? going : going.slice(1);
  const queued = new Set(queue.map(({ key }) => key));
  const placed = messages.filter((message) => message.pending && !queued.has(message.key));
  const rows = placed.length === 0 ? turns : [...turns, ...placed.map((input): Turn => ({ key: input.key, submissionId: input.submissionId, input, replies: [], settlement: undefined }))];
  return { rows, queue, running, unsure, busy };
}
