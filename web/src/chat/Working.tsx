import type { ReactNode } from "react";
import { useLasting } from "./ticking";
import { sawBegin } from "./measured";
import type { Turn } from "./turns";

/** Working says that nothing is seen, and yet something is done. Its place is there before, so that nothing jumps. */
export function Working({ turn, empty, over }: { turn: Turn; empty: boolean; /** Nothing more comes. */ over: boolean }): ReactNode {
  if (turn.submissionId && !over) sawBegin(turn.submissionId, turn.input?.metadata.timestamp);
  return (
    <div className="working">
      {!over && <Quiet key={changeOf(turn)} empty={empty} />}
    </div>
  );
}

function Quiet({ empty }: { empty: boolean }): ReactNode {
  const quiet = useLasting(true, empty ? 250 : 600);
  return quiet && (
    <>
      <span className="spin" /> Working
    </>
  );
}

/** changeOf is another with each visible change. */
function changeOf({ replies }: Turn): string {
  const last = replies.at(-1);
  const part = last?.parts.at(-1);
  return `${replies.length} ${last?.parts.length ?? 0} ${part && "text" in part ? part.text.length : (part && "state" in part ? part.state : "")}`;
}
