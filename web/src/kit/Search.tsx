import { useEffect, useState, type ReactNode } from "react";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Icon } from "./Icon";

export interface SearchProps {
  /** What is searched, for those who do not see it. */
  label: string;
  /** Default: the label. */
  placeholder?: string;
  query: string;
  onQuery: (query: string) => void;
  /** It stands among the acts of a page, without a bar of its own. */
  bare?: boolean;
}

/** How long typing pauses before it is asked for, in milliseconds. */
const pause = 250;

/** Search filters a list by what is typed; its query stands in the address. `/` leads to it, Escape empties it. */
export function Search({ label, placeholder = label, query, onQuery, bare = false }: SearchProps): ReactNode {
  const [typed, setTyped] = useState(query);
  // A blank at the end is not asked for, and may be followed by another word.
  useEffect(() => setTyped((now) => (now.trim() === query ? now : query)), [query]);
  useEffect(() => {
    if (typed.trim() === query) return;
    const timer = setTimeout(() => onQuery(typed.trim()), pause);
    return () => clearTimeout(timer);
    // Only typing asks.
  }, [typed]);
  const field = (
    <span className="find-in">
      <Icon name="search" small />
      <input className="input sm" type="search" data-filter aria-label={label} placeholder={placeholder} value={typed} onChange={(event) => setTyped(event.target.value)} onKeyDown={(event) => event.key === "Escape" && setTyped("")} autoComplete="off" spellCheck={false} />
    </span>
  );
  return bare ? field : <div className="tlbar filters" role="search">{field}</div>;
}

/** isMany reports whether a list is worth a search: a handful is seen at once. */
export function isMany(list: { items: readonly unknown[] | undefined; hasMore: boolean }, query: string): boolean {
  return query !== "" || list.hasMore || (list.items?.length ?? 0) > 8;
}

/** useQuery is the query as the address has it, under `q`. */
Search.useQuery = function useQuery(): [query: string, set: (query: string) => void] {
  const { q = "" } = useSearch({ strict: false }) as { q?: unknown };
  const navigate = useNavigate();
  return [String(q), (next) => void navigate({ to: ".", search: ((before: object) => ({ ...before, q: next || undefined })) as never, replace: true })];
};
