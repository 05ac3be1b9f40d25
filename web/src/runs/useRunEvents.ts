import { useEffect, useMemo, useRef, useState } from "react";
import { useRun, type RunState } from "@svc/react";
import type { RunEvent } from "@svc/sdk";
import { useProven } from "../server/reauth";
import { useServer } from "../server/workspace";
import { Fold } from "./fold";

/** A run is shown by its last so many events first. One that is longer is read from its start beside them. */
const tail = 1_000;

export interface Followed {
  readonly run: RunState;
  readonly events: readonly RunEvent[];
  /** Another object whenever something was added to the fold. */
  readonly told: Told;
  /** Whether the beginning is still being read: what is shown is the end of the run. */
  readonly partial: boolean;
}

export interface Told<Of = Fold> {
  readonly fold: Of;
}

/** useRunEvents follows a run, and folds its events into spans as they come. */
export function useRunEvents(runId: string, startedAt: string | undefined): Followed {
  const run = useRun(runId, { tail });
  useProven(run.phase === "error" ? run.error : undefined, run.refresh);
  const first = run.events[0]?.eventIndex;
  const earlier = useEarlier(runId, first);
  const events = useMemo(() => (earlier ? [...earlier, ...run.events] : run.events), [earlier, run.events]);
  const told = useFolded(events, `${runId} ${earlier?.length ?? 0} ${startedAt ?? ""}`, () => new Fold(startedAt));
  return { run, events, told, partial: first !== undefined && first > 0 && earlier === undefined };
}

/** useEarlier reads what comes before an event, once. */
function useEarlier(runId: string, first: number | undefined): readonly RunEvent[] | undefined {
  const client = useServer();
  const [read, setRead] = useState<{ runId: string; events: readonly RunEvent[] }>();
  useEffect(() => {
    if (first === undefined || first === 0) return;
    const leaving = new AbortController();
    const events: RunEvent[] = [];
    const reading = async (): Promise<void> => {
      for await (const event of client.runs.stream(runId, { live: false, signal: leaving.signal })) {
        if (event.eventIndex >= first) break;
        events.push(event);
      }
      if (!leaving.signal.aborted) setRead({ runId, events });
    };
    // What cannot be read now leaves the end of the run, which says that it is no more than that.
    reading().catch(() => {});
    return () => leaving.abort();
  }, [client, runId, first]);
  return read?.runId === runId ? read.events : undefined;
}

/** useFolded adds what is new to something that is made of events. Another key, or another beginning, is another one. */
export function useFolded<Of extends { add: (event: RunEvent) => void }>(events: readonly RunEvent[], key: string, make: () => Of): Told<Of> {
  const kept = useRef<{ key: string; first: RunEvent | undefined; fold: Of; taken: number }>(undefined);
  return useMemo(() => {
    let now = kept.current;
    if (!now || now.key !== key || now.first !== events[0] || now.taken > events.length) now = kept.current = { key, first: events[0], fold: make(), taken: 0 };
    for (; now.taken < events.length; now.taken++) now.fold.add(events[now.taken]!);
    return { fold: now.fold };
  }, [events, key]);
}
