import { useMemo, type ReactNode } from "react";
import type { RunEvent } from "@svc/sdk";
import { usePlace, type Place } from "../chat/place";
import { Transcript } from "../chat/Transcript";
import { TurnView } from "../chat/TurnView";
import { Empty } from "../kit/Empty";
import { Talk } from "./talk";
import { useFolded } from "./useRunEvents";
import "../look/chat.css";

/** Conversation is what agents were asked in a run, and what they answered, as a chat shows it. */
export function Conversation({ runId, events, live }: { runId: string; events: readonly RunEvent[]; live: boolean }): ReactNode {
  const told = useFolded(events, runId, () => new Talk());
  const turns = useMemo(() => told.fold.turns(), [told]);
  const place = usePlace(({ pathname, search }) => `${pathname} ${(search as { tab?: string }).tab}`);
  const keys = useMemo(() => turns.map((turn) => turn.key), [turns]);
  if (turns.length === 0) {
    return (
      <div className="run-body" role="tabpanel" aria-label="Conversation">
        <Empty icon="chat" title="No agent has spoken">This run has not asked a model anything.</Empty>
      </div>
    );
  }
  const row = (_: string, index: number): ReactNode => {
    const turn = turns[index];
    return turn && <TurnView turn={turn} agent="Agent" running={live && !turn.settlement} unsure={false} place={`${index + 1} of ${turns.length}`} acts={undefined} why={undefined} />;
  };
  return (
    <div className="talk run-talk" role="tabpanel" aria-label="Conversation">
      <Transcript label="Conversation" keys={keys} row={row} reserved={undefined} begins={place.at ?? (live ? "end" : beginning)} onLeave={place.keep} />
    </div>
  );
}

/** What is over is read from its beginning. */
const beginning: Place = { index: 0, above: 0 };
