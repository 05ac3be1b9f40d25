import type { ItemOf } from "../server/path";
import { nameOf } from "./path";

/** Entry is a file or a folder of a project, as the service lists it. */
export type Entry = ItemOf<"/api/workspaces/{username}/{business}/projects/{slug}/files">;

/** Folder is what is known of a folder's content. */
export interface Folder {
  /** undefined: it is on its way. */
  readonly entries: readonly Entry[] | undefined;
  readonly more: boolean;
}

/** Row is a line of the tree as it is seen. */
export interface Row {
  readonly kind: "file" | "folder" | "loading" | "more";
  readonly path: string;
  /** From 1, as aria-level counts. */
  readonly level: number;
  readonly open?: boolean;
  readonly entry?: Entry;
}

/** ordered has folders first, then files, each by name as people count: 2 before 10. */
export function ordered(entries: readonly Entry[]): Entry[] {
  const rank = (entry: Entry): number => (entry.kind === "folder" ? 0 : 1);
  return [...entries].sort((a, b) => rank(a) - rank(b) || byName.compare(nameOf(a.path), nameOf(b.path)));
}

const byName = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

/** rowsOf are the lines of a tree whose open folders are known: what is below a closed one has none. */
export function rowsOf(folders: ReadonlyMap<string, Folder>, open: ReadonlySet<string>, at = "", level = 1): Row[] {
  const folder = folders.get(at);
  if (!folder?.entries) return [{ kind: "loading", path: at, level }];
  const rows = ordered(folder.entries).flatMap((entry): Row[] => {
    if (entry.kind === "file") return [{ kind: "file", path: entry.path, level, entry }];
    const isOpen = open.has(entry.path);
    const row: Row = { kind: "folder", path: entry.path, level, open: isOpen, entry };
    return isOpen ? [row, ...rowsOf(folders, open, entry.path, level + 1)] : [row];
  });
  return folder.more ? [...rows, { kind: "more", path: at, level }] : rows;
}

/** Step is what a key does in a tree: it goes to another line, or opens or closes a folder. */
export type Step = { readonly to: number } | { readonly toggle: string } | undefined;

/** stepIn follows the keys that trees have (WAI-ARIA): arrows, Home, End, and letters that names begin with. */
export function stepIn(rows: readonly Row[], at: number, key: string): Step {
  const row = rows[at];
  if (!row) return undefined;
  const last = rows.length - 1;
  switch (key) {
    case "ArrowDown": return { to: Math.min(last, at + 1) };
    case "ArrowUp": return { to: Math.max(0, at - 1) };
    case "Home": return { to: 0 };
    case "End": return { to: last };
    case "ArrowRight":
      if (row.kind !== "folder") return undefined;
      return row.open ? { to: Math.min(last, at + 1) } : { toggle: row.path };
    case "ArrowLeft":
      if (row.kind === "folder" && row.open) return { toggle: row.path };
      return { to: parentOf(rows, at) };
  }
  return key.length === 1 && key.trim() !== "" ? beginning(rows, at, key) : undefined;
}

/** parentOf is the folder that a line is in; at the top it is the line itself. */
function parentOf(rows: readonly Row[], at: number): number {
  const level = rows[at]?.level ?? 1;
  for (let i = at - 1; i >= 0; i--) if ((rows[i]?.level ?? 1) < level) return i;
  return at;
}

function beginning(rows: readonly Row[], at: number, letter: string): Step {
  for (let i = 1; i <= rows.length; i++) {
    const to = (at + i) % rows.length;
    if (nameOf(rows[to]?.path ?? "").toLowerCase().startsWith(letter.toLowerCase())) return { to };
  }
  return undefined;
}
