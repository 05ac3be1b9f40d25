import { useCallback } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { keyOf } from "../server/read";
import { useWorkspace } from "../server/workspace";
import type { AgentFacts } from "./agent";

/** useSaved takes over what a save answered: the form must not show the version before until that is read again. */
export function useSaved(): (agent: AgentFacts) => void {
  const queries = useQueryClient();
  const workspace = useWorkspace();
  return useCallback(
    (agent) => queries.setQueryData(keyOf(workspace, "/api/workspaces/{username}/{business}/agents/{name}", { path: { name: agent.name } }), agent),
    [queries, workspace],
  );
}
