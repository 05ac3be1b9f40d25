import { useEffect, useState, type ReactNode } from "react";
import type { Agent, AgentMessage, Pending } from "@svc/react";
import { Button } from "../kit/Button";
import { useToast } from "../kit/Toast";
import { plain } from "../markdown/plain";
import { useFailed, useStop } from "./acts";

export interface QueueProps {
  queue: readonly Pending[];
  agent: Agent;
  /** The submission that runs; undefined: none. */
  running: string | undefined;
  /** Brings a prompt back to where it is written. */
  onEdit: (message: AgentMessage) => void;
  /** Takes the focus of a button that vanishes. */
  onLeave: () => void;
}

/** Queue is what was sent and waits for the reply before it, in its order. */
export function Queue({ queue: all, agent, running, onEdit, onLeave }: QueueProps): ReactNode {
  const { taken, takeBack } = useTakeBack(agent);
  const stopRunning = useStop(agent, running);
  const queue = all.filter(({ submissionId, submission }) => !taken.has(submissionId ?? "") && submission?.state !== "aborting");
  const drop = (pending: Pending): void => {
    onLeave();
    void takeBack(pending);
  };
  const stop = (): void => {
    onLeave();
    stopRunning();
  };
  const edit = async (pending: Pending): Promise<void> => {
    const message = agent.messages.find((each) => each.key === pending.key);
    if ((await takeBack(pending)) && message) onEdit(message);
  };
  if (queue.length === 0) return null;
  return (
    <ol className="queues" aria-label="Waiting prompts">
      {queue.map((pending, i) => (
        <li key={pending.key} className="queue">
          <span className="tag">{i === 0 ? "Next" : `${i + 1}.`}</span>
          <span className="trunc grow">{plain(pending.message.body) || "An image"}</span>
          <span className="faint desk t12">{pending.state === "sending" ? "sending" : i === 0 ? "starts when this reply ends" : "waits"}</span>
          {i === 0 && running && <Button small look="ghost" icon="stop" label="Stop only this reply" onClick={stop} />}
          {pending.submissionId && pending.own && <Button small look="ghost" icon="edit" label="Take back and edit" onClick={() => void edit(pending)} />}
          {pending.submissionId && <Button small look="ghost" icon="x" label="Remove from the queue" onClick={() => drop(pending)} />}
        </li>
      ))}
    </ol>
  );
}

/**
 * useTakeBack takes a prompt out of the queue, unless it was begun meanwhile. It is then gone: nobody wants it offered again. The service
 * settles it only when its turn comes, so until then it is not shown.
 */
function useTakeBack(agent: Agent): { taken: ReadonlySet<string>; takeBack: (pending: Pending) => Promise<boolean> } {
  const [taken, setTaken] = useState<ReadonlySet<string>>(new Set());
  const toast = useToast();
  const failed = useFailed();
  useEffect(() => {
    for (const { key, state, submissionId } of agent.pending) if (state === "stopped" && taken.has(submissionId ?? "")) agent.discard(key);
  }, [agent, taken]);
  const takeBack = async ({ submissionId = "" }: Pending): Promise<boolean> => {
    setTaken((before) => new Set([...before, submissionId]));
    try {
      if (await agent.stop(submissionId)) return true;
      toast({ text: "It has begun already." });
    } catch (thrown) {
      failed(thrown);
    }
    setTaken((before) => new Set([...before].filter((each) => each !== submissionId)));
    return false;
  };
  return { taken, takeBack };
}
