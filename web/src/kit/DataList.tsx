import { useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import type { Listing } from "../server/read";
import { Button } from "./Button";
import { Empty } from "./Empty";
import { Refusal, Trouble } from "./Refusal";

export interface Column<Item> {
  head: string;
  cell: (item: Item) => ReactNode;
  className?: string;
  /** Where it stands on a phone, whose rows take two lines. Default: in the order of the columns. */
  phone?: "hide" | "end" | "wide";
}

export interface DataListProps<Item> {
  /** What the rows are, for those who do not see them. */
  label: string;
  list: Listing<Item>;
  columns: readonly Column<Item>[];
  keyOf: (item: Item) => string;
  /** What a click or Enter does; absent: rows are not for opening. */
  onOpen?: (item: Item) => void;
  /** The key of the row that is open. */
  selected?: string | undefined;
  /** What Escape does while a row is open. */
  onClose?: (() => void) | undefined;
  /** What to show where there is nothing at all. */
  empty: ReactNode;
  /** Clears the filter; absent: there is none, so that nothing found means nothing there. */
  onClear?: (() => void) | undefined;
  className?: string;
}

/** DataList is rows that are read page by page, in every state that they can be in. */
export function DataList<Item>(props: DataListProps<Item>): ReactNode {
  const { list, empty, onClear } = props;
  if (!list.items) return list.error ? <div className="list-area"><Refusal error={list.error} onRetry={list.retry} /></div> : <Skeleton {...props} />;
  const trouble = list.error && <Trouble error={list.error} stale onRetry={list.retry} />;
  if (list.items.length === 0 && (!list.stale || trouble)) {
    return (
      <div className="list-area">
        {trouble}
        {onClear ? <Empty icon="search" title="Nothing matches" act={<Button onClick={onClear}>Clear the filter</Button>} /> : empty}
      </div>
    );
  }
  return (
    <div className="list-area">
      {trouble}
      <Rows {...props} items={list.items} />
      <div className="more">
        <span className="num">{list.hasMore ? `Showing ${list.items.length}` : `All ${list.items.length}`}</span>
        {list.hasMore && (
          <Button busy={list.loadingMore} onClick={list.more}>
            Load more
          </Button>
        )}
      </div>
    </div>
  );
}

function Rows<Item>({ label, list, columns, keyOf, onOpen, selected, onClose, className = "", items }: DataListProps<Item> & { items: readonly Item[] }): ReactNode {
  const body = useRef<HTMLTableSectionElement>(null);
  const [at, setAt] = useState(0);
  const move = (event: KeyboardEvent): void => {
    if (!onOpen || event.target !== event.currentTarget.querySelector("tr:focus")) return;
    const item = items[at];
    if (event.key === "Enter" && item !== undefined) {
      // Else the key would also press what takes the focus in what opens.
      event.preventDefault();
      return onOpen(item);
    }
    if (event.key === "Escape" && selected !== undefined) return onClose?.();
    const to = nextRow(event.key, at, items.length);
    if (to === undefined) return;
    event.preventDefault();
    setAt(to);
    (body.current?.rows[to] as HTMLElement | undefined)?.focus();
  };
  return (
    <table className={`rows ${list.stale ? "stale-rows" : ""} ${className}`} aria-label={label} role={onOpen ? "grid" : undefined} aria-busy={(list.stale && !list.error) || undefined}>
      <thead>
        <tr>
          {columns.map((column) => (
            <th key={column.head} scope="col" className={column.className}>
              {column.head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody ref={body} onKeyDown={move}>
        {items.map((item, i) => {
          const key = keyOf(item);
          const opens = onOpen && { tabIndex: i === Math.min(at, items.length - 1) ? 0 : -1, "data-row": "", "aria-selected": key === selected, onClick: () => onOpen(item), onFocus: () => setAt(i) };
          return (
            <tr key={key} {...opens}>
              {columns.map((column) => (
                <td key={column.head} className={column.className} data-phone={column.phone}>
                  {column.cell(item)}
                </td>
              ))}
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

/** nextRow is the row that a key leads to; undefined: the key is none of the list's. */
export function nextRow(key: string, at: number, rows: number): number | undefined {
  const last = rows - 1;
  switch (key) {
    case "j": case "ArrowDown": return Math.min(last, at + 1);
    case "k": case "ArrowUp": return Math.max(0, at - 1);
    case "Home": return 0;
    case "End": return last;
  }
  return undefined;
}

const skeletonRows = 8;

/** Skeleton is the list as it will stand, after a moment: what comes at once needs none. */
function Skeleton<Item>({ label, columns, className = "" }: DataListProps<Item>): ReactNode {
  return (
    <div className="list-area wait" role="status" aria-label={`Loading ${label.toLowerCase()}`}>
      <table className={`rows ${className}`} aria-hidden="true">
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.head} className={column.className}>{column.head}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {Array.from({ length: skeletonRows }, (_, row) => (
            <tr key={row}>
              {columns.map((column, i) => (
                <td key={column.head} className={column.className} data-phone={column.phone}>
                  <span className="skeleton" style={{ width: `${[62, 44, 78, 36][(row + i) % 4]}%`, minWidth: 36 }} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
