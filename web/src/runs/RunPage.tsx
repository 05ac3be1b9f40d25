import { useEffect, type ReactNode } from "react";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { SvcError } from "@svc/sdk";
import "../look/run.css";
import { useLasting } from "../chat/ticking";
import { CopyButton } from "../kit/CodeSample";
import { LiveState } from "../kit/LiveState";
import { Refusal, Trouble } from "../kit/Refusal";
import { StatusTag } from "../kit/StatusTag";
import { Tabs } from "../kit/Tabs";
import { say } from "../kit/say";
import { useRead } from "../server/read";
import { Page } from "../shell/Page";
import { usePath } from "../shell/where";
import { Conversation } from "./Conversation";
import { Events } from "./Events";
import { InputResult } from "./InputResult";
import { RunActs } from "./RunActs";
import { RunFacts } from "./RunFacts";
import { middle, statusOf } from "./run";
import { Timeline } from "./Timeline";
import { useRunEvents } from "./useRunEvents";

const tabs = ["timeline", "conversation", "events", "input"] as const;
type Tab = (typeof tabs)[number];

/** How long the first events may fail to come before it is said, in milliseconds. */
const patience = 2_000;
const recordPath = "/api/workspaces/{username}/{business}/runs/{run}";
/** How often a run is looked at that tells nothing of itself, in milliseconds. */
const glance = 2_000;

/** Looked is what the address of a run says: which view, and which span in it. */
export interface Looked {
  tab?: Tab | undefined;
  span?: string | undefined;
  show?: "slow" | "failed" | undefined;
  find?: string | undefined;
}

/** RunPage is one run, live. */
export function RunPage(): ReactNode {
  const { runId = "" } = useParams({ strict: false }) as { runId?: string };
  return <OneRun key={runId} runId={runId} />;
}

function OneRun({ runId }: { runId: string }): ReactNode {
  const looked = useSearch({ strict: false }) as Looked;
  const navigate = useNavigate();
  const path = usePath();
  const record = useRead(recordPath, { path: { run: runId } });
  const { run, events, told, partial } = useRunEvents(runId, record.data?.startedAt);
  // A workflow may keep what happens in its runs to itself: such a run has a record, and no stream.
  const silent = record.data !== undefined && !record.error && run.phase === "error" && run.error instanceof SvcError && run.error.type === "run_not_found";
  const tab = silent ? "input" : (tabs.find((each) => each === looked.tab) ?? "timeline");
  // A view is a place to go back to; what is looked at within it is not.
  const look = (next: Looked): void => {
    const search = Object.entries({ ...looked, ...next }).filter(([, value]) => value !== undefined && value !== "");
    void navigate({ to: ".", search: Object.fromEntries(search) as never, replace: next.tab === undefined, resetScroll: false });
  };

  // The end of the stream and the record are one fact: the record is read again when the stream has told it.
  const { refetch } = record;
  const closed = run.phase === "closed";
  useEffect(() => {
    if (closed) void refetch();
  }, [closed, refetch]);
  const status = record.data && statusOf(record.data);
  useRead(recordPath, { path: { run: runId }, every: glance, when: silent && status === "running" });
  useEffect(() => {
    if (closed && status && status !== "running") say(`The run has ${status === "completed" ? "completed" : status}.`);
  }, [closed, status]);

  const unread = useLasting(run.phase === "loading" && run.error !== undefined, patience) || run.phase === "error";
  const title = record.data?.workflowName ?? "Run";
  const above = { title: "Runs", to: path("runs") };
  if (record.error && !record.data) {
    return (
      <Page title="Runs" heading="Run" above={above} thing={middle(runId)}>
        <Refusal error={record.error} onRetry={() => void refetch()} />
      </Page>
    );
  }
  const finishing = closed && status === "running";
  const beside = (
    <>
      <span className="mono faint desk run-id">{middle(runId)}</span>
      <span className="desk"><CopyButton text={runId} label="Copy run id" /></span>
      {status && <StatusTag status={status} {...(finishing && { word: "Finishing" })} />}
      {status === "running" && run.phase !== "live" && !finishing && !silent && <LiveState phase={run.phase === "idle" ? "loading" : run.phase} />}
    </>
  );
  return (
    <Page title="Runs" heading={title} above={above} thing={`${middle(runId)} · ${title}`} state={status === "running" ? "running" : status === "failed" ? "failed" : undefined} beside={beside} acts={record.data && <RunActs run={record.data} />}>
      {record.error && <Trouble error={record.error} stale onRetry={() => void refetch()} />}
      {unread && !silent && run.error instanceof SvcError && <Trouble error={run.error} stale={events.length > 0} onRetry={run.refresh} />}
      {record.data ? <RunFacts run={record.data} told={told} /> : <FactsSkeleton />}
      {silent && <p className="partial" role="status">What happens in the runs of this workflow is not shown: it exports no <code>runs</code>.</p>}
      <Tabs
        label="Views of the run"
        value={tab}
        onChange={(id) => look({ tab: id as Tab })}
        tabs={[...(silent ? [] : [{ id: "timeline", label: "Timeline" }, { id: "conversation", label: "Conversation" }, { id: "events", label: "Events", ...(events.length > 0 && !partial && { count: events.length }) }]), { id: "input", label: "Input and result" }]}
      />
      {partial && <p className="partial" role="status">These are the last {events.length} events. The ones before are being read.</p>}
      {tab === "timeline" && <Timeline told={told} live={status === "running" && !closed} failed={status === "failed"} loading={run.phase === "loading"} looked={looked} onLook={look} />}
      {tab === "conversation" && <Conversation key={partial ? "end" : "whole"} runId={runId} events={events} live={status === "running" && !closed} />}
      {tab === "events" && <Events runId={runId} events={events} />}
      {tab === "input" && record.data && <InputResult run={record.data} />}
    </Page>
  );
}

function FactsSkeleton(): ReactNode {
  return (
    <div className="facts wait" role="status" aria-label="Loading the run">
      {[96, 60, 80, 60].map((width, i) => (
        <span key={i} className="skeleton" style={{ width, height: 32 }} />
      ))}
    </div>
  );
}
