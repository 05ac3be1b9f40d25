import { createContext, createElement, useContext, useMemo, useState, useSyncExternalStore, type ReactElement, type ReactNode } from "react";
import type { Client, Live } from "@svc/sdk";
import { Nobody, type Agent } from "./agent.js";
import { Launch } from "./launch.js";
import { NoRun, type RunState, type RunStatus } from "./run.js";
import type { Source } from "./source.js";
import { Stores } from "./stores.js";

const Context = createContext<Stores | undefined>(undefined);

export interface SvcProviderProps {
  client: Client;
  /** How streams are read. Default `auto`. */
  live?: Exclude<Live, false> | undefined;
  /** Whether to let go of connections while the page is hidden. Default true. */
  pauseWhenHidden?: boolean | undefined;
  children?: ReactNode;
}

/** SvcProvider gives a client to all hooks below it. What they read is shared by all of them, and forgotten with the provider. */
export function SvcProvider({ client, live, pauseWhenHidden, children }: SvcProviderProps): ReactElement {
  const stores = useHeld(() => new Stores(client, { live, pauseWhenHidden }), client, live, pauseWhenHidden);
  return createElement(Context.Provider, { value: stores }, children);
}

/** useClient is the client of the provider. */
export function useClient(): Client {
  return useStores().client;
}

export interface UseAgentOptions {
  /** The id was made here, and nobody has written under it: it is not asked for until something is sent. */
  fresh?: boolean | undefined;
}

/** useAgent is a conversation with an agent, and what can be done in it. Without an id there is none, and nothing is read. */
export function useAgent(name: string, id: string | undefined, { fresh }: UseAgentOptions = {}): Agent {
  const stores = useStores();
  return useSource(useHeld<Source<Agent>>(() => (id === undefined ? nobody : stores.agent(name, id, fresh)), stores, name, id));
}

export interface UseRunOptions {
  /** Begin so many events before the end of what is there, in the place of the start. */
  tail?: number | undefined;
}

/** useRun follows a run to its end. Without an id there is none, and nothing is read. */
export function useRun<Result = unknown>(runId: string | undefined, { tail }: UseRunOptions = {}): RunState<Result> {
  const stores = useStores();
  const store = useHeld<Source<RunState>>(() => (runId === undefined ? noRun : stores.run(runId, tail)), stores, runId, tail);
  return useSource(store) as RunState<Result>;
}

/** Workflow is a workflow, and the run of it that was started last. */
export interface Workflow<Result = unknown> extends Omit<RunState<Result>, "status"> {
  /** That of the run; `starting` until there is one. Where there is none, `error` says why. */
  readonly status: RunStatus | "starting";
  /** Start a run. The promise gives its id, and nothing where it was refused. */
  readonly start: (input?: unknown) => Promise<string | undefined>;
  /** Ask again for the run that was refused, or whose answer was lost: it is started once. */
  readonly retry: () => Promise<string | undefined>;
}

/** useWorkflow starts runs of a workflow and follows the one that was started last. */
export function useWorkflow<Result = unknown>(name: string): Workflow<Result> {
  const { client } = useStores();
  const launch = useSource(useHeld(() => new Launch(client, name), client, name));
  const run = useRun<Result>(launch.runId);
  return useMemo(() => {
    const { starting, error, start, retry } = launch;
    return { ...run, status: starting ? "starting" : run.status, error: error ?? run.error, start, retry };
  }, [launch, run]);
}

const nobody = new Nobody();
const noRun = new NoRun();

function useStores(): Stores {
  const stores = useContext(Context);
  if (!stores) throw new Error("There is no SvcProvider around this component.");
  return stores;
}

function useSource<State extends object>(source: Source<State>): State {
  return useSyncExternalStore(source.subscribe, source.getSnapshot, source.getServerSnapshot);
}

/** useHeld keeps what was made until what it was made of changes. React may forget a memo, but no state. */
function useHeld<T>(make: () => T, ...of: readonly unknown[]): T {
  const [held, hold] = useState(() => ({ of, value: make() }));
  if (of.every((part, i) => Object.is(part, held.of[i]))) return held.value;
  const next = { of, value: make() };
  hold(next);
  return next.value;
}
