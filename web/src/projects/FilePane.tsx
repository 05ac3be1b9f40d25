import { useState, type ReactNode } from "react";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { bytes } from "../kit/amount";
import { Empty } from "../kit/Empty";
import { Icon } from "../kit/Icon";
import { Refusal, Trouble } from "../kit/Refusal";
import { Segments } from "../kit/Tabs";
import { Time } from "../kit/Time";
import { usePath } from "../shell/where";
import { DeleteFile } from "./DeleteFile";
import { FileBar } from "./FileBar";
import { ImageView } from "./ImageView";
import { MoveFile } from "./MoveFile";
import { useContent, useContentAddress, useEntry } from "./files";
import { recallDraft } from "./draft";
import { lookOf, nameOf } from "./path";
import { addressOf, authorOf, type Project } from "./project";
import { useMayWork } from "./role";
import { largestText } from "./text";
import { TextFile } from "./TextFile";
import type { Entry } from "./tree";

export interface FileProps {
  project: Project;
  path: string;
}

/** FilePane is one file: a text to edit, a picture, or something to download. */
export function FilePane({ project, path }: FileProps): ReactNode {
  const address = useContentAddress(project.slug)(path);
  const entry = useEntry(project.slug, path);
  const [asking, setAsking] = useState<"move" | "delete">();
  const to = usePath();
  const navigate = useNavigate();
  const look = lookOf(path);
  const fits = (entry.data?.bytes ?? 0) <= largestText;
  const wanted = look === "image" || (look !== "other" && fits);
  const content = useContent(project.slug, path, wanted && Boolean(entry.data));
  const close = (): void => setAsking(undefined);
  const acts = { onMove: () => setAsking("move"), onDelete: () => setAsking("delete") };
  return (
    <section className="col file" aria-label={path}>
      {entry.error && entry.data && <Trouble error={entry.error} stale onRetry={() => void entry.refetch()} />}
      <Inside project={project} path={path} address={address} entry={entry} content={content} wanted={wanted} acts={acts} />
      {asking === "move" && entry.data && <MoveFile slug={project.slug} entry={entry.data} onClose={close} onMoved={(next) => void navigate({ to: to(addressOf(project.slug, next)), replace: true })} />}
      {asking === "delete" && entry.data && <DeleteFile slug={project.slug} entry={entry.data} onClose={close} onDeleted={() => void navigate({ to: to(addressOf(project.slug)), replace: true })} />}
    </section>
  );
}

export interface FileActs {
  onMove: () => void;
  onDelete: () => void;
}

interface InsideProps extends FileProps {
  address: string;
  entry: ReturnType<typeof useEntry>;
  content: ReturnType<typeof useContent>;
  /** Whether the content is read here at all. */
  wanted: boolean;
  acts: FileActs;
}

function Inside({ project, path, address, entry, content, wanted, acts }: InsideProps): ReactNode {
  const [view, setView] = useView();
  const { why } = useMayWork(project.slug);
  const draft = recallDraft(address);
  if (entry.error && !entry.data) return <Refusal error={entry.error} onRetry={() => void entry.refetch()} />;
  // What was typed is not lost with the file that it was typed for.
  if (entry.data === null && !draft && content.data === undefined) return <Gone path={path} />;
  if (content.error && !content.data) return content.error.status === 404 ? <Gone path={path} /> : <Refusal error={content.error} onRetry={() => void content.refetch()} />;
  if (entry.data === undefined || (wanted && !content.data && !(entry.data === null && draft))) return <Loading path={path} />;
  const look = lookOf(path);
  const text = content.data?.text ?? (entry.data === null ? draft?.base : undefined);
  if (wanted && look !== "image" && text !== undefined) {
    const first = { text, etag: content.data?.etag ?? draft?.etag ?? "" };
    return <TextFile project={project} path={path} address={address} entry={entry.data} first={first} why={why} view={view} onView={setView} acts={acts} />;
  }
  return (
    <>
      <FileBar path={path} address={address} why={why} acts={acts} />
      {look === "image" && content.data ? <ImageView path={path} blob={content.data.blob} etag={entry.data?.etag} onStale={() => void content.refetch()} shown={content.data.etag} /> : <Unseen path={path} address={address} entry={entry.data} large={!wanted && look !== "other"} />}
      {entry.data && <FileFacts entry={entry.data} />}
    </>
  );
}

/** useView is whether a text is edited or looked at, as the address says it. */
function useView(): [view: "edit" | "preview", set: (view: "edit" | "preview") => void] {
  const search = useSearch({ strict: false }) as Record<string, unknown>;
  const navigate = useNavigate();
  const set = (view: "edit" | "preview"): void => {
    const { view: _, ...rest } = search;
    void navigate({ to: ".", search: (view === "preview" ? { ...rest, view } : rest) as never, replace: true });
  };
  return [search["view"] === "preview" ? "preview" : "edit", set];
}

/** ViewSwitch chooses between the text and what it looks like. */
export function ViewSwitch({ view, onView }: { view: "edit" | "preview"; onView: (view: "edit" | "preview") => void }): ReactNode {
  return <Segments label="View" tabs={[{ id: "edit", label: "Edit" }, { id: "preview", label: "Preview" }]} value={view} onChange={(id) => onView(id as "edit" | "preview")} />;
}

function Gone({ path }: { path: string }): ReactNode {
  return <Empty icon="search" title="Not here, or not yours.">There is no file {nameOf(path)}. Perhaps it was moved or deleted.</Empty>;
}

/** Unseen is a file that a page cannot show. */
function Unseen({ path, address, entry, large }: { path: string; address: string; entry: Entry | null; large: boolean }): ReactNode {
  return (
    <Empty icon="file" title={nameOf(path)} act={<a className="btn primary" href={address} download={nameOf(path)}><Icon name="dl" small /> Download {bytes(entry?.bytes ?? 0)}</a>}>
      {large ? `Files of more than ${bytes(largestText)} are not opened here.` : "This is not a text, and no picture that a page can show."}
    </Empty>
  );
}

/** FileFacts is the line below a file that is only looked at. */
export function FileFacts({ entry }: { entry: Entry }): ReactNode {
  return (
    <div className="statusbar">
      <span className="num">{bytes(entry.bytes ?? 0)}</span>
      <span className="grow" />
      <span className="trunc">
        {authorOf(entry) && `by ${authorOf(entry)}, `}
        {entry.updatedAt && <Time at={entry.updatedAt} />}
      </span>
    </div>
  );
}

function Loading({ path }: { path: string }): ReactNode {
  return (
    <div className="wait file-wait" role="status" aria-label={`Loading ${nameOf(path)}`}>
      <div className="filebar"><span className="skeleton short" /></div>
      <div className="lines">
        {[38, 0, 62, 54, 0, 46, 70, 30].map((width, i) => (
          <div key={i}>{width > 0 && <span className="skeleton" style={{ width: `${width}%` }} />}</div>
        ))}
      </div>
    </div>
  );
}
