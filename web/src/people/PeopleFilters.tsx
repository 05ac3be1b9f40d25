import { useEffect, useState, type ReactNode } from "react";
import { Icon } from "../kit/Icon";
import { Menu, type MenuItem } from "../kit/Menu";
import type { Filter } from "./PeoplePage";

const statuses: Record<string, string> = { active: "Active", unverified: "E-mail unverified", suspended: "Suspended", deleted: "Deleted" };
const roles: Record<string, string> = { admin: "Service admin", support: "Support", none: "Customers" };

/** How long a text is left alone before it is searched for, in milliseconds. */
const typing = 250;

/** PeopleFilters narrow the list; what is chosen stands on the button itself. */
export function PeopleFilters({ filter, onFilter }: { filter: Filter; onFilter: (filter: Filter) => void }): ReactNode {
  const [typed, setTyped] = useState(filter.q ?? "");
  useEffect(() => setTyped((now) => (now.trim() === (filter.q ?? "") ? now : (filter.q ?? ""))), [filter.q]);
  useEffect(() => {
    const q = typed.trim() || undefined;
    if (q === filter.q) return;
    const timer = setTimeout(() => onFilter({ ...filter, q }), typing);
    return () => clearTimeout(timer);
    // What is typed is what is searched for; another filter does not begin the wait again.
  }, [typed]);
  return (
    <div className="tlbar filters" role="search">
      <span className="find-in">
        <Icon name="search" small />
        <input className="input sm" data-filter aria-label="Name, e-mail or username" placeholder="Name, e-mail or username" value={typed} onChange={(event) => setTyped(event.target.value)} spellCheck={false} />
      </span>
      <Choice label="Status" all={statuses} value={filter.status} onChoose={(status) => onFilter({ ...filter, status })} />
      <Choice label="Role" all={roles} value={filter.role} onChoose={(role) => onFilter({ ...filter, role })} />
      <span className="grow" />
      <span className="faint t12 desk">Newest first</span>
    </div>
  );
}

function Choice({ label, all, value, onChoose }: { label: string; all: Record<string, string>; value: string | undefined; onChoose: (value: string | undefined) => void }): ReactNode {
  const items: MenuItem[] = [
    { label: "Any", ticked: value === undefined, onSelect: () => onChoose(undefined) },
    ...Object.entries(all).map(([id, word]): MenuItem => ({ label: word, ticked: value === id, onSelect: () => onChoose(id) })),
  ];
  const chosen = value === undefined ? undefined : (all[value] ?? value);
  return (
    <Menu
      label={label}
      className="btn ghost"
      groups={[{ items }]}
      button={
        <>
          {label}
          {chosen && <b>{chosen}</b>}
          <Icon name="down" small />
        </>
      }
    />
  );
}
