import type { ReactNode } from "react";
import { useNavigate, useSearch } from "@tanstack/react-router";
import "../look/people.css";
import { Avatar } from "../kit/Avatar";
import { DataList, type Column } from "../kit/DataList";
import { Empty } from "../kit/Empty";
import { Tag } from "../kit/StatusTag";
import { Time } from "../kit/Time";
import { useList } from "../server/read";
import { nameOf } from "../server/session";
import { Page } from "../shell/Page";
import { PeopleFilters } from "./PeopleFilters";
import { PersonDrawer } from "./PersonDrawer";
import { businessesOf, roleOf, standingOf, type Person } from "./person";

/** Filter is what of everybody is shown, and who is open. It stands in the address. */
export interface Filter {
  readonly q?: string | undefined;
  readonly status?: string | undefined;
  readonly role?: string | undefined;
  readonly person?: string | undefined;
}

const columns: readonly Column<Person>[] = [
  {
    head: "Person",
    cell: (person) => (
      <div className="row who">
        <Avatar name={nameOf(person)} />
        <span className="grow">
          <b className="trunc">{nameOf(person)}</b>
          <small className="trunc">{person.email ?? person.username}</small>
        </span>
      </div>
    ),
  },
  { head: "Workspaces", phone: "hide", className: "trunc", cell: (person) => businessesOf(person.workspaces) },
  { head: "Role", phone: "hide", className: "dim", cell: (person) => <span className={roleOf(person).staff ? "by-staff" : ""}>{roleOf(person).word}</span> },
  { head: "Status", phone: "end", cell: (person) => <Tag tone={standingOf(person).tone}>{standingOf(person).word}</Tag> },
  { head: "Seen", phone: "hide", className: "dim num", cell: (person) => (person.lastSeenAt ? <Time at={person.lastSeenAt} quiet /> : "–") },
];

/** PeoplePage is everybody, and beside the list the one who is open. */
export function PeoplePage(): ReactNode {
  const [filter, setFilter] = useFilter();
  const { person, ...asked } = filter;
  const list = useList("/api/admin/people", { query: asked });
  const filtered = Object.values(asked).some((value) => value !== undefined);
  return (
    <Page title="People">
      <div className={person ? "people open" : "people"}>
        <div className="people-list">
          <PeopleFilters filter={filter} onFilter={(next) => setFilter({ ...next, person })} />
          <DataList
            label="People"
            className="people-rows"
            list={list}
            columns={columns}
            keyOf={(each) => each.id}
            onOpen={(each) => setFilter({ ...filter, person: each.id })}
            selected={person}
            onClose={() => setFilter({ ...filter, person: undefined })}
            onClear={filtered ? () => setFilter({ person }) : undefined}
            empty={<Empty icon="team" title="Nobody is here yet">Whoever signs up is listed.</Empty>}
          />
        </div>
        {person && <PersonDrawer key={person} id={person} onClose={() => setFilter({ ...filter, person: undefined })} />}
      </div>
    </Page>
  );
}

function useFilter(): [filter: Filter, set: (filter: Filter) => void] {
  const search = useSearch({ strict: false }) as Record<string, unknown>;
  const navigate = useNavigate();
  const text = (name: string): string | undefined => (search[name] === undefined ? undefined : String(search[name]) || undefined);
  const filter = { q: text("q"), status: text("status"), role: text("role"), person: text("person") };
  return [filter, (next) => void navigate({ to: ".", search: next as never, replace: next.person === filter.person })];
}
