import type { AnswerOf, CallOptions } from "@svc/sdk";
import type { ItemOf } from "../server/path";

/** AgentFacts is an agent as it is now. */
export type AgentFacts = AnswerOf<"/api/workspaces/{username}/{business}/agents/{name}", "get">;

/** AgentItem is an agent in a list, without its texts. */
export type AgentItem = ItemOf<"/api/workspaces/{username}/{business}/agents">;

export type AgentEdit = CallOptions<"/api/workspaces/{username}/{business}/agents/{name}", "patch">["body"];

/** Definition is what a person writes of an agent. */
export interface Definition {
  readonly description: string;
  readonly instructions: string;
  readonly model: string;
  readonly reasoning: "low" | "medium" | "high" | null;
  readonly tools: readonly string[];
  readonly hosts: readonly string[];
  readonly connectors: readonly string[];
  readonly mcps: readonly string[];
  readonly projects: readonly string[];
  readonly outputSchema: unknown;
  readonly exposed: boolean;
}

export type FieldName = keyof Definition;

/** What the fields are called, in the order in which a difference is told. */
export const fieldNames: Record<FieldName, string> = {
  description: "Description",
  instructions: "Instructions",
  model: "Model",
  reasoning: "Reasoning",
  tools: "Tools",
  hosts: "Hosts",
  connectors: "Connectors",
  mcps: "MCP servers",
  projects: "Projects",
  outputSchema: "Output schema",
  exposed: "Exposed",
};

export const allFields = Object.keys(fieldNames) as FieldName[];

export const blank: Definition = {
  description: "", instructions: "", model: "", reasoning: null, tools: [], hosts: [], connectors: [], mcps: [], projects: [], outputSchema: null, exposed: false,
};

/** definitionOf is what was written of an agent, without what the service knows of it. */
export function definitionOf(agent: Definition): Definition {
  const { description, instructions, model, reasoning, tools, hosts, connectors, mcps, projects, outputSchema, exposed } = agent;
  return { description, instructions, model, reasoning, tools, hosts, connectors, mcps, projects, outputSchema: outputSchema ?? null, exposed };
}

/** sameValue compares as the service does: space around a text says nothing, the order of a list does. */
export function sameValue(field: FieldName, a: Definition, b: Definition): boolean {
  const plain = (value: unknown): string => (typeof value === "string" ? value.replace(/\r\n?/g, "\n").trim() : (JSON.stringify(value) ?? ""));
  return plain(a[field]) === plain(b[field]);
}

/** changesOf are the fields in which two definitions differ. */
export function changesOf(before: Definition, after: Definition): FieldName[] {
  return allFields.filter((field) => !sameValue(field, before, after));
}

/** editOf is what is sent to make one definition of another: only what differs, so that nothing else is overwritten. */
export function editOf(before: Definition, after: Definition): AgentEdit {
  return Object.fromEntries(changesOf(before, after).map((field) => [field, after[field]])) as AgentEdit;
}

/** Where an agent comes from, as its group in the list is called, in the order of the groups. */
export const sources: readonly { readonly source: AgentItem["source"]; readonly name: string; /** Why it cannot be changed here. */ readonly fixed?: string }[] = [
  { source: "database", name: "Yours" },
  { source: "built-in", name: "Built in" },
  { source: "code", name: "From code, read only", fixed: "It is declared in code. Change the program that declares it." },
  { source: "project", name: "From the project, read only", fixed: "It comes with the project. Change the project that declares it." },
  { source: "file", name: "From files, read only", fixed: "It is read from a file. Change the file, and it is here at once." },
];

/** fixedBy is why an agent cannot be changed here; undefined: it can, or a part of it. */
export function fixedBy(source: AgentItem["source"]): string | undefined {
  return sources.find((each) => each.source === source)?.fixed;
}

/** The workspace says how one that is built in speaks and by which model; the rest is the service's own. */
export const builtInReason = "This agent comes with the service: its instructions and its model are yours to change.";

/** isName holds a name to the service's own grammar, so that a person learns of it while typing. */
export function isName(name: string): boolean {
  return name.length <= 64 && /^[a-z0-9]+(-[a-z0-9]+)*$/.test(name);
}

/** toolCount is how many tools a list of names gives, in words. MCP servers that are given whole are named apart. */
export function toolCount(agent: Pick<AgentItem, "tools" | "mcps">): string {
  const tools = new Set(agent.tools.map((entry) => entry.split(":")[0])).size;
  const own = tools === 0 ? "no tools" : tools === 1 ? "1 tool" : `${tools} tools`;
  if (agent.mcps.length === 0) return own;
  const servers = agent.mcps.length === 1 ? "1 MCP" : `${agent.mcps.length} MCPs`;
  return tools === 0 ? servers : `${own}, ${servers}`;
}

export function wordCount(text: string): number {
  return text.split(/\s+/).filter(Boolean).length;
}
