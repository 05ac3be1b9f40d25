import { useMemo } from "react";
import { useQueries, useQuery, type UseQueryResult } from "@tanstack/react-query";
import { SvcError, type Client } from "@svc/sdk";
import { call } from "../server/call";
import { contentPath, readContent } from "../server/content";
import { keyOf } from "../server/read";
import { useServer, useWorkspace, type Workspace } from "../server/workspace";
import { textIn } from "./text";
import type { Entry, Folder } from "./tree";

const filesPath = "/api/workspaces/{username}/{business}/projects/{slug}/files";

/** How often a page looks for what others write, in milliseconds. */
export const liveness = 4_000;

/** How many entries a page of a list has at most. */
const pageSize = 200;

/** Asked is a folder, and how many pages of it are wanted. */
export interface Asked {
  readonly path: string;
  readonly pages: number;
}

/** useFolders are the folders of a project that are open, kept as they are on the server: what an agent writes appears. */
export function useFolders(slug: string, asked: readonly Asked[]): { folders: ReadonlyMap<string, Folder>; error: SvcError | undefined; retry: () => void } {
  const client = useServer();
  const workspace = useWorkspace();
  const results = useQueries({
    queries: asked.map(({ path, pages }) => ({
      queryKey: [...keyOf(workspace, filesPath, { path: { slug }, query: { folder: path } }), pages],
      queryFn: ({ signal }: { signal: AbortSignal }) => readFolder(client, workspace, slug, { path, pages }, signal),
      refetchInterval: liveness,
      placeholderData: (before: Folder | undefined) => before,
    })),
  });
  const folders = useMemo(() => new Map(asked.map(({ path }, i) => [path, results[i]?.data ?? { entries: undefined, more: false }])), [asked, results]);
  const error = results.find((result) => result.error)?.error;
  return { folders, error: error instanceof SvcError ? error : undefined, retry: () => results.forEach((result) => void result.refetch()) };
}

async function readFolder(client: Client, workspace: Workspace | undefined, slug: string, { path, pages }: Asked, signal: AbortSignal): Promise<Folder> {
  const entries: Entry[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < pages; page++) {
    const query = { prefix: path === "" ? "" : `${path}/`, folded: "true", limit: pageSize, cursor };
    const found = await call(client, workspace, "get", filesPath, { path: { slug }, query, signal });
    entries.push(...found.items);
    cursor = found.nextCursor || undefined;
    if (!cursor) break;
  }
  return { entries, more: cursor !== undefined };
}

/** useEntry is a file as the list has it: its size, its etag, and who wrote it last. Null: there is no such file. */
export function useEntry(slug: string, path: string): UseQueryResult<Entry | null, SvcError> {
  const client = useServer();
  const workspace = useWorkspace();
  return useQuery<Entry | null, SvcError>({
    queryKey: keyOf(workspace, filesPath, { path: { slug }, query: { file: path } }),
    queryFn: async ({ signal }) => {
      const found = await call(client, workspace, "get", filesPath, { path: { slug }, query: { prefix: path, limit: 1 }, signal });
      return found.items.find((entry) => entry.path === path) ?? null;
    },
    enabled: path !== "",
    refetchInterval: liveness,
  });
}

/** Read is what a file holds: a text, or bytes that are none. */
export interface Read {
  readonly blob: Blob;
  readonly text: string | undefined;
  readonly etag: string;
}

/** useContent reads a file once. Which content that is says its etag; a newer one is read when its page wants it. */
export function useContent(slug: string, path: string, when: boolean): UseQueryResult<Read, SvcError> {
  const client = useServer();
  const address = useContentAddress(slug);
  return useQuery<Read, SvcError>({
    queryKey: ["content", address(path)],
    queryFn: async ({ signal }) => {
      const { blob, etag } = await readContent(client, address(path), signal);
      return { blob, etag, text: await textIn(blob) };
    },
    enabled: when,
    staleTime: 0,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
    gcTime: 0,
  });
}

/** useContentAddress makes the addresses of files of a project, by which they are read, written and downloaded. */
export function useContentAddress(slug: string): (path: string) => string {
  const workspace = useWorkspace();
  return (path) => (workspace ? contentPath(workspace, slug, path) : "");
}
