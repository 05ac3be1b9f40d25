import { useState, type ReactNode } from "react";
import { Link } from "@tanstack/react-router";
import { Icon } from "../kit/Icon";
import { Trouble } from "../kit/Refusal";
import { useList } from "../server/read";
import { usePath } from "../shell/where";
import type { Definition } from "./agent";
import { HostsField } from "./HostsField";
import { askedIn, groupsOf, nameOf, withAsked, withTool, type ToolGroup } from "./tools";

export interface ToolChecklistProps {
  /** The agent itself, which does not ask itself. */
  name: string;
  shown: Definition;
  onChange: (change: Partial<Definition>) => void;
  /** Why nothing can be changed. */
  why?: string | undefined;
}

/** So many tools of a source are shown until more are asked for. */
const first = 9;

/** ToolChecklist is what an agent may use, by where it comes from. */
export function ToolChecklist({ name, shown, onChange, why }: ToolChecklistProps): ReactNode {
  const tools = useList("/api/workspaces/{username}/{business}/tools", { query: { limit: 200 } });
  const path = usePath();
  const groups = groupsOf(tools.items ?? [], tools.items ? shown.tools : [], shown.mcps);
  const all = groups.flatMap((group) => group.entries);
  const on = groups.reduce((sum, group) => sum + group.entries.filter((entry) => isOn(shown, group, entry.name)).length, 0);
  return (
    <div className="field" role="group" aria-label="Tools">
      <div className="label">
        Tools {tools.items && <span className="faint w4 t12 num">{on} of {all.length} on</span>}
        <span className="grow" />
        <Link className="btn ghost sm flush" to={path("mcps")}>
          <Icon name="plus" small /> Add a source
        </Link>
      </div>
      {tools.error && <Trouble error={tools.error} stale={tools.items !== undefined} onRetry={tools.retry} />}
      <div className="kit">
        {!tools.items && !tools.error && <div className="wait" role="status" aria-label="Loading tools"><span className="skeleton" /><span className="skeleton" /><span className="skeleton" /></div>}
        {groups.map((group) => (
          <Group key={group.id} group={group} name={name} shown={shown} onChange={onChange} why={why} />
        ))}
      </div>
    </div>
  );
}

function isOn(shown: Definition, group: ToolGroup, name: string): boolean {
  return (group.server !== undefined && shown.mcps.includes(group.server)) || shown.tools.some((entry) => nameOf(entry) === name);
}

function Group({ group, name, shown, onChange, why }: ToolChecklistProps & { group: ToolGroup }): ReactNode {
  const [open, setOpen] = useState(false);
  const whole = group.server !== undefined && shown.mcps.includes(group.server);
  const on = group.entries.filter((entry) => isOn(shown, group, entry.name));
  const entries = open || group.entries.length <= first + 1 ? group.entries : group.entries.filter((entry, i) => i < first || on.includes(entry));
  const left = group.entries.length - entries.length;
  const tick = (tool: string, checked: boolean): void => onChange({ tools: withTool(shown.tools, tool, checked) });
  const takeWhole = (checked: boolean): void => {
    const server = group.server ?? "";
    // What is given whole need not be named tool by tool.
    const others = shown.tools.filter((entry) => !entry.startsWith(`${server}__`));
    onChange(checked ? { mcps: [...shown.mcps, server], tools: others } : { mcps: shown.mcps.filter((each) => each !== server) });
  };
  return (
    <>
      <h3 className={group.kind === "gone" ? "warn" : ""}>
        <Icon name={group.icon} small /> {group.name} <Beside group={group} shown={shown} />
        <span className="faint w4 num">{on.length} of {group.entries.length}</span>
      </h3>
      <div>
        {group.kind === "mcp" && (
          <label className="two-col" title={why}>
            <input type="checkbox" className="tick" checked={whole} disabled={why !== undefined} onChange={(event) => takeWhole(event.target.checked)} />
            <span className="trunc">All that are on, later ones too</span>
          </label>
        )}
        {entries.map((entry) => (
          <label key={entry.name} title={why ?? (whole ? "All tools of this server are given" : entry.description)}>
            <input type="checkbox" className="tick" checked={isOn(shown, group, entry.name)} disabled={why !== undefined || whole} onChange={(event) => tick(entry.name, event.target.checked)} />
            <span className="mono trunc">{entry.short}</span>
          </label>
        ))}
        {left > 0 && <button type="button" className="link bare t12 two-col" onClick={() => setOpen(true)}>{left} more</button>}
        {group.kind === "mcp" && group.entries.length === 0 && <p className="help two-col">No tool of this server is on.</p>}
      </div>
      {group.kind === "files" && on.length > 0 && <Projects shown={shown} onChange={onChange} why={why} />}
      {group.kind === "built-in" && shown.tools.includes("http_fetch") && <HostsField hosts={shown.hosts} onChange={(hosts) => onChange({ hosts })} why={why} />}
      {group.kind === "built-in" && on.some((entry) => entry.name === "ask_agent") && <Asks name={name} shown={shown} onChange={onChange} why={why} />}
    </>
  );
}

/** Beside says in a word what a source is limited to. */
function Beside({ group, shown }: { group: ToolGroup; shown: Definition }): ReactNode {
  const text = (): string => {
    if (group.kind === "files") return shown.projects.includes("*") ? "all projects" : shown.projects.join(", ");
    if (group.kind === "mcp") return "MCP";
    if (group.kind === "gone") return "take them away to save";
    const asked = askedIn(shown.tools);
    const fetches = shown.tools.includes("http_fetch") && shown.hosts.length > 0 ? `fetches from ${shown.hosts.length === 1 ? "1 host" : `${shown.hosts.length} hosts`}` : "";
    return [fetches, asked.length > 0 ? `asks ${asked.join(", ")}` : ""].filter(Boolean).join(", ");
  };
  return <span className="faint w4 trunc">{text()}</span>;
}

/** Projects are those whose files may be used. */
function Projects({ shown, onChange, why }: Omit<ToolChecklistProps, "name">): ReactNode {
  const projects = useList("/api/workspaces/{username}/{business}/projects", { query: { limit: 200 } });
  const path = usePath();
  if (shown.projects.includes("*")) return null;
  const known = projects.items ?? [];
  const gone = projects.items ? shown.projects.filter((slug) => !known.some((each) => each.slug === slug)) : [];
  const all = [...known.map((each) => ({ slug: each.slug, name: each.name })), ...gone.map((slug) => ({ slug, name: `${slug}, gone` }))];
  const tick = (slug: string, on: boolean): void => onChange({ projects: on ? [...shown.projects, slug] : shown.projects.filter((each) => each !== slug) });
  return (
    <div role="group" aria-label="Projects" className="sub">
      <p className={shown.projects.length === 0 ? "help warn two-col" : "help two-col"}>
        {projects.items && all.length === 0 ? <>There is no project yet. <Link className="link" to={path("projects")}>Make one</Link></> : shown.projects.length === 0 ? "Of no project yet. Choose whose files it may use:" : "Files of"}
      </p>
      {all.map((each) => (
        <label key={each.slug} title={why}>
          <input type="checkbox" className="tick" checked={shown.projects.includes(each.slug)} disabled={why !== undefined} onChange={(event) => tick(each.slug, event.target.checked)} />
          <span className="trunc">{each.name}</span>
        </label>
      ))}
    </div>
  );
}

/** Asks are the agents that may be asked; none chosen: any. */
function Asks({ name, shown, onChange, why }: ToolChecklistProps): ReactNode {
  const agents = useList("/api/workspaces/{username}/{business}/agents", { query: { limit: 200 } });
  const asked = askedIn(shown.tools);
  const others = [...new Set([...(agents.items ?? []).map((each) => each.name), ...asked])].filter((each) => each !== name);
  if (others.length === 0) return null;
  const tick = (other: string, on: boolean): void => onChange({ tools: withAsked(shown.tools, on ? [...asked, other] : asked.filter((each) => each !== other)) });
  return (
    <div role="group" aria-label="Agents that may be asked" className="sub">
      <p className="help two-col">{asked.length === 0 ? "ask_agent asks any agent. To name them:" : "ask_agent asks only"}</p>
      {others.map((other) => (
        <label key={other} title={why}>
          <input type="checkbox" className="tick" checked={asked.includes(other)} disabled={why !== undefined} onChange={(event) => tick(other, event.target.checked)} />
          <span className="mono trunc">{other}</span>
        </label>
      ))}
    </div>
  );
}
