import type { ReactNode } from "react";
import { Button } from "./Button";
import { Icon } from "./Icon";

export interface ConflictBarProps {
  /** What both have changed: "this agent". */
  what: string;
  /** Take what they saved, and lose one's own. */
  onTheirs: () => void;
  /** Save one's own over theirs. */
  onMine: () => void;
  /** Look at both; absent where there is nothing to merge. */
  onMerge?: () => void;
  busy?: boolean;
}

/** ConflictBar is for a change that somebody else was faster with. Nothing is lost until the person chooses. */
export function ConflictBar({ what, onTheirs, onMine, onMerge, busy = false }: ConflictBarProps): ReactNode {
  return (
    <div className="conflict" role="alert">
      <Icon name="warn" />
      <p>Somebody saved {what} while you were writing. Yours is not saved yet.</p>
      <Button small onClick={onTheirs}>Take theirs</Button>
      {onMerge && <Button small onClick={onMerge}>Compare</Button>}
      <Button small look="primary" busy={busy} onClick={onMine}>Save mine</Button>
    </div>
  );
}
