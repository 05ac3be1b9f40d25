import { Suspense, type ReactNode } from "react";
import { Button } from "../kit/Button";
import { Icon } from "../kit/Icon";
import { nameOf } from "./path";
import { authorOf } from "./project";
import { SaveTrouble } from "./SaveTrouble";
import { Editor } from "./TextFile";
import type { Entry } from "./tree";
import type { Editing } from "./useText";

/** Compared is both texts in one: what only one side changed is joined already, and each place can be decided otherwise. */
export function Compared({ path, text, entry }: { path: string; text: Editing; entry: Entry | null }): ReactNode {
  const { theirs } = text;
  if (!theirs) return null;
  const save = (): void => void text.save({ etag: theirs.etag });
  const by = (entry && authorOf(entry)) ?? "somebody else";
  return (
    <>
      <div className="filebar">
        <h2 className="row grow file-name"><span className="w55 trunc">{nameOf(path)}</span><span className="faint t12 w4 nowrap desk">compared with what {by} saved</span></h2>
        <Button onClick={text.leave}>Back to mine</Button>
        <Button look="primary" busy={text.saving} onClick={save}>Save merged</Button>
      </div>
      {text.error && <SaveTrouble error={text.error} onRetry={save} />}
      <div className="banner" role="status">
        <Icon name="info" />
        <p>
          {text.clashes === 0 ? "Both changes fit together." : text.clashes === 1 ? "One place was changed by both: yours stands." : `${text.clashes} places were changed by both: yours stand.`} Red is theirs, green is
          yours. Change what you like, then save.
        </p>
      </div>
      <Suspense fallback={<div className="editor wait" role="status" aria-label="Loading the editor" />}>
        <Editor key={theirs.etag} path={path} text={text.text} saved={text.text} theirs={theirs.text} onChange={text.write} onPlace={() => {}} onSave={save} />
      </Suspense>
    </>
  );
}
