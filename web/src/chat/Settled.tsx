import { useEffect, type ReactNode } from "react";
import { Button } from "../kit/Button";
import { CopyButton } from "../kit/CodeSample";
import { count, lasting } from "../kit/amount";
import { Failure } from "./Failure";
import { sawEnd, seenFor } from "./measured";
import { proseOf, spentOf, tookOf, type Turn } from "./turns";
import { timeOf, type TurnActs } from "./TurnView";

/** Settled is the end of a turn: what it took, or why it did not come to its end. */
export function Settled({ turn, agent, acts, why }: { turn: Turn; agent: string; acts: TurnActs | undefined; why: string | undefined }): ReactNode {
  const { settlement, input, replies, submissionId } = turn;
  if (submissionId) sawEnd(submissionId);
  useEffect(() => {
    if (submissionId) sawEnd(submissionId);
  }, [submissionId]);
  const took = tookOf(turn);
  const again = acts && input?.role === "user" ? () => void acts.retry(input.key) : undefined;
  if (settlement?.outcome === "failed") {
    return <Failure agent={agent} submissionId={submissionId} error={settlement.error} live={submissionId !== undefined && seenFor(submissionId) !== undefined} onAgain={again} why={why} />;
  }
  const text = proseOf(turn);
  const { tokens, cost, model, version } = spentOf(replies);
  const stopped = settlement?.outcome === "aborted";
  const facts = [
    agent !== "central" && version && `v${version}`,
    stopped ? (took === undefined ? "Stopped" : `Stopped after ${lasting(took)}`) : timeOf(replies[0]?.metadata.timestamp),
    !stopped && took !== undefined && lasting(took),
    tokens > 0 && `${count(tokens)} tokens`,
    cost > 0 && `$${cost < 0.01 ? cost.toFixed(4) : cost.toFixed(2)}`,
    model?.startsWith("scripted/") && "scripted model",
  ].filter(Boolean);
  return (
    <div className={stopped ? "foot stopped" : "foot"}>
      <span className="num" title={model}>{facts.join(" · ")}</span>
      {text !== "" && <CopyButton text={text} label="Copy" />}
      {again && <Button look="ghost" small icon="redo" label="Ask again" why={why} onClick={again} />}
    </div>
  );
}
