import { useMemo, useState, type ReactNode } from "react";
import { useAgent } from "@svc/react";
import { Button } from "../kit/Button";
import { count, lasting } from "../kit/amount";
import { Sheet } from "../kit/Dialog";
import { Empty } from "../kit/Empty";
import { plain } from "../markdown/plain";
import { Timeline } from "../runs/Timeline";
import type { Looked } from "../runs/RunPage";
import { standingOf } from "./standing";
import { traceOf } from "./trace";
import { askedOf, spentOf, tookOf, Turns, type Turn } from "./turns";
import { timeOf } from "./TurnView";
import "../look/run.css";

export interface TraceProps {
  agent: string;
  instance: string;
  /** The submission whose turn is shown. */
  submission: string;
  looked: Looked;
  onLook: (next: Looked) => void;
  onTurn: (submission: string) => void;
  onClose: () => void;
}

/** Trace is the timeline of a turn, in a sheet beside its conversation. */
export function Trace({ agent: name, instance, submission, looked, onLook, onTurn, onClose }: TraceProps): ReactNode {
  const agent = useAgent(name, instance);
  const [turnsOf] = useState(() => new Turns());
  const all = turnsOf.of(agent.messages, agent.settlements);
  const { running } = standingOf(agent, all);
  const turns = all.filter((turn) => turn.submissionId !== undefined);
  const at = turns.findIndex((turn) => turn.submissionId === submission);
  const turn = turns[at];
  const live = turn !== undefined && turn === running;
  const told = useMemo(() => turn && { fold: traceOf(turn, live) }, [turn, live]);
  const go = (by: number): void => {
    const to = turns[at + by]?.submissionId;
    if (to !== undefined) onTurn(to);
  };
  return (
    <Sheet title="Trace" wide onClose={onClose}>
      {!turn || !told ? (
        <Empty icon="runs" title={agent.phase === "loading" ? "Reading the conversation" : "This conversation has no such turn"} />
      ) : (
        <div className="trace">
          <header>
            <Button small look="ghost" icon="left" label="Turn before" why={at === 0 ? "This is the first turn." : undefined} onClick={() => go(-1)} />
            <Button small look="ghost" icon="rightc" label="Turn after" why={at === turns.length - 1 ? "This is the last turn." : undefined} onClick={() => go(1)} />
            <b className="trunc">{plain(askedOf(turn)) || "Without words"}</b>
            <span className="faint num t12">{factsOf(turn, at, turns.length)}</span>
          </header>
          <Timeline key={submission} told={told} live={live} failed={turn.settlement?.outcome === "failed"} loading={false} looked={looked} onLook={onLook} logs={false} />
        </div>
      )}
    </Sheet>
  );
}

/** factsOf are where a turn stands, when it was, and what it took. */
function factsOf(turn: Turn, at: number, of: number): string {
  const took = tookOf(turn);
  const { tokens } = spentOf(turn.replies);
  return [`${at + 1} of ${of}`, timeOf(turn.input?.metadata.timestamp), turn.settlement && took !== undefined && lasting(took), tokens > 0 && `${count(tokens)} tokens`].filter(Boolean).join(" · ");
}
