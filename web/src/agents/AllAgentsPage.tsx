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
import { toolCount } from "./agent";

type AgentOfAll = ItemOf<"/api/admin/agents">;

const columns: readonly Column<AgentOfAll>[] = [
  { head: "Agent", cell: (agent) => <><b>{agent.name}</b><small className="trunc">{agent.description}</small></> },
  { head: "State", phone: "end", cell: (agent) => (agent.enabled ? <Tag tone="ok">On</Tag> : <Tag>Off</Tag>) },
  { head: "Workspace", className: "dim", cell: (agent) => (agent.scope ? agent.scope.replace(/^users\//, "") : "every workspace") },
  { head: "Model", className: "dim trunc", phone: "hide", cell: (agent) => agent.model || "default" },
  { head: "Tools", className: "dim num", phone: "hide", cell: (agent) => toolCount(agent) },
  { head: "Saved", className: "dim num", phone: "end", cell: (agent) => <>v{agent.version}{agent.updatedAt && <> · <Time at={agent.updatedAt} quiet /></>}</> },
];

/** AllAgentsPage is the agents of every workspace, for staff. A row leads to the agent in its workspace. */
export function AllAgentsPage(): ReactNode {
  const { q = "" } = useSearch({ strict: false }) as { q?: string };
  const navigate = useNavigate();
  const list = useList("/api/admin/agents", { query: { q: q || undefined } });
  const filter = (next: string): void => void navigate({ to: ".", search: (next ? { q: next } : {}) as never, replace: true });
  const open = (agent: AgentOfAll): void => {
    const at = addressOf(agent.scope ?? "");
    if (at) void navigate({ to: `${baseOf(at)}/agents/${agent.name}` });
  };
  return (
    <Page title="Agents">
      <Search label="Name of an agent" query={q} onQuery={filter} />
      <DataList
        label="Agents of all workspaces"
        list={list}
        columns={columns}
        keyOf={(agent) => `${agent.scope} ${agent.source} ${agent.name}`}
        onOpen={open}
        onClear={q ? () => filter("") : undefined}
        empty={<Empty icon="agents" title="No agents yet">What customers write is listed here.</Empty>}
      />
    </Page>
  );
}
