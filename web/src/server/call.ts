import type { AnswerOf, Client, PathOf } from "@svc/sdk";
import type { Verb } from "./path";
import { isStaffs, staffs, type Workspace } from "./workspace";

/** Sending is a call as it is sent, in the workspace that is shown. */
export interface Sending {
  path?: Record<string, string> | undefined;
  query?: unknown;
  body?: unknown;
  headers?: Record<string, string> | undefined;
  idempotencyKey?: string | undefined;
  signal?: AbortSignal | undefined;
}

type Loose = (path: string, options: object) => Promise<unknown>;

/** call asks the API with the workspace filled in. The types stand on the hooks, which are all that calls it. */
export function call<V extends Verb, Path extends PathOf<V>>(
  client: Client,
  workspace: Workspace | undefined,
  verb: V,
  path: Path,
  sending: Sending,
): Promise<AnswerOf<Path, V>> {
  const ask = client.api[verb] as unknown as Loose;
  const own = isStaffs(workspace) ? path.replace("{username}/{business}", staffs.username) : path;
  return ask(own, { ...sending, path: { ...workspace, ...sending.path } }) as Promise<AnswerOf<Path, V>>;
}
