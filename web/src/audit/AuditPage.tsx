import { useMemo, useState, type ReactNode } from "react";
import { useNavigate, useSearch } from "@tanstack/react-router";
import "../look/audit.css";
import { Button } from "../kit/Button";
import { Combobox, type Choice } from "../kit/Combobox";
import { DataList, type Column } from "../kit/DataList";
import { Empty } from "../kit/Empty";
import { Sheet } from "../kit/Dialog";
import { Icon } from "../kit/Icon";
import { Tag } from "../kit/StatusTag";
import { Segments } from "../kit/Tabs";
import { Time } from "../kit/Time";
import { useList, useRead, type Listing } from "../server/read";
import { nameOf } from "../server/session";
import { namesOf, useWorkspace } from "../server/workspace";
import { Page } from "../shell/Page";
import { EventFacts } from "./EventFacts";
import { Verification } from "./Verification";
import { actorName, outcomeOf, targetName, type AuditEvent } from "./event";

/** AuditPage is what was done in a workspace, by staff too. */
export function AuditPage(): ReactNode {
  const [filter] = useFilter();
  const list = eventsOf(useList("/api/workspaces/{username}/{business}/audit", { query: useAsked(filter) }));
  const workspace = useWorkspace();
  const exported = workspace && `/api/workspaces/${namesOf(workspace)}/audit/export`;
  return <Events list={list} exported={exported} />;
}

/** AllAuditPage is what was done anywhere, for staff. */
export function AllAuditPage(): ReactNode {
  const [filter] = useFilter();
  return <Events list={eventsOf(useList("/api/admin/audit", { query: useAsked(filter) }))} />;
}

/** eventsOf are the items of a list as the contract has them. */
function eventsOf(list: Listing<unknown>): Listing<AuditEvent> {
  return list as Listing<AuditEvent>;
}

type Range = "hour" | "day" | "week";

interface Filter {
  action?: string;
  actor?: string;
  range?: Range;
}

const ranges: readonly { id: Range | ""; label: string; ms: number }[] = [
  { id: "", label: "All", ms: 0 },
  { id: "hour", label: "Hour", ms: 3_600_000 },
  { id: "day", label: "Day", ms: 86_400_000 },
  { id: "week", label: "Week", ms: 604_800_000 },
];

/** useFilter keeps the filter in the address, so that it can be shared and gone back from. */
function useFilter(): [filter: Filter, set: (filter: Filter) => void] {
  const { action, actor, range } = useSearch({ strict: false }) as Record<string, unknown>;
  const navigate = useNavigate();
  const set = (next: Filter): void => void navigate({ to: ".", search: next as never, replace: true });
  const known = ranges.find((each) => each.id !== "" && each.id === range)?.id as Range | undefined;
  return [{ ...(action ? { action: String(action) } : {}), ...(actor ? { actor: String(actor) } : {}), ...(known && { range: known }) }, set];
}

/** useAsked is the filter as the service takes it. A range begins where it did when it was chosen: another beginning would be another list, and at its first page. */
function useAsked({ action, actor, range }: Filter): { action: string | undefined; actor: string | undefined; from: string | undefined } {
  const from = useMemo(() => {
    const ms = ranges.find((each) => each.id === range)?.ms;
    return ms ? new Date(Math.floor(Date.now() / 60_000) * 60_000 - ms).toISOString() : undefined;
  }, [range]);
  return { action, actor, from };
}

const columns: readonly Column<AuditEvent>[] = [
  {
    head: "Action",
    cell: (event) => (
      <>
        <b>{event.action}</b>
        {event.count ? <span className="faint num"> × {event.count}</span> : null}
      </>
    ),
  },
  { head: "Outcome", phone: "end", cell: (event) => <Tag tone={outcomeOf(event).tone}>{outcomeOf(event).word}</Tag> },
  {
    head: "Who",
    cell: (event) => <span className={event.authority === "admin" || event.impersonator ? "by-staff" : ""}>{actorName(event)}</span>,
  },
  { head: "What", className: "dim trunc", phone: "hide", cell: (event) => targetName(event) },
  { head: "When", className: "dim num", phone: "end", cell: (event) => <Time at={event.ts} quiet /> },
];

function Events({ list, exported }: { list: Listing<AuditEvent>; exported?: string | undefined }): ReactNode {
  const [open, setOpen] = useState<AuditEvent>();
  const [filter, setFilter] = useFilter();
  const filtered = Object.keys(filter).length > 0;
  const seen = useSeen(list.items);
  const newest = filtered ? undefined : list.items?.[0]?.seq;
  const acts = exported && (
    <a className="btn" href={exported} download="audit.ndjson">
      <Icon name="dl" small /> Export
    </a>
  );
  return (
    <Page title="Audit" acts={acts}>
      <Filters filter={filter} seen={seen} onFilter={setFilter}>
        {exported && newest !== undefined && <Verification exported={exported} newest={newest} />}
      </Filters>
      <DataList
        label="Events"
        className="audit"
        list={list}
        columns={columns}
        keyOf={(event) => `${event.chain} ${event.seq}`}
        onOpen={setOpen}
        selected={open && `${open.chain} ${open.seq}`}
        onClear={filtered ? () => setFilter({}) : undefined}
        empty={<Empty icon="audit" title="Nothing has happened yet">What people and staff change here is listed, and what they were refused.</Empty>}
      />
      {open && (
        <Sheet title={open.action} onClose={() => setOpen(undefined)}>
          <EventFacts event={open} />
        </Sheet>
      )}
    </Page>
  );
}

/** useSeen are the actions that this page has shown. */
function useSeen(events: readonly AuditEvent[] | undefined): readonly string[] {
  const [seen] = useState(() => new Set<string>());
  for (const event of events ?? []) seen.add(event.action);
  return [...seen].sort();
}

/** Filters are who, what and when. Actions that were seen are offered; others can be typed. */
function Filters({ filter, seen, onFilter, children }: { filter: Filter; seen: readonly string[]; onFilter: (filter: Filter) => void; children: ReactNode }): ReactNode {
  const people = usePeople();
  const put = (name: "action" | "actor", value: string): void => {
    const { [name]: _, ...rest } = filter;
    onFilter(value.trim() ? { ...rest, [name]: value.trim() } : rest);
  };
  const range = (id: string): void => {
    const { range: _, ...rest } = filter;
    onFilter(id ? { ...rest, range: id as Range } : rest);
  };
  return (
    <div className="tlbar filters" role="search">
      <div className="unlabelled"><Combobox label="Action" placeholder="Any action" free choices={seen.map((action) => ({ value: action, label: action }))} value={filter.action ?? ""} onChange={(value) => put("action", value)} /></div>
      <div className="unlabelled"><Combobox label="Who" placeholder="Anybody" free choices={people} value={filter.actor ?? ""} onChange={(value) => put("actor", value)} /></div>
      <Segments label="When" tabs={ranges} value={filter.range ?? ""} onChange={range} />
      {Object.keys(filter).length > 0 && <Button look="ghost" icon="x" onClick={() => onFilter({})}>Clear</Button>}
      {children}
    </div>
  );
}

/** usePeople are those of this workspace. All customers are too many to choose from: there an account's id is typed. */
function usePeople(): readonly Choice[] {
  const workspace = useWorkspace();
  const people = useRead("/api/workspaces/{username}/{business}/people", { query: { limit: 200 }, when: workspace !== undefined }).data?.items ?? [];
  return people.map((person) => ({ value: person.account, label: nameOf(person), note: person.username }));
}
