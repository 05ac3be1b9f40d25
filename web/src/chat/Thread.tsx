import type { ReactNode } from "react";
import { Transcript, type TranscriptProps } from "./Transcript";
import type { Turn } from "./turns";
import { TurnView, type TurnActs } from "./TurnView";

export interface ThreadProps extends Omit<TranscriptProps, "row"> {
  rows: readonly Turn[];
  agent: string;
  running: Turn | undefined;
  unsure: Turn | undefined;
  acts: TurnActs;
  /** Why nobody can write. */
  why: string | undefined;
}

/** Thread is the turns of a conversation. One can write before its code has come: a new conversation has none. */
export function Thread({ rows, agent, running, unsure, acts, why, ...transcript }: ThreadProps): ReactNode {
  const row = (_: string, index: number): ReactNode => {
    const turn = rows[index];
    return turn && <TurnView turn={turn} agent={agent} running={turn === running} unsure={turn === unsure} place={`${index + 1} of ${rows.length}`} acts={acts} why={why} />;
  };
  return <Transcript {...transcript} row={row} />;
}
