import { useState, type ReactNode } from "react";
import { useNavigate, useSearch } from "@tanstack/react-router";
import "../look/audit.css";
import { Button } from "../kit/Button";
import { DataList, type Column } from "../kit/DataList";
import { Empty } from "../kit/Empty";
import { Sheet } from "../kit/Dialog";
import { Icon } from "../kit/Icon";
import { Tag } from "../kit/StatusTag";
import { Time } from "../kit/Time";
import { useList, type Listing } from "../server/read";
import { useWorkspace } from "../server/workspace";
import { Page } from "../shell/Page";
import { EventFacts } from "./EventFacts";
import { actorName, outcomeOf, targetName, type AuditEvent } from "./event";

/** AuditPage is what was done in a workspace, by staff too. */
export function AuditPage(): ReactNode {
  const [filter] = useFilter();
  const list = eventsOf(useList("/api/workspaces/{username}/{business}/audit", { query: filter }));
  const workspace = useWorkspace();
  const exported = workspace && `/api/workspaces/${workspace.username}/${workspace.business}/audit/export`;
  return <Events list={list} exported={exported} />;
}

/** AllAuditPage is what was done anywhere, for staff. */
export function AllAuditPage(): ReactNode {
  const [filter] = useFilter();
  return <Events list={eventsOf(useList("/api/admin/audit", { query: filter }))} />;
}

/** eventsOf are the items of a list as the contract has them. */
function eventsOf(list: Listing<unknown>): Listing<AuditEvent> {
  return list as Listing<AuditEvent>;
}

interface Filter {
  action?: string;
  actor?: string;
}

/** useFilter keeps the filter in the address, so that it can be shared and gone back from. */
function useFilter(): [filter: Filter, set: (filter: Filter) => void] {
  const { action, actor } = useSearch({ strict: false }) as Filter;
  const navigate = useNavigate();
  const set = (next: Filter): void => void navigate({ to: ".", search: next as never, replace: true });
  return [{ ...(action && { action: String(action) }), ...(actor && { actor: String(actor) }) }, set];
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
  const filtered = filter.action !== undefined || filter.actor !== undefined;
  const acts = exported && (
    <a className="btn" href={exported} download="audit.ndjson">
      <Icon name="dl" small /> Export
    </a>
  );
  return (
    <Page title="Audit" acts={acts}>
      <Filters key={`${filter.action} ${filter.actor}`} filter={filter} onFilter={setFilter} />
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

function Filters({ filter, onFilter }: { filter: Filter; onFilter: (filter: Filter) => void }): ReactNode {
  const [action, setAction] = useState(filter.action ?? "");
  const [actor, setActor] = useState(filter.actor ?? "");
  const send = (): void => onFilter({ ...(action.trim() && { action: action.trim() }), ...(actor.trim() && { actor: actor.trim() }) });
  return (
    <form
      className="tlbar filters"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <span className="find-in">
        <Icon name="search" small />
        <input className="input sm" data-filter aria-label="Action" placeholder="Action, such as key.created" value={action} onChange={(event) => setAction(event.target.value)} spellCheck={false} />
      </span>
      <span className="find-in">
        <Icon name="team" small />
        <input className="input sm" aria-label="Who" placeholder="Account id" value={actor} onChange={(event) => setActor(event.target.value)} spellCheck={false} />
      </span>
      <Button type="submit" look="ghost">Filter</Button>
      {(filter.action || filter.actor) && <Button look="ghost" icon="x" onClick={() => onFilter({})}>Clear</Button>}
    </form>
  );
}
