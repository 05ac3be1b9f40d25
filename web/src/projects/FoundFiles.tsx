import type { ReactNode } from "react";
import { Button } from "../kit/Button";
import { Empty } from "../kit/Empty";
import { Icon } from "../kit/Icon";
import { Refusal } from "../kit/Refusal";
import { useList } from "../server/read";
import { liveness } from "./files";
import { folderOf, nameOf } from "./path";

export interface FoundFilesProps {
  slug: string;
  prefix: string;
  current: string;
  onOpen: (path: string) => void;
  onClear: () => void;
}

/** FoundFiles are the files whose paths begin as was typed, in one list. */
export function FoundFiles({ slug, prefix, current, onOpen, onClear }: FoundFilesProps): ReactNode {
  const list = useList("/api/workspaces/{username}/{business}/projects/{slug}/files", { path: { slug }, query: { prefix }, every: liveness });
  if (!list.items) return list.error ? <Refusal error={list.error} onRetry={list.retry} /> : <div className="tree wait" role="status" aria-label="Looking" />;
  if (list.items.length === 0 && !list.stale) return <Empty icon="search" title="No path begins like this" act={<Button onClick={onClear}>Clear</Button>} />;
  return (
    <ul className={`tree ${list.stale ? "stale-rows" : ""}`} aria-label="Files that were found">
      {list.items.map((file) => (
        <li key={file.path}>
          <button type="button" className="tree-line" aria-current={file.path === current ? "page" : undefined} onClick={() => onOpen(file.path)}>
            <Icon name="file" />
            <span className="trunc">
              {nameOf(file.path)} <span className="faint t12">{folderOf(file.path)}</span>
            </span>
          </button>
        </li>
      ))}
      {list.hasMore && (
        <li>
          <Button small look="ghost" busy={list.loadingMore} onClick={list.more}>Show more</Button>
        </li>
      )}
    </ul>
  );
}
