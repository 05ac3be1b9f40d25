import type { ReactNode } from "react";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { DataList, type Column } from "../kit/DataList";
import { Empty } from "../kit/Empty";
import { Search } from "../kit/Search";
import { Tag } from "../kit/StatusTag";
import { Time } from "../kit/Time";
import type { ItemOf } from "../server/path";
import { useList } from "../server/read";
import { addressOf } from "../server/session";
import { Page } from "../shell/Page";
import { baseOf } from "../shell/where";
import { authNames, stateOf, toolsOn } from "./server";

type ServerOfAll = ItemOf<"/api/admin/mcps">;

const columns: readonly Column<ServerOfAll>[] = [
  { head: "Server", cell: (server) => <><b>{server.name}</b><small className="trunc">{server.url || "a program"}</small></> },
  { head: "State", phone: "end", cell: (server) => <Tag tone={stateOf(server.status).tone}>{stateOf(server.status).word}</Tag> },
  { head: "Workspace", className: "dim", cell: (server) => server.scope.replace(/^users\//, "") },
  { head: "Sign-in", className: "dim", phone: "hide", cell: (server) => (server.transport === "stdio" ? "Program" : (authNames[server.auth as keyof typeof authNames] ?? server.auth)) },
  { head: "Tools", className: "dim num", phone: "hide", cell: (server) => toolsOn(server) },
  { head: "Looked at", className: "dim num", phone: "end", cell: (server) => <Time at={server.statusAt} quiet /> },
];

/** AllMcpsPage is the MCP servers of every workspace, for staff. A row leads to the server in its workspace. */
export function AllMcpsPage(): ReactNode {
  const { q = "" } = useSearch({ strict: false }) as { q?: string };
  const navigate = useNavigate();
  const list = useList("/api/admin/mcps", { query: { q: q || undefined } });
  const filter = (next: string): void => void navigate({ to: ".", search: (next ? { q: next } : {}) as never, replace: true });
  const open = (server: ServerOfAll): void => {
    const at = addressOf(server.scope);
    if (at) void navigate({ to: `${baseOf(at)}/mcps/${server.id}` });
  };
  return (
    <Page title="MCPs">
      <Search label="Name of a server" query={q} onQuery={filter} />
      <DataList
        label="MCP servers of all workspaces"
        list={list}
        columns={columns}
        keyOf={(server) => server.id}
        onOpen={open}
        onClear={q ? () => filter("") : undefined}
        empty={<Empty icon="mcp" title="No MCP servers yet">What customers add is listed here.</Empty>}
      />
    </Page>
  );
}
