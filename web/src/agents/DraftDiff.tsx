import type { ReactNode } from "react";
import { Button } from "../kit/Button";
import { Dialog } from "../kit/Dialog";
import { changesOf } from "./agent";
import { Difference } from "./Difference";
import type { Draft } from "./draft";

/** DraftDiff is what a save would change. */
export function DraftDiff({ draft, next, onClose }: { draft: Draft; next: number; onClose: () => void }): ReactNode {
  const changes = changesOf(draft.base, draft.mine).map((field) => ({ field, before: draft.base[field], after: draft.mine[field] }));
  return (
    <Dialog wide title={`What v${next} changes of v${draft.version}`} onClose={onClose} footer={<Button onClick={onClose}>Close</Button>}>
      <Difference changes={changes} />
    </Dialog>
  );
}
