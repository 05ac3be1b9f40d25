import type { ReactNode } from "react";
import { useNavigate, useSearch } from "@tanstack/react-router";
import "../look/projects.css";
import { bytes, count } from "../kit/amount";
import { DataList, type Column } from "../kit/DataList";
import { Empty } from "../kit/Empty";
import { Tag } from "../kit/StatusTag";
import { Time } from "../kit/Time";
import type { ItemOf } from "../server/path";
import { useList } from "../server/read";
import { addressOf as workspaceOf } from "../server/session";
import { Page } from "../shell/Page";
import { baseOf } from "../shell/where";
import { Search } from "../kit/Search";
import { addressOf } from "./project";

type Listed = ItemOf<"/api/admin/projects">;

const columns: readonly Column<Listed>[] = [
  {
    head: "Project",
    cell: (of) => (
      <>
        <b>{of.name}</b>
        <small>{of.slug}</small>
      </>
    ),
  },
  { head: "Workspace", className: "dim", cell: (of) => of.scope.replace(/^users\//, ""), phone: "end" },
  { head: "Repository", phone: "hide", cell: (of) => (of.connected ? <Tag tone="line" plain>Follows one</Tag> : <span className="faint">None</span>) },
  { head: "Files", className: "num", phone: "hide", cell: (of) => count(of.fileCount) },
  { head: "Size", className: "num", cell: (of) => bytes(of.bytes) },
  { head: "Changed", className: "dim num", phone: "end", cell: (of) => <Time at={of.updatedAt} quiet /> },
];

/** AllProjectsPage is the projects of every workspace, for staff. A row leads into that workspace. */
export function AllProjectsPage(): ReactNode {
  const { q } = useSearch({ strict: false }) as { q?: string };
  const list = useList("/api/admin/projects", { query: q ? { q: String(q) } : {} });
  const navigate = useNavigate();
  const find = (next: string): void => void navigate({ to: ".", search: (next ? { q: next } : {}) as never, replace: true });
  const open = (of: Listed): void => {
    const at = workspaceOf(of.scope);
    if (at) void navigate({ to: `${baseOf(at)}/${addressOf(of.slug)}` });
  };
  return (
    <Page title="Projects">
      <Search label="Find projects" placeholder="Name of a project" query={q ? String(q) : ""} onQuery={find} />
      <DataList
        label="Projects of all workspaces"
        list={list}
        columns={columns}
        keyOf={(of) => of.id}
        onOpen={open}
        onClear={q ? () => find("") : undefined}
        empty={<Empty icon="folder" title="Nobody has a project yet">What workspaces make is listed here.</Empty>}
      />
    </Page>
  );
}
