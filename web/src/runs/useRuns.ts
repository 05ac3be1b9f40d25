import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { SvcError } from "@svc/sdk";
import { useNow } from "../kit/Time";
import { useList, useRead, type Listing } from "../server/read";
import { useWorkspace } from "../server/workspace";
import { hasEnded, merge, since } from "./news";
import { ranges, statusOf, type Range, type RunRow } from "./run";

/** Filter is what a list of runs is narrowed to, as the address says it. */
export interface Filter {
  readonly status?: "active" | "completed" | "errored";
  readonly workflow?: string;
  readonly range?: Range;
}

export interface Runs extends Listing<RunRow> {
  /** How many came while the reader was further down. */
  readonly news: number;
  /** Shows them. */
  readonly admit: () => void;
  /** How many run now; undefined: not known yet. `more` says that there are others. */
  readonly active: { readonly count: number; readonly more: boolean } | undefined;
}

/** How often the newest are asked for, while the page is seen. An answer that has not changed is a few bytes. */
const every = 3_000;
const mostActive = 200;

const ofWorkspace = "/api/workspaces/{username}/{business}/runs";
const ofAll = "/api/admin/runs";

/**
 * useRuns is the list of runs, kept fresh without moving what is read: rows change in their place, and new ones wait behind `admit`,
 * unless the reader is at the top.
 */
export function useRuns({ status, workflow, range }: Filter, atTop: boolean): Runs {
  const query = useMemo(() => ({ ...(status && { status }), ...(workflow && { workflow }) }), [status, workflow]);
  const list = useEither(query);
  const newest = useNewest(query, every);
  const running = useNewest({ status: "active", limit: mostActive }, every);
  const [admitted, setAdmitted] = useState<ReadonlySet<string>>(new Set());

  const fresh = useMemo(() => [...(newest.page?.items ?? []), ...(running.page?.items ?? [])], [newest.page, running.page]);
  const fitting = useMemo(() => fresh.filter((run, i) => fits(run, query) && fresh.findIndex((each) => each.runId === run.runId) === i), [fresh, query]);
  const { rows, news } = useMemo(() => merge(list.items ?? [], fitting, admitted), [list.items, fitting, admitted]);
  const admit = useCallback(() => setAdmitted((before) => new Set([...before, ...news.map((run) => run.runId)])), [news]);
  useEffect(() => {
    if (atTop && news.length > 0 && list.items) admit();
  }, [atTop, news, admit, list.items]);

  // What ended further down than the newest are read is read again where it stands.
  const outdated = running.page !== undefined && !running.page.nextCursor && newest.page !== undefined && hasEnded(rows, running.page.items);
  const retry = useRef(list.retry);
  retry.current = list.retry;
  useEffect(() => {
    if (outdated) retry.current();
  }, [outdated]);

  // A list whose newest rows cannot be read is not live.
  const unread = list.items && (newest.error ?? running.error);
  const now = useNow().getTime();
  const kept = since(rows.filter((run) => shows(run, status)), range && now - ranges[range]);
  return {
    ...list,
    items: list.items && kept.rows,
    error: list.error ?? unread,
    stale: list.stale || unread !== undefined,
    retry: () => [list, newest, running].forEach((each) => each.retry()),
    hasMore: list.hasMore && !kept.whole,
    news: atTop ? 0 : news.length,
    admit,
    active: running.page && { count: running.page.items.length, more: Boolean(running.page.nextCursor) },
  };
}

/** shows reports whether a row belongs under a status as it stands now. One that was cancelled did not fail. */
function shows(run: RunRow, status: Filter["status"]): boolean {
  if (status === "active") return run.status === "active";
  return status !== "errored" || statusOf(run) === "failed";
}

function fits(run: RunRow, query: { status?: string; workflow?: string }): boolean {
  return (!query.status || run.status === query.status) && (!query.workflow || run.workflowName === query.workflow);
}

interface Page {
  readonly items: readonly RunRow[];
  readonly nextCursor?: string | undefined;
}

// Hooks are called in the same order on every page, so both lists are named and one of them is asked.
function useEither(query: { status?: string; workflow?: string }): Listing<RunRow> {
  const workspace = useWorkspace();
  const here = useList(ofWorkspace, { query: query as never, when: workspace !== undefined });
  const all = useList(ofAll, { query: query as never, when: workspace === undefined });
  return workspace ? here : all;
}

function useNewest(query: { status?: string; workflow?: string; limit?: number }, every: number): { page: Page | undefined; error: SvcError | undefined; retry: () => void } {
  const workspace = useWorkspace();
  const here = useRead(ofWorkspace, { query: query as never, every, when: workspace !== undefined });
  const all = useRead(ofAll, { query: query as never, every, when: workspace === undefined });
  const { data, error, refetch } = workspace ? here : all;
  return { page: data, error: error ?? undefined, retry: () => void refetch() };
}
