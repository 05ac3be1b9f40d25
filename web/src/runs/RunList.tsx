import { useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { Link } from "@tanstack/react-router";
import { Button } from "../kit/Button";
import { lasting } from "../kit/amount";
import { nextRow } from "../kit/DataList";
import { Empty } from "../kit/Empty";
import { Icon, type IconName } from "../kit/Icon";
import { Refusal, Trouble } from "../kit/Refusal";
import { StatusTag } from "../kit/StatusTag";
import { Time, useNow } from "../kit/Time";
import { addressOf } from "../server/session";
import { namesOf, useWorkspace } from "../server/workspace";
import { baseOf } from "../shell/where";
import { ManyActs } from "./ManyActs";
import { shortId, statusOf, tookOf, whyOf, type RunRow } from "./run";
import type { Runs } from "./useRuns";

export interface RunListProps {
  runs: Runs;
  /** Clears the filter; absent: there is none. */
  onClear?: (() => void) | undefined;
  /** Starts the first run; absent: one may not. */
  onStart?: (() => void) | undefined;
}

/** RunList is the rows, in every state that they can be in. */
export function RunList({ runs, onClear, onStart }: RunListProps): ReactNode {
  if (!runs.items) return runs.error ? <Refusal error={runs.error} onRetry={runs.retry} /> : <Skeleton />;
  const trouble = runs.error && <Trouble error={runs.error} stale onRetry={runs.retry} />;
  if (runs.items.length === 0 && (!runs.stale || trouble) && !runs.hasMore) {
    return (
      <>
        {trouble}
        <NoRuns onClear={onClear} onStart={onStart} />
      </>
    );
  }
  return (
    <>
      {trouble}
      <Rows rows={runs.items} stale={runs.stale} />
      <div className="more">
        <span className="num">{runs.hasMore ? `Showing ${runs.items.length}` : `All ${runs.items.length}`}</span>
        {runs.hasMore && <Button busy={runs.loadingMore} onClick={runs.more}>Load more</Button>}
      </div>
    </>
  );
}

function NoRuns({ onClear, onStart }: Pick<RunListProps, "onClear" | "onStart">): ReactNode {
  if (onClear) return <Empty icon="search" title="Nothing matches" act={<Button onClick={onClear}>Clear the filter</Button>} />;
  return (
    <Empty icon="runs" title="Nothing has run yet" act={onStart && <Button look="primary" icon="play" onClick={onStart}>Start a run</Button>}>
      A run is a workflow at work. It goes on when a server stops, from the last step that it finished.
    </Empty>
  );
}

function Rows({ rows, stale }: { rows: readonly RunRow[]; stale: boolean }): ReactNode {
  const list = useRef<HTMLUListElement>(null);
  const [at, setAt] = useState(0);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const workspace = useWorkspace();
  const drop = (runId: string): void => setChosen((before) => new Set([...before].filter((each) => each !== runId)));
  const toggle = (runId: string): void => (chosen.has(runId) ? drop(runId) : setChosen((before) => new Set([...before, runId])));
  const move = (event: KeyboardEvent): void => {
    const run = rows[at];
    if (event.target instanceof HTMLInputElement && event.key !== "Escape") return;
    if (event.key === "x" && run && workspace) return toggle(run.runId);
    if (event.key === "Escape") return setChosen(new Set());
    const to = nextRow(event.key, at, rows.length);
    if (to === undefined) return;
    event.preventDefault();
    setAt(to);
    list.current?.querySelectorAll<HTMLElement>(".run-link")[to]?.focus();
  };
  const selected = rows.filter((run) => chosen.has(run.runId));
  return (
    <>
      {selected.length > 0 && <ManyActs runs={selected} onDone={drop} onClear={() => setChosen(new Set())} />}
      <Head />
      <ul ref={list} aria-label="Runs" className={stale ? "stale-rows" : ""} aria-busy={stale || undefined} data-choosing={selected.length > 0 || undefined} onKeyDown={move}>
        {rows.map((run, i) => (
          <Row key={run.runId} run={run} first={i === Math.min(at, rows.length - 1)} chosen={chosen.has(run.runId)} onFocus={() => setAt(i)} onToggle={() => toggle(run.runId)} />
        ))}
      </ul>
    </>
  );
}

function Head(): ReactNode {
  const workspace = useWorkspace();
  return (
    <div className="rrow head" aria-hidden="true">
      <span>Status</span>
      <span>Workflow</span>
      <span>{workspace ? "Started by" : "Workspace"}</span>
      <span className="right">Took</span>
      <span className="right">Started</span>
    </div>
  );
}

interface RowProps {
  run: RunRow;
  /** The one row that Tab leads to. */
  first: boolean;
  chosen: boolean;
  onFocus: () => void;
  onToggle: () => void;
}

function Row({ run, first, chosen, onFocus, onToggle }: RowProps): ReactNode {
  const status = statusOf(run);
  const why = whyOf(run);
  const workspace = useWorkspace();
  const home = workspace ?? addressOf(run.scope);
  const name = <b>{run.workflowName}</b>;
  return (
    <li className="rrow" data-chosen={chosen || undefined} onFocus={onFocus}>
      <span className="run-status">
        <StatusTag status={status} />
        {workspace && <input type="checkbox" className="tick" tabIndex={-1} checked={chosen} aria-label={`Select ${run.workflowName} ${shortId(run.runId)}`} onChange={onToggle} />}
      </span>
      <span className="trunc">
        {home ? (
          <Link className="run-link" data-row="" tabIndex={first ? 0 : -1} to={`${baseOf(home)}/runs/${run.runId}` as string}>{name}</Link>
        ) : (
          <span className="run-link" data-row="" tabIndex={first ? 0 : -1}>{name}</span>
        )}{" "}
        <span className="mono faint t12">{shortId(run.runId)}</span>
      </span>
      <Starter run={run} />
      <Took run={run} />
      <span className="num right dim at-col"><Time at={run.startedAt} quiet /></span>
      {why && (
        <small className="trunc">
          {why.name && <span className="bad w5">{why.name}</span>}
          <span className="why-t">{why.message}</span>
        </small>
      )}
    </li>
  );
}

/** Starter is who a run was started by; among runs of all workspaces, where. */
function Starter({ run }: { run: RunRow }): ReactNode {
  const workspace = useWorkspace();
  const home = addressOf(run.scope);
  const [icon, word] = workspace ? starterOf(run.startedBy) : ([home ? "folder" : "server", home ? namesOf(home).replace("/", " / ") : "the service"] as const);
  return (
    <span className="row by-col" title={workspace ? undefined : run.startedBy}>
      <Icon name={icon} small className="faint" />
      <span className="trunc dim">{word}</span>
    </span>
  );
}

/** starterOf tells a person from what is none: an actor with a colon is a channel, an agent or an automation. */
function starterOf(by: string | undefined): readonly [IconName, string] {
  if (!by) return ["info", "unknown"];
  const [kind, name] = by.includes(":") ? [by.slice(0, by.indexOf(":")), by.slice(by.indexOf(":") + 1)] : ["", by];
  if (kind === "channel") return ["hook", name];
  if (kind === "agent") return ["agents", name];
  if (kind === "automation") return ["clock", name];
  return ["team", name];
}

function Took({ run }: { run: RunRow }): ReactNode {
  return run.status === "active" ? <Running run={run} /> : <span className="num right took dim">{run.durationMs === undefined ? "–" : lasting(run.durationMs)}</span>;
}

function Running({ run }: { run: RunRow }): ReactNode {
  const now = useNow(1_000);
  const took = tookOf(run, now.getTime()) ?? 0;
  return <span className="num right took live">{took < 60_000 ? `${Math.round(took / 1_000)} s` : lasting(took)}</span>;
}

/** Skeleton is the list as it will stand. */
function Skeleton(): ReactNode {
  return (
    <div className="wait" role="status" aria-label="Loading runs">
      <Head />
      {Array.from({ length: 9 }, (_, row) => (
        <div key={row} className="rrow" aria-hidden="true">
          {[72, 44, 60, 70, 80].map((width, i) => (
            <span key={i} className="skeleton" style={{ width: `${width - ((row * 7) % 20)}%` }} />
          ))}
        </div>
      ))}
    </div>
  );
}
