import type { SvcError } from "@svc/sdk";
import { isUnreached } from "../kit/Refusal";
import { wantsProof } from "../server/act";
import type { RunAct } from "./acts";

/**
 * doEach does something to runs, one after the other and past a refusal, and gives the refusals. It stops where no server answers or
 * nobody is signed in: the others would fail too.
 */
export async function doEach(runIds: readonly string[], act: RunAct<unknown>["run"], onDone: (runId: string) => void): Promise<readonly SvcError[]> {
  const refusals: SvcError[] = [];
  for (const runId of runIds) {
    const came = await act(runId);
    if (came && "answer" in came) onDone(runId);
    else if (came) refusals.push(came);
    if (refusals.some((refusal) => isUnreached(refusal) || wantsProof(refusal))) break;
  }
  return refusals;
}
