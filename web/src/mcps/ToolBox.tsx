import { useState, type ReactNode } from "react";
import { Link } from "@tanstack/react-router";
import { Button } from "../kit/Button";
import { Icon } from "../kit/Icon";
import { Menu } from "../kit/Menu";
import { Refusal, sentenceOf, Trouble } from "../kit/Refusal";
import { Segments } from "../kit/Tabs";
import { useToast } from "../kit/Toast";
import { lasting } from "../kit/amount";
import { useAct } from "../server/act";
import { place } from "../server/place";
import { useRead } from "../server/read";
import { useMay } from "../server/role";
import { useWorkspace } from "../server/workspace";
import { baseOf } from "../shell/where";
import { DeleteServer } from "./DeleteServer";
import { EditProgram } from "./EditProgram";
import { EditServer } from "./EditServer";
import { Connect } from "./McpRow";
import type { Server, ServerDetail, Tool } from "./server";
import { ToolTile } from "./ToolTile";

type Which = "all" | "on" | "changed" | "new";

/** ToolBox is what a server has to offer, and which of it is on. */
export function ToolBox({ server, denied }: { server: Server; denied: boolean }): ReactNode {
  const { data, error, refetch } = useRead("/api/workspaces/{username}/{business}/mcps/{mcp}", { path: { mcp: server.id } });
  return (
    <div className="toolbox">
      <div>
        {denied && server.status !== "ok" && (
          <div className="bar warned" role="alert">
            <Icon name="warn" small className="warn" />
            <span className="grow"><b className="w55">You were not signed in.</b> The sign-in was refused or broken off. Nothing has changed.</span>
            <Connect server={server} look="plain" />
          </div>
        )}
        {error && data && <Trouble error={error} stale onRetry={() => void refetch()} />}
        {data ? <Tools detail={data} /> : error ? <Refusal error={error} onRetry={() => void refetch()} /> : <div className="bar wait" role="status" aria-label="Loading tools"><span className="skeleton" style={{ width: "40%" }} /></div>}
      </div>
    </div>
  );
}

/** So many tools are shown until all are asked for. */
const first = 12;

function Tools({ detail }: { detail: ServerDetail }): ReactNode {
  const [which, setWhich] = useState<Which>("all");
  const [all, setAll] = useState(false);
  const changed = detail.tools.filter((tool) => tool.changed);
  const come = detail.tools.filter((tool) => tool.new);
  const on = detail.tools.filter((tool) => tool.enabled);
  const shown = { all: [...detail.tools].sort((a, b) => wants(b) - wants(a)), on, changed, new: come }[which];
  const cut = all ? shown : shown.slice(0, first);
  const tabs = [
    { id: "all", label: "All", count: detail.tools.length },
    { id: "on", label: "On", count: on.length },
    ...(changed.length > 0 ? [{ id: "changed", label: "Changed", count: changed.length }] : []),
    ...(come.length > 0 ? [{ id: "new", label: "New", count: come.length }] : []),
  ];
  return (
    <>
      {changed.length > 0 && (
        <div className="bar warned">
          <Icon name="warn" small className="warn" />
          <span className="grow"><b className="w55">{changed.length === 1 ? "1 tool has changed, and is off." : `${changed.length} tools have changed, and are off.`}</b> What the server says of {changed.length === 1 ? "it" : "them"} is no longer what was switched on. Look, and switch on what is still right.</span>
          {which !== "changed" && <Button small onClick={() => setWhich("changed")}>Show only changed</Button>}
        </div>
      )}
      {come.length > 0 && (
        <div className="bar warned">
          <Icon name="plus" small className="warn" />
          <span className="grow"><b className="w55">{come.length === 1 ? "1 new tool, off." : `${come.length} new tools, off.`}</b> No agent sees {come.length === 1 ? "it until you switch it" : "them until you switch them"} on.</span>
          {which !== "new" && <Button small onClick={() => setWhich("new")}>Show only new</Button>}
        </div>
      )}
      {detail.status === "ok" && detail.tools.length > 0 && on.length === 0 && changed.length === 0 && (
        <div className="bar noted"><Icon name="info" small className="live" /><span className="grow"><b className="w55">No tool is on yet.</b> Agents see what you switch on, and nothing else.</span></div>
      )}
      <div className="bar lined">
        {detail.tools.length > 0 ? <Segments label="Tools" tabs={tabs} value={which} onChange={(id) => setWhich(id as Which)} /> : <span className="faint">{detail.status === "ok" ? "It offers no tools." : "Its tools are known once it is connected."}</span>}
        <span className="grow" />
        <UsedBy names={detail.usedBy} />
        <Acts detail={detail} />
      </div>
      <div className="toolgrid">{cut.map((tool) => <ToolTile key={tool.name} server={detail} tool={tool} />)}</div>
      {(shown.length > cut.length || detail.omitted.length > 0 || detail.tools.some((tool) => tool.destructive)) && (
        <div className="bar lined low">
          {shown.length > cut.length && <button type="button" className="link bare" onClick={() => setAll(true)}>{shown.length - cut.length} more tools</button>}
          <span className="grow" />
          {detail.omitted.length > 0 && <Omitted all={detail.omitted} />}
          {detail.tools.some((tool) => tool.destructive) && <span className="faint t12">Destructive is what the server says of its tool</span>}
        </div>
      )}
    </>
  );
}

/** wants is how much a tool wants to be looked at. */
function wants(tool: Tool): number {
  return (tool.changed ? 2 : 0) + (tool.new ? 1 : 0);
}

/** UsedBy are the agents that have the server or one of its tools. */
export function UsedBy({ names }: { names: readonly string[] }): ReactNode {
  const workspace = useWorkspace();
  if (names.length === 0) return <span className="faint t12">Used by no agent</span>;
  const base = baseOf(workspace);
  return (
    <span className="faint t12">
      Used by{" "}
      {names.map((name, i) => (
        <span key={name}>
          {i > 0 && ", "}
          {place.surface === "platform" ? <a className="link" href={`${place.agents}${base}/agents/${name}`}>{name}</a> : <Link className="link" to={`${base}/agents/${name}`}>{name}</Link>}
        </span>
      ))}
    </span>
  );
}

function Omitted({ all }: { all: ServerDetail["omitted"] }): ReactNode {
  return (
    <details className="omitted">
      <summary className="faint t12">{all.length === 1 ? "1 is left out" : `${all.length} are left out`}</summary>
      <ul>{all.map((each, i) => <li key={i}><span className="mono">{each.name}</span> <small>{each.reason}</small></li>)}</ul>
    </details>
  );
}

/** Acts look at the server again, test it, change it, or take it away. */
function Acts({ detail }: { detail: ServerDetail }): ReactNode {
  const [open, setOpen] = useState<"edit" | "delete">();
  const refresh = useAct("post", "/api/workspaces/{username}/{business}/mcps/{mcp}/refresh", { refreshes: ["/api/workspaces/{username}/{business}/tools"] });
  const test = useAct("post", "/api/workspaces/{username}/{business}/mcps/{mcp}/test");
  const { why } = useMay("manage");
  const toast = useToast();
  const look = async (): Promise<void> => {
    const done = await refresh.run({ path: { mcp: detail.id } });
    if (done) toast({ tone: "ok", text: news(detail.tools, done.answer.tools) });
  };
  const check = async (): Promise<void> => {
    const done = await test.run({ path: { mcp: detail.id } });
    if (!done) return;
    const { result, message, latencyMs, toolCount } = done.answer;
    toast(result === "ok" ? { tone: "ok", text: `${detail.name} answers in ${lasting(latencyMs)} with ${toolCount} tools.` } : { tone: "bad", text: message });
  };
  const error = refresh.error ?? test.error;
  const connected = detail.status === "ok" || detail.status === "down";
  return (
    <>
      {error && <small className="bad" role="alert">{sentenceOf(error)}</small>}
      {connected ? <Button look="ghost" small icon="redo" busy={refresh.busy} why={why} onClick={() => void look()}>Refresh</Button> : <Connect server={detail} look="plain" />}
      <Button look="ghost" small busy={test.busy} why={why} onClick={() => void check()}>Test</Button>
      <Menu
        bare
        label={`More of ${detail.name}`}
        className="btn ghost sm icon"
        title="More"
        button={<Icon name="more" />}
        groups={[{ items: [{ label: "Edit server", icon: "edit", why, onSelect: () => setOpen("edit") }] }, { items: [{ label: "Delete", icon: "trash", danger: true, why, onSelect: () => setOpen("delete") }] }]}
      />
      {open === "edit" && (detail.transport === "stdio" ? <EditProgram server={detail} onClose={() => setOpen(undefined)} /> : <EditServer server={detail} onClose={() => setOpen(undefined)} />)}
      {open === "delete" && <DeleteServer server={detail} onClose={() => setOpen(undefined)} />}
    </>
  );
}

/** news says what a look at the server has brought. */
export function news(before: readonly Tool[], after: readonly Tool[]): string {
  const had = new Set(before.map((tool) => tool.name));
  const come = after.filter((tool) => !had.has(tool.name)).length;
  const gone = before.filter((tool) => !after.some((each) => each.name === tool.name)).length;
  const changed = after.filter((tool) => tool.changed && !before.find((each) => each.name === tool.name)?.changed).length;
  const told = [come > 0 && `${come} new, off`, changed > 0 && `${changed} changed, switched off`, gone > 0 && `${gone} gone`].filter(Boolean);
  return told.length > 0 ? `Read again: ${told.join("; ")}.` : "Read again: nothing has changed.";
}
