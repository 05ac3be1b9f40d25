import type { IconName } from "../kit/Icon";
import type { ItemOf } from "../server/path";

/** Offered is a tool that agents may be given. */
export type Offered = ItemOf<"/api/workspaces/{username}/{business}/tools">;

/** ToolGroup are the tools of one source, as the checklist shows them. */
export interface ToolGroup {
  readonly id: string;
  readonly name: string;
  readonly icon: IconName;
  readonly kind: "files" | "built-in" | "mcp" | "gone";
  /** The MCP server whose tools they are. */
  readonly server?: string;
  readonly entries: readonly { readonly name: string; readonly short: string; readonly description: string }[];
}

const files = new Set(["list_files", "read_file", "write_file", "edit_file", "search_files"]);
const between = "__";

/** nameOf is the tool of an entry: ask_agent may name the agent that it asks. */
export function nameOf(entry: string): string {
  return entry.split(":")[0] ?? entry;
}

/** askedIn are the agents that a list of tools names as those that may be asked; none: any. */
export function askedIn(tools: readonly string[]): string[] {
  return tools.filter((entry) => entry.startsWith("ask_agent:")).map((entry) => entry.slice("ask_agent:".length));
}

/** withTool switches a tool on or off. Off takes every form of it away. */
export function withTool(tools: readonly string[], name: string, on: boolean): string[] {
  if (!on) return tools.filter((entry) => nameOf(entry) !== name);
  return tools.some((entry) => nameOf(entry) === name) ? [...tools] : [...tools, name];
}

/** withAsked names the agents that may be asked; none: any. */
export function withAsked(tools: readonly string[], agents: readonly string[]): string[] {
  const others = tools.filter((entry) => nameOf(entry) !== "ask_agent");
  return [...others, ...(agents.length === 0 ? ["ask_agent"] : agents.map((agent) => `ask_agent:${agent}`))];
}

/** groupsOf are all tools by their source. What an agent has and nobody offers any more stands last, so that it can be taken away. */
export function groupsOf(offered: readonly Offered[], has: readonly string[], servers: readonly string[]): ToolGroup[] {
  const entry = (tool: Offered, cut = 0): ToolGroup["entries"][number] => ({ name: tool.name, short: tool.name.slice(cut), description: tool.description });
  const built = offered.filter((tool) => tool.source !== "mcp");
  const groups: ToolGroup[] = [
    { id: "files", name: "Project files", icon: "folder", kind: "files", entries: built.filter((tool) => files.has(tool.name)).map((tool) => entry(tool)) },
    { id: "built-in", name: "Built in", icon: "agents", kind: "built-in", entries: built.filter((tool) => !files.has(tool.name)).map((tool) => entry(tool)) },
  ];
  const byServer = new Map<string, Offered[]>();
  for (const tool of offered.filter((each) => each.source === "mcp")) {
    const server = tool.name.split(between)[0] ?? "";
    byServer.set(server, [...(byServer.get(server) ?? []), tool]);
  }
  for (const server of new Set([...byServer.keys(), ...servers])) {
    const tools = byServer.get(server) ?? [];
    groups.push({ id: `mcp:${server}`, name: server, icon: "mcp", kind: "mcp", server, entries: tools.map((tool) => entry(tool, server.length + between.length)) });
  }
  const known = new Set(offered.map((tool) => tool.name));
  const gone = [...new Set(has.map(nameOf))].filter((name) => !known.has(name));
  if (gone.length > 0) groups.push({ id: "gone", name: "No longer there", icon: "warn", kind: "gone", entries: gone.map((name) => ({ name, short: name, description: "Nobody offers this tool any more." })) });
  return groups.filter((group) => group.entries.length > 0 || group.kind === "mcp");
}
