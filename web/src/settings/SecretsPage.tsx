import { useState, type ReactNode } from "react";
import { Link } from "@tanstack/react-router";
import { bytes } from "../kit/amount";
import { Button } from "../kit/Button";
import { DataList, type Column } from "../kit/DataList";
import { Empty } from "../kit/Empty";
import { isMany, Search } from "../kit/Search";
import { Time } from "../kit/Time";
import { useList } from "../server/read";
import { useMay } from "../server/role";
import { usePath } from "../shell/where";
import { useNames } from "../team/names";
import { DeleteSecret, PutSecret, type SecretItem } from "./SecretDialogs";
import { Settings } from "./Settings";

/** SecretsPage is the values that the workspace keeps and nobody reads back: only that they are there, since when, and what uses them. */
export function SecretsPage(): ReactNode {
  const [query, setQuery] = Search.useQuery();
  const list = useList("/api/workspaces/{username}/{business}/secrets", { query: { q: query || undefined } });
  const { why } = useMay("manage");
  const nameOf = useNames();
  const [putting, setPutting] = useState<SecretItem | "new">();
  const [deleting, setDeleting] = useState<SecretItem>();
  const columns: readonly Column<SecretItem>[] = [
    { head: "Name", cell: (of) => <span className="mono">{of.name}</span>, phone: "wide" },
    {
      head: "Stored",
      className: "dim",
      cell: (of) => (
        <>
          <Time at={of.updatedAt} /> {nameOf(of.updatedBy) && `by ${nameOf(of.updatedBy)}`}
          <small className="num">version {of.version}, {bytes(of.bytes)}</small>
        </>
      ),
    },
    { head: "Last used", className: "dim", phone: "hide", cell: (of) => (of.lastUsedAt ? <Time at={of.lastUsedAt} /> : <span className="faint">never</span>) },
    { head: "Used by", phone: "end", cell: (of) => <UsedBy uses={of.usedBy} /> },
    {
      head: "Acts",
      className: "acts",
      phone: "wide",
      cell: (of) => (
        <span className="row end tight">
          <Button small look="ghost" why={why} label={`Replace ${of.name}`} onClick={() => setPutting(of)}>Replace</Button>
          <Button small look="ghost" className="danger" why={why} label={`Delete ${of.name}`} onClick={() => setDeleting(of)}>Delete</Button>
        </span>
      ),
    },
  ];
  const create = <Button look="primary" icon="plus" why={why} onClick={() => setPutting("new")}>New secret</Button>;
  return (
    <Settings thing="Secrets" acts={create}>
      {isMany(list, query) && <Search label="Name of a secret" placeholder="Name" query={query} onQuery={setQuery} />}
      <DataList
        label="Secrets"
        list={list}
        columns={columns}
        keyOf={(of) => of.name}
        onClear={query ? () => setQuery("") : undefined}
        empty={
          <Empty icon="lock" title="Nothing is kept here yet" act={create}>
            Keys of model providers and of tools are kept sealed. Agents use them; nobody reads them back, not even you.
          </Empty>
        }
      />
      {putting && <PutSecret secret={putting === "new" ? undefined : putting} onClose={() => setPutting(undefined)} />}
      {deleting && <DeleteSecret secret={deleting} onClose={() => setDeleting(undefined)} />}
    </Settings>
  );
}

/** UsedBy leads to what uses a secret, by its address below the workspace. */
function UsedBy({ uses }: { uses: readonly string[] }): ReactNode {
  const path = usePath();
  if (uses.length === 0) return <span className="faint">nothing yet</span>;
  return uses.map((use, i) => {
    const [noun, ...rest] = use.split("/");
    const to = noun === "models" ? "settings/models" : use;
    return (
      <span key={use}>
        {i > 0 && ", "}
        <Link to={path(to)}>{rest.join("/") || noun}</Link>
      </span>
    );
  });
}
