import { useRef, useState, type ReactNode } from "react";
import { useNavigate, useSearch } from "@tanstack/react-router";
import "../look/runs.css";
import { Button } from "../kit/Button";
import { Icon } from "../kit/Icon";
import { Tag } from "../kit/StatusTag";
import { useOnline } from "../kit/online";
import { useMay } from "../server/role";
import { useWorkspace } from "../server/workspace";
import { Page } from "../shell/Page";
import { Filters } from "./Filters";
import { RunList } from "./RunList";
import { rangeOf } from "./run";
import { StartRun } from "./StartRun";
import { useRuns, type Filter } from "./useRuns";

/** Asked is what the address of the list says. */
export interface Asked {
  status?: Filter["status"] | undefined;
  workflow?: string | undefined;
  range?: string | undefined;
  /** The workflow that is about to be started; empty: one is still to be chosen. */
  start?: string | undefined;
}

/** RunsPage is the runs of a workspace, the newest first; on Admin those of all. */
export function RunsPage(): ReactNode {
  const asked = useSearch({ strict: false }) as Asked;
  const navigate = useNavigate();
  const set = (next: Asked): void => void navigate({ to: ".", search: Object.fromEntries(Object.entries({ ...asked, ...next }).filter(([, value]) => value !== undefined)) as never, replace: true });
  const workspace = useWorkspace();
  const body = useRef<HTMLDivElement>(null);
  const [atTop, setAtTop] = useState(true);
  const filter = filterOf(asked, workspace !== undefined);
  const runs = useRuns(filter, atTop);
  const { why } = useMay("work");
  const filtered = Object.keys(filter).length > 0;
  const clear = (): void => set({ status: undefined, workflow: undefined, range: undefined });
  const toTop = (): void => {
    runs.admit();
    body.current?.scrollTo({ top: 0 });
  };
  const start = workspace && (
    <Button look="primary" icon="play" why={why} aria-expanded={asked.start !== undefined} onClick={() => set({ start: filter.workflow ?? "" })}>
      Start a run
    </Button>
  );
  return (
    <Page title="Runs" beside={<Freshness stale={runs.stale || runs.error !== undefined} known={runs.items !== undefined} />} acts={start}>
      <Filters filter={filter} active={runs.active} onChange={set} />
      <div className="run-area">
        {runs.news > 0 && (
          <button type="button" className="news" onClick={toTop}>
            <Icon name="up" small /> {runs.news} new
          </button>
        )}
        <div ref={body} className="run-list" onScroll={(event) => setAtTop(event.currentTarget.scrollTop < 8)}>
          <RunList runs={runs} onClear={filtered ? clear : undefined} onStart={workspace && !why ? () => set({ start: "" }) : undefined} />
        </div>
      </div>
      {workspace && asked.start !== undefined && <StartRun name={asked.start} onName={(start) => set({ start })} onClose={() => set({ start: undefined })} />}
    </Page>
  );
}

function filterOf({ status, workflow, range }: Asked, here: boolean): Filter {
  const known = rangeOf(range);
  return {
    ...((status === "active" || status === "completed" || status === "errored") && { status }),
    ...(workflow && here && { workflow: String(workflow) }),
    ...(known && { range: known }),
  };
}

/** Freshness says whether what is shown is what is there. */
function Freshness({ stale, known }: { stale: boolean; known: boolean }): ReactNode {
  const online = useOnline();
  if (!online) return <Tag tone="warn">Offline</Tag>;
  if (!known) return null;
  return stale ? <Tag tone="warn">Reconnecting</Tag> : <Tag tone="live">Live</Tag>;
}
