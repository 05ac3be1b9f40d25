import { useCallback, useState } from "react";
import type { SvcError } from "@svc/sdk";
import { useAct } from "../server/act";
import { call } from "../server/call";
import { useServer, useWorkspace } from "../server/workspace";

const runPath = "/api/workspaces/{username}/{business}/runs/{run}";

/** One act on a run. It does not throw: `error` says why it was refused. */
export interface RunAct<Answer> {
  readonly run: (runId: string) => Promise<Answer | undefined>;
  readonly busy: boolean;
  readonly error: SvcError | undefined;
}

/** useCancel cancels runs. One that has ended stays as it is. */
export function useCancel(): RunAct<{ cancelled: boolean }> {
  const { run, busy, error } = useAct("post", `${runPath}/cancel`);
  const cancel = useCallback(async (runId: string) => (await run({ path: { run: runId } }))?.answer, [run]);
  return { run: cancel, busy, error };
}

/** useRunAgain starts a run of the same workflow with the input that another had. */
export function useRunAgain(): RunAct<{ runId: string }> {
  const client = useServer();
  const workspace = useWorkspace();
  const [reading, setReading] = useState<{ busy: boolean; error?: SvcError | undefined }>({ busy: false });
  const { run: start, busy, error } = useAct("post", "/api/workspaces/{username}/{business}/workflows/{name}/run", { refreshes: ["/api/workspaces/{username}/{business}/runs"] });
  const again = useCallback(
    async (runId: string) => {
      setReading({ busy: true });
      const record = await call(client, workspace, "get", runPath, { path: { run: runId } }).catch((thrown: SvcError) => thrown);
      if (record instanceof Error) return void setReading({ busy: false, error: record });
      setReading({ busy: false });
      const { workflowName, input } = record as { workflowName: string; input?: unknown };
      return (await start({ path: { name: workflowName }, ...(input !== undefined && { body: input }) } as Parameters<typeof start>[0]))?.answer;
    },
    [client, workspace, start],
  );
  return { run: again, busy: busy || reading.busy, error: error ?? reading.error };
}
