import { useQueryClient } from "@tanstack/react-query";
import { nounOf } from "../server/path";
import { useReauth } from "../server/reauth";
import { namesOf, useWorkspace } from "../server/workspace";
import { useContentAddress } from "./files";
import type { Bound } from "./uploads";

/** useBound is what uploads need to know of this page. */
export function useBound(slug: string): Bound {
  const workspace = useWorkspace();
  const address = useContentAddress(slug);
  const prove = useReauth();
  const queries = useQueryClient();
  const onArrival = (): void => {
    const nouns = ["/api/workspaces/{username}/{business}/projects", "/api/workspaces/{username}/{business}/storage"].map(nounOf);
    void queries.invalidateQueries({ predicate: ({ queryKey }) => nouns.includes(String(queryKey[1])) });
  };
  return { project: `${namesOf(workspace)}/${slug}`, addressOf: address, prove, onArrival };
}
