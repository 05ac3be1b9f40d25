import { useCallback, useRef, useState } from "react";
import { newKey, type SvcError } from "@svc/sdk";
import { useAct, type Done } from "../server/act";
import { call } from "../server/call";
import { useServer, useWorkspace } from "../server/workspace";

const runPath = "/api/workspaces/{username}/{business}/runs/{run}";

/** One act on a run. It does not throw: it gives the refusal, which `error` is too; undefined: the same is on its way. */
export interface RunAct<Answer> {
  readonly run: (runId: string) => Promise<Done<Answer> | SvcError | undefined>;
  readonly busy: boolean;
  readonly error: SvcError | undefined;
}

/** useCancel cancels runs. One that has ended stays as it is. */
export function useCancel(): RunAct<{ cancelled: boolean }> {
  const { attempt, busy, error } = useAct("post", `${runPath}/cancel`);
  const cancel = useCallback((runId: string) => attempt({ path: { run: runId } }), [attempt]);
  return { run: cancel, busy, error };
}

/** useRunAgain starts a run of the same workflow with the input that another had: once, however often its answer is lost. */
export function useRunAgain(): RunAct<{ runId: string }> {
  const client = useServer();
  const workspace = useWorkspace();
  const [reading, setReading] = useState<{ busy: boolean; error?: SvcError | undefined }>({ busy: false });
  const keys = useRef(new Map<string, string>());
  const { attempt: start, busy, error } = useAct("post", "/api/workspaces/{username}/{business}/workflows/{name}/run", { refreshes: ["/api/workspaces/{username}/{business}/runs"] });
  const again = useCallback(
    async (runId: string) => {
      setReading({ busy: true });
      const record = await call(client, workspace, "get", runPath, { path: { run: runId } }).catch((thrown: SvcError) => thrown);
      setReading({ busy: false, ...(record instanceof Error && { error: record }) });
      if (record instanceof Error) return record;
      const { workflowName, input } = record as { workflowName: string; input?: unknown };
      const key = keys.current.get(runId) ?? newKey();
      keys.current.set(runId, key);
      const started = await start({ path: { name: workflowName }, key, ...(input !== undefined && { body: input }) } as Parameters<typeof start>[0]);
      if (started && "answer" in started) keys.current.delete(runId);
      return started;
    },
    [client, workspace, start],
  );
  return { run: again, busy: busy || reading.busy, error: error ?? reading.error };
}
