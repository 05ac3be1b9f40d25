import type { ReactNode } from "react";
import { Button } from "../kit/Button";
import { ConflictBar } from "../kit/ConflictBar";
import { Icon } from "../kit/Icon";
import type { Entry } from "./tree";
import type { Editing } from "./useText";

/** FileConflict is for a save that somebody else was faster with. Nothing is lost until the person chooses. */
export function FileConflict({ text, entry }: { text: Editing; entry: Entry | null }): ReactNode {
  const { theirs } = text;
  if (theirs === null || entry === null) {
    return (
      <div className="conflict" role="alert">
        <Icon name="warn" />
        <p>{text.dirty ? "Somebody deleted this file while you were writing. Yours is not saved yet." : "Somebody deleted this file. This is what it held last."}</p>
        <Button small look="primary" busy={text.saving} onClick={() => void text.save("new")}>Save it again</Button>
      </div>
    );
  }
  return (
    <ConflictBar
      what="this file"
      busy={text.saving}
      onTheirs={text.takeTheirs}
      {...(theirs && { onMerge: text.compare })}
      onMine={() => void text.save(theirs ? { etag: theirs.etag } : undefined)}
    />
  );
}
