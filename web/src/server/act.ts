import { useCallback, useRef, useState } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { SvcError, type AnswerOf, type PathOf } from "@svc/sdk";
import { call, type Sending } from "./call";
import { begin, end } from "./once";
import { nounOf, type Asked, type Given, type Verb } from "./path";
import { useReauth } from "./reauth";
import { useServer, useWorkspace } from "./workspace";

/** Meant is what an act says beside its request. */
export interface Meant {
  /** The version of what is changed: a change that somebody made meanwhile is a conflict, and nothing is lost. */
  version?: number | undefined;
  /** The key of the request. Default: a new one, but for what is asked for again at once after its answer was lost. */
  key?: string | undefined;
}

/** Act is something that a page does. */
export interface Act<Path extends PathOf<V>, V extends Verb> {
  /** Do it. The promise gives the answer; undefined: it was refused, and `error` says why, or the same is on its way. It does not throw. */
  readonly run: (...asking: Given<Asked<Path, V> & Meant>) => Promise<Done<AnswerOf<Path, V>> | undefined>;
  /** Do it, and give the refusal too: for what is done to many. */
  readonly attempt: (...asking: Given<Asked<Path, V> & Meant>) => Promise<Done<AnswerOf<Path, V>> | SvcError | undefined>;
  readonly busy: boolean;
  readonly error: SvcError | undefined;
  /** The refusal of a change of a version that is no longer the newest. */
  readonly conflict: SvcError | undefined;
  /** Forget the refusal. */
  readonly reset: () => void;
}

/** Done is the answer of an act; that of a deletion is nothing. */
export interface Done<Answer> {
  readonly answer: Answer;
}

/** Beside are what else is read again, by paths: the noun of the act itself always is. */
export interface Beside {
  refreshes?: readonly PathOf<"get">[];
}

/**
 * useAct does one thing to the workspace that is shown: once, however often its answer is lost. Who must prove again who they are
 * is asked, and the act is repeated after.
 */
export function useAct<V extends Exclude<Verb, "get">, Path extends PathOf<V>>(verb: V, path: Path, { refreshes = [] }: Beside = {}): Act<Path, V> {
  const client = useServer();
  const workspace = useWorkspace();
  const queries = useQueryClient();
  const prove = useReauth();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<SvcError>();
  const also = useRef(refreshes);
  also.current = refreshes;
  const self = useRef(undefined); // tells this act from all others

  const attempt = useCallback(
    async (...[asking]: Given<Asked<Path, V> & Meant>) => {
      const headers = asking?.version === undefined ? undefined : { "if-match": `"${asking.version}"` };
      const sending = { path: asking?.path, query: asking?.query, body: asking?.body, headers };
      const sent = begin(self, asksOf(sending), asking?.key);
      if (!sent) return undefined;
      setBusy(true);
      setError(undefined);
      try {
        const answer = await proven(() => call(client, workspace, verb, path, { ...sending, idempotencyKey: sent.key }), prove);
        end(sent);
        const nouns = [path, ...also.current].map(nounOf);
        const gone = verb === "delete" ? belowOf(path, asking?.path) : () => false;
        void queries.cancelQueries({ predicate: ({ queryKey }) => gone(queryKey) });
        void queries.invalidateQueries({ predicate: ({ queryKey }) => nouns.includes(String(queryKey[1])) && !gone(queryKey) });
        return { answer };
      } catch (thrown) {
        const refusal = errorOf(thrown);
        end(sent, refusal);
        setError(refusal);
        return refusal;
      } finally {
        setBusy(false);
      }
    },
    [client, workspace, verb, path, queries, prove],
  );
  const run = useCallback(
    async (...asking: Given<Asked<Path, V> & Meant>) => {
      const done = await attempt(...asking);
      return done instanceof SvcError ? undefined : done;
    },
    [attempt],
  );
  const reset = useCallback(() => setError(undefined), []);
  return { run, attempt, busy, error, conflict: error?.status === 412 ? error : undefined, reset };
}

/** asksOf is all that a request asks for, to tell it from others. */
function asksOf(sending: Sending): string | undefined {
  return sending.body instanceof Blob ? undefined : JSON.stringify(sending);
}

/** belowOf tells what was read of a thing from all else that was, by its key: of one that was deleted there is nothing more to read. */
export function belowOf(path: string, of: unknown): (key: readonly unknown[]) => boolean {
  const named = Object.entries((of ?? {}) as Record<string, unknown>);
  return ([, , read, params]) => String(read).startsWith(path) && named.every(([name, value]) => (params as Record<string, unknown>)[name] === value);
}

/** proven repeats what was refused for want of a proof, once the person has given it. */
async function proven<T>(attempt: () => Promise<T>, prove: (refusal: SvcError) => Promise<boolean>): Promise<T> {
  try {
    return await attempt();
  } catch (thrown) {
    if (!(thrown instanceof SvcError) || !wantsProof(thrown) || !(await prove(thrown))) throw thrown;
    return attempt();
  }
}

/** wantsProof reports whether a refusal goes away when the person proves who they are. */
export function wantsProof(error: SvcError): boolean {
  return error.status === 401 || error.type === "reauth_required";
}

function errorOf(thrown: unknown): SvcError {
  if (thrown instanceof SvcError) return thrown;
  return new SvcError({ type: "internal_error", message: "Something went wrong on this page.", cause: thrown });
}
