import type { ReactNode } from "react";
import type { Agent, Pending } from "@svc/react";
import { Button } from "../kit/Button";

export interface QueueProps {
  queue: readonly Pending[];
  stop: Agent["stop"];
  /** The submission that runs; undefined: none. */
  running: string | undefined;
  onEdit: (text: string) => void;
  why: string | undefined;
}

/** Queue is what was sent and waits for the reply before it, in its order. */
export function Queue({ queue, stop, running, onEdit, why }: QueueProps): ReactNode {
  if (queue.length === 0) return null;
  return (
    <ol className="queues" aria-label="Waiting prompts">
      {queue.map((pending, i) => (
        <li key={pending.key} className="queue">
          <span className="tag">{i === 0 ? "Next" : `${i + 1}.`}</span>
          <span className="trunc grow">{pending.message.body || "An image"}</span>
          <span className="faint desk t12">{pending.state === "sending" ? "sending" : i === 0 ? "starts when this reply ends" : "waits"}</span>
          {i === 0 && running && (
            <Button small look="ghost" className="desk" why={why} onClick={() => void stop(running)}>Stop only this reply</Button>
          )}
          {pending.submissionId && (
            <>
              {pending.own && <Button small look="ghost" icon="edit" label="Take back and edit" why={why} onClick={() => void stop(pending.submissionId).then(() => onEdit(pending.message.body))} />}
              <Button small look="ghost" icon="x" label="Remove from the queue" why={why} onClick={() => void stop(pending.submissionId)} />
            </>
          )}
        </li>
      ))}
    </ol>
  );
}
