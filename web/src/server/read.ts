import { useInfiniteQuery, useQuery, type UseQueryResult } from "@tanstack/react-query";
import type { AnswerOf, PathOf, SvcError } from "@svc/sdk";
import { call } from "./call";
import { nounOf, type Asked, type Given, type ItemOf, type ListPath } from "./path";
import { namesOf, useServer, useWorkspace, type Workspace } from "./workspace";

/** keyOf is where an answer is kept: by its workspace, its noun, and all that was asked. */
export function keyOf(workspace: Workspace | undefined, path: string, asked: { path?: unknown; query?: unknown } = {}): readonly unknown[] {
  return [namesOf(workspace), nounOf(path), path, asked.path ?? {}, asked.query ?? {}];
}

/** Reading says how an answer is kept fresh. */
export interface Reading {
  /** Asks again so often while the page is seen, in milliseconds. Default: when something changes, or the page is looked at again. */
  every?: number | undefined;
  /** Whether to ask at all. Default true. */
  when?: boolean | undefined;
}

/** useRead is what a path of the API answers, in the workspace that is shown. */
export function useRead<Path extends PathOf<"get">>(path: Path, ...[asked]: Given<Asked<Path, "get"> & Reading>): UseQueryResult<AnswerOf<Path, "get">, SvcError> {
  const client = useServer();
  const workspace = useWorkspace();
  return useQuery<AnswerOf<Path, "get">, SvcError>({
    queryKey: keyOf(workspace, path, asked),
    queryFn: ({ signal }) => call(client, workspace, "get", path, { path: asked?.path, query: asked?.query, signal }),
    enabled: asked?.when ?? true,
    refetchInterval: asked?.every ?? false,
  });
}

/** Listing is a list as DataList shows it. */
export interface Listing<Item> {
  /** What has been read so far; undefined: nothing yet. */
  readonly items: readonly Item[] | undefined;
  readonly error: SvcError | undefined;
  /** The rows are of an earlier answer: the newest could not be read, or is on its way. */
  readonly stale: boolean;
  readonly hasMore: boolean;
  readonly loadingMore: boolean;
  readonly more: () => void;
  readonly retry: () => void;
}

/** isSameList reports whether two keys differ in their filter alone: rows of another workspace or thing do not stay. */
export function isSameList(before: readonly unknown[] | undefined, now: readonly unknown[]): boolean {
  const listOf = (key: readonly unknown[] | undefined): string => JSON.stringify(key?.slice(0, 4));
  return listOf(before) === listOf(now);
}

/** useList reads a list page by page. While a filter changes the rows before stay, marked stale. */
export function useList<Path extends ListPath>(path: Path, ...[asked]: Given<Asked<Path, "get"> & Reading>): Listing<ItemOf<Path>> {
  const client = useServer();
  const workspace = useWorkspace();
  const queryKey = [...keyOf(workspace, path, asked), "list"];
  const list = useInfiniteQuery({
    queryKey,
    queryFn: async ({ signal, pageParam }) => {
      const query = { ...(asked?.query as object | undefined), cursor: pageParam };
      return (await call(client, workspace, "get", path, { path: asked?.path, query, signal })) as unknown as Page<ItemOf<Path>>;
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.nextCursor || undefined,
    placeholderData: (before, query) => (isSameList(query?.queryKey, queryKey) ? before : undefined),
    enabled: asked?.when ?? true,
    refetchInterval: asked?.every ?? false,
  });
  return {
    items: list.data?.pages.flatMap((page) => page.items),
    error: (list.error as SvcError | null) ?? undefined,
    stale: list.isPlaceholderData || (list.isError && list.data !== undefined),
    hasMore: list.hasNextPage,
    loadingMore: list.isFetchingNextPage,
    more: () => void list.fetchNextPage(),
    retry: () => void list.refetch(),
  };
}

interface Page<Item> {
  items: Item[];
  nextCursor?: string;
}
