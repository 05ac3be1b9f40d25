import { Suspense, useState, type ReactNode } from "react";
import { bytes } from "../kit/amount";
import { Button } from "../kit/Button";
import { Icon } from "../kit/Icon";
import { Time } from "../kit/Time";
import { part } from "../server/part";
import { Compared } from "./Compared";
import { FileBar } from "./FileBar";
import { ViewSwitch, type FileActs } from "./FilePane";
import { languageOf, lookOf } from "./path";
import type { Place } from "./Editor";
import { Preview } from "./Preview";
import { authorOf, type Project } from "./project";
import { FileConflict } from "./FileConflict";
import { SaveTrouble } from "./SaveTrouble";
import type { Entry } from "./tree";
import { useText, type Stored } from "./useText";

/** The editor is fetched with the first text. */
export const Editor = part(() => import("./Editor").then((of) => of.Editor));

export interface TextFileProps {
  project: Project;
  path: string;
  address: string;
  /** Null: somebody deleted it. */
  entry: Entry | null;
  first: Stored;
  why: string | undefined;
  view: "edit" | "preview";
  onView: (view: "edit" | "preview") => void;
  acts: FileActs;
}

/** TextFile is a text to edit. What is typed is kept in this browser until it is saved; nobody's change is overwritten unseen. */
export function TextFile({ project, path, address, entry, first, why, view, onView, acts }: TextFileProps): ReactNode {
  const text = useText({ slug: project.slug, address, entry, first });
  const [place, setPlace] = useState<Place>({ line: 1, column: 1, unsaved: 0 });
  const previews = lookOf(path) === "markdown" || lookOf(path) === "drawing";
  const previewing = previews && view === "preview";
  const save = (): void => void text.save();
  if (text.comparing && text.theirs) {
    return <Compared path={path} text={text} entry={entry} />;
  }
  const unsaved = text.dirty ? (place.unsaved === 1 ? "1 unsaved line" : place.unsaved > 0 ? `${place.unsaved} unsaved lines` : "Unsaved") : undefined;
  return (
    <>
      <FileBar
        path={path}
        address={address}
        why={why}
        acts={acts}
        beside={unsaved}
        view={previews && <ViewSwitch view={view} onView={onView} />}
        main={
          <Button look="primary" busy={text.saving} why={why ?? (text.dirty || entry === null ? undefined : "Nothing has changed")} onClick={save}>
            Save
          </Button>
        }
      />
      {text.conflict ? <FileConflict text={text} entry={entry} /> : text.error ? <SaveTrouble error={text.error} onRetry={save} /> : <News text={text} entry={entry} />}
      {previewing ? (
        <Preview path={path} text={text.text} />
      ) : (
        <Suspense fallback={<div className="editor wait" role="status" aria-label="Loading the editor" />}>
          <Editor path={path} text={text.text} saved={text.base.text} seen={text.seen} readOnly={why !== undefined} onChange={text.write} onPlace={setPlace} onSave={save} />
        </Suspense>
      )}
      <div className="statusbar">
        {!previewing && <span className="num">Line {place.line}, column {place.column}</span>}
        <span className="desk">{languageOf(path)} · UTF-8</span>
        <span className="num">{bytes(new Blob([text.text]).size)}</span>
        <span className="grow" />
        <span className="trunc">{why ?? <State text={text} entry={entry} />}</span>
      </div>
    </>
  );
}

function State({ text, entry }: { text: ReturnType<typeof useText>; entry: Entry | null }): ReactNode {
  if (text.saving) return "Saving…";
  if (text.dirty) return text.kept ? "Draft kept in this browser" : "Not saved, and too long to be kept in this browser";
  if (!entry?.updatedAt) return "Saved";
  return (
    <>
      {authorOf(entry) ? `Saved by ${authorOf(entry)}, ` : "Saved "}
      <Time at={entry.updatedAt} />
    </>
  );
}

/** News tells that somebody else wrote this file while it was open. */
function News({ text, entry }: { text: ReturnType<typeof useText>; entry: Entry | null }): ReactNode {
  if (!text.news || !entry) return null;
  const by = entry.updatedBy?.agent ? <>agent <b>{entry.updatedBy.agent}</b></> : <b>{authorOf(entry) ?? "somebody"}</b>;
  return (
    <div className="banner live" role="status">
      <Icon name={entry.updatedBy?.agent ? "agents" : "edit"} />
      <p>
        Edited by {by} {entry.updatedAt && <Time at={entry.updatedAt} />}
        {text.newLines && `, ${text.newLines}`}. {text.dirty && "Your draft is kept."}
      </p>
      {text.dirty ? <Button small onClick={text.compare}>Show changes</Button> : <Button small look="ghost" icon="x" label="Dismiss" onClick={text.dismiss} />}
    </div>
  );
}
