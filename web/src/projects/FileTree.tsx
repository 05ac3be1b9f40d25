import { useEffect, useMemo, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { count } from "../kit/amount";
import { Icon } from "../kit/Icon";
import { Refusal, Trouble } from "../kit/Refusal";
import { exact, relative, useNow } from "../kit/Time";
import { useFolders } from "./files";
import { folderOf, foldersOf, nameOf } from "./path";
import { authorOf } from "./project";
import { rowsOf, stepIn, type Row } from "./tree";

/** What was written so recently is marked: somebody is at it. */
const fresh = 60_000;

export interface FileTreeProps {
  slug: string;
  current: string;
  /** The folder that files are being dragged over. */
  over: string | undefined;
  onOpen: (path: string) => void;
}

/** FileTree is the folders and files of a project. One line is in the order of tabs; the arrows reach the others. */
export function FileTree({ slug, current, over, onOpen }: FileTreeProps): ReactNode {
  const [open, setOpen] = useState<ReadonlySet<string>>(() => new Set(foldersOf(current)));
  const [pages, setPages] = useState<ReadonlyMap<string, number>>(new Map());
  const [focused, setFocused] = useState(current);
  const tree = useRef<HTMLDivElement>(null);
  const now = useNow(10_000);
  // What is open leads to its file.
  useEffect(() => {
    setFocused(current);
    setOpen((before) => new Set([...before, ...foldersOf(current)]));
  }, [current]);

  const asked = useMemo(() => ["", ...open].map((path) => ({ path, pages: pages.get(path) ?? 1 })), [open, pages]);
  const { folders, error, retry } = useFolders(slug, asked);
  const rows = useMemo(() => rowsOf(folders, open), [folders, open]);
  const at = Math.max(0, rows.findIndex((row) => row.path === focused && row.kind !== "loading" && row.kind !== "more"));

  if (error && !folders.get("")?.entries) return <Refusal error={error} onRetry={retry} />;
  const toggle = (path: string): void => {
    const next = new Set(open);
    if (!next.delete(path)) next.add(path);
    setOpen(next);
    setFocused(path);
  };
  const choose = (row: Row): void => {
    if (row.kind === "folder") toggle(row.path);
    if (row.kind === "file") onOpen(row.path);
    if (row.kind === "more") setPages(new Map([...pages, [row.path, (pages.get(row.path) ?? 1) + 2]]));
  };
  const press = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const row = rows[at];
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      if (row) choose(row);
      return;
    }
    const step = stepIn(rows, at, event.key);
    if (!step) return;
    event.preventDefault();
    if ("toggle" in step) return toggle(step.toggle);
    setFocused(rows[step.to]?.path ?? "");
    tree.current?.querySelectorAll<HTMLElement>("[role=treeitem]")[step.to]?.focus();
  };
  return (
    <>
      {error && <Trouble error={error} stale onRetry={retry} />}
      <div ref={tree} className="tree" role="tree" aria-label="Files of the project" onKeyDown={press}>
        {rows.map((row, i) => (
          <TreeLine key={`${row.kind} ${row.path}`} row={row} tabbable={i === at} current={row.path === current} over={over} now={now} onChoose={() => choose(row)} onFocus={() => setFocused(row.path)} />
        ))}
      </div>
    </>
  );
}

interface TreeLineProps {
  row: Row;
  tabbable: boolean;
  current: boolean;
  over: string | undefined;
  now: Date;
  onChoose: () => void;
  onFocus: () => void;
}

function TreeLine({ row, tabbable, current, over, now, onChoose, onFocus }: TreeLineProps): ReactNode {
  if (row.kind === "loading") {
    return (
      <span className="tree-line wait" role="none" style={{ "--d": row.level } as React.CSSProperties}>
        <span className="skeleton" style={{ width: "50%" }} />
      </span>
    );
  }
  const folder = row.kind === "folder";
  // What is dropped on a file goes into its folder.
  const into = folder ? row.path : folderOf(row.path);
  return (
    <div
      role="treeitem"
      className={`tree-line ${folder ? "folder" : ""} ${over !== undefined && over !== "" && over === into && folder ? "into" : ""}`}
      style={{ "--d": row.level } as React.CSSProperties}
      aria-level={row.level}
      aria-expanded={folder ? row.open : undefined}
      aria-current={current ? "page" : undefined}
      aria-selected={current}
      tabIndex={tabbable ? 0 : -1}
      data-folder={into}
      title={row.entry?.updatedAt ? `${row.path}, ${[authorOf(row.entry), exact(new Date(row.entry.updatedAt))].filter(Boolean).join(", ")}` : undefined}
      onClick={onChoose}
      onFocus={onFocus}
    >
      {row.kind === "more" ? (
        <span className="link">Show more</span>
      ) : (
        <>
          {folder && <Icon name={row.open ? "down" : "rightc"} small />}
          <Icon name={folder ? "folder" : "file"} />
          <span className="trunc">{nameOf(row.path)}</span>
          {row.entry?.updatedAt && <Age at={new Date(row.entry.updatedAt)} now={now} />}
        </>
      )}
    </div>
  );
}

/** Age is how long ago a file was written, in few letters; a dot where that is now. */
function Age({ at, now }: { at: Date; now: Date }): ReactNode {
  if (now.getTime() - at.getTime() < fresh) {
    return (
      <span className="tree-age live">
        <span className="dot pulse" />
        <span className="sr">just now</span>
      </span>
    );
  }
  return (
    <time className="tree-age" dateTime={at.toISOString()}>
      {brief(at, now)}
    </time>
  );
}

const dayOf = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

/** brief is an age as a column of a tree has room for: `4 h`, `2 d`, `3 Aug`. */
export function brief(at: Date, now: Date): string {
  const seconds = (now.getTime() - at.getTime()) / 1000;
  if (seconds < 60) return relative(at, now);
  if (seconds < 3_600) return `${count(Math.floor(seconds / 60))} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)} h`;
  if (seconds < 7 * 86_400) return `${Math.floor(seconds / 86_400)} d`;
  return dayOf.format(at) + (at.getFullYear() === now.getFullYear() ? "" : ` ${at.getFullYear()}`);
}
