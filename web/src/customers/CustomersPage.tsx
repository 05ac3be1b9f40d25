import { useState, type ReactNode } from "react";
import { useNavigate, useSearch } from "@tanstack/react-router";
import "../look/people.css";
import { DataList, type Column } from "../kit/DataList";
import { Empty } from "../kit/Empty";
import { Icon } from "../kit/Icon";
import { Tag, type Tone } from "../kit/StatusTag";
import { Time } from "../kit/Time";
import type { ItemOf } from "../server/path";
import { useList } from "../server/read";
import { Page } from "../shell/Page";
import { CustomerSheet } from "./CustomerSheet";

export type Customer = ItemOf<"/api/admin/workspaces">;

/** stateOf is how a workspace stands. */
export function stateOf(customer: Pick<Customer, "suspended" | "eraseAt">): { tone: Tone; word: string } {
  if (customer.eraseAt) return { tone: "bad", word: "Deleted" };
  return customer.suspended ? { tone: "bad", word: "Suspended" } : { tone: "ok", word: "Active" };
}

const columns: readonly Column<Customer>[] = [
  {
    head: "Workspace",
    cell: (customer) => (
      <>
        <b className="trunc">{customer.name}</b>
        <small className="trunc">{customer.scope.replace(/^users\//, "")}</small>
      </>
    ),
  },
  { head: "State", phone: "end", cell: (customer) => <Tag tone={stateOf(customer).tone}>{stateOf(customer).word}</Tag> },
  { head: "Owner", phone: "hide", className: "dim", cell: (customer) => customer.owner.username },
  { head: "Made", phone: "hide", className: "dim num", cell: (customer) => <Time at={customer.createdAt} quiet /> },
];

/** CustomersPage is every workspace there is. A row opens what is known of it, and the way into it. */
export function CustomersPage(): ReactNode {
  const search = useSearch({ strict: false }) as { q?: unknown };
  const q = search.q === undefined ? undefined : String(search.q) || undefined;
  const navigate = useNavigate();
  const [open, setOpen] = useState<string>();
  const list = useList("/api/admin/workspaces", { query: { q } });
  const customer = list.items?.find((each) => each.id === open);
  const find = (text: string | undefined): void => void navigate({ to: ".", search: { q: text } as never, replace: true });
  return (
    <Page title="Customers">
      <Find key={q} q={q} onFind={find} />
      <DataList
        label="Workspaces"
        list={list}
        columns={columns}
        keyOf={(each) => each.id}
        onOpen={(each) => setOpen(each.id)}
        selected={open}
        onClear={q ? () => find(undefined) : undefined}
        empty={<Empty icon="globe" title="No workspaces yet">Everybody who signs up has one.</Empty>}
      />
      {customer && <CustomerSheet customer={customer} onClose={() => setOpen(undefined)} />}
    </Page>
  );
}

function Find({ q, onFind }: { q: string | undefined; onFind: (q: string | undefined) => void }): ReactNode {
  const [typed, setTyped] = useState(q ?? "");
  return (
    <form
      className="tlbar filters"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        onFind(typed.trim() || undefined);
      }}
    >
      <span className="find-in">
        <Icon name="search" small />
        <input className="input sm" data-filter aria-label="Name or address" placeholder="Name or address, then Enter" value={typed} onChange={(event) => setTyped(event.target.value)} spellCheck={false} />
      </span>
      <span className="grow" />
      <span className="faint t12 desk">Newest first</span>
    </form>
  );
}
