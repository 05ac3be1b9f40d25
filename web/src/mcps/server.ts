import type { AnswerOf } from "@svc/sdk";
import type { Tone } from "../kit/StatusTag";
import type { ItemOf } from "../server/path";

/** Server is an MCP server of a workspace, without its tools. */
export type Server = ItemOf<"/api/workspaces/{username}/{business}/mcps">;

/** ServerDetail is one with its tools. */
export type ServerDetail = AnswerOf<"/api/workspaces/{username}/{business}/mcps/{mcp}", "get">;

export type Tool = ServerDetail["tools"][number];

export type Auth = Server["auth"];

/** stateOf is how a server does, in a word. */
export function stateOf(status: Server["status"]): { tone: Tone; word: string } {
  switch (status) {
    case "ok": return { tone: "ok", word: "Connected" };
    case "needs_sign_in": return { tone: "warn", word: "Needs sign-in" };
    case "down": return { tone: "bad", word: "Down" };
  }
  return { tone: "live", word: "Not connected" };
}

/** What a credential is called. */
export const authNames: Record<Auth, string> = { none: "No sign-in", bearer: "Bearer", oauth: "OAuth" };

/** Groups of the list, in the order in which they want a person. */
export const groups: readonly { readonly name: string; readonly has: readonly Server["status"][] }[] = [
  { name: "Needs you", has: ["needs_sign_in", "down"] },
  { name: "Not connected", has: ["connecting"] },
  { name: "Connected", has: ["ok"] },
];

/** whereOf is where a server is: its address, or how its program is started. */
export function whereOf(server: Pick<Server, "url" | "command" | "args">): string {
  return server.url || [server.command, ...(server.args ?? [])].join(" ");
}

/** found are the servers whose name, address or command has every typed word. */
export function found(servers: readonly Server[], typed: string): Server[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  return servers.filter((server) => words.every((word) => `${server.name} ${whereOf(server)}`.toLowerCase().includes(word)));
}

/** nameFor proposes a name for an address, the word of its host that says most; or for a program, that of its file. */
export function nameFor(where: string, taken: readonly string[]): string {
  const host = hostOf(where);
  const words = host === "" ? fileWords(where) : hostWords(host);
  const base = (words[0] ?? "server").replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 28) || "server";
  for (let n = 1; ; n++) {
    const name = n === 1 ? base : `${base}-${n}`;
    if (!taken.includes(name)) return name;
  }
}

function hostWords(host: string): string[] {
  return host.toLowerCase().replace(/:\d+$/, "").split(".").filter((word) => /[a-z]/.test(word) && !["mcp", "www", "api", "com", "org", "net", "dev", "io", "app", "ai", "localhost"].includes(word));
}

function fileWords(command: string): string[] {
  const file = command.trim().split("/").at(-1) ?? "";
  return [file.toLowerCase().replace(/\.\w+$/, "").replace(/^mcp-(server-)?/, "")].filter((word) => /[a-z]/.test(word));
}

export function hostOf(address: string): string {
  try {
    return new URL(address).host;
  } catch {
    return "";
  }
}

/** toolsOn says how many tools of a server agents may use. */
export function toolsOn(server: Pick<Server, "toolCount" | "enabledCount" | "status">): string {
  if (server.toolCount === 0) return server.status === "connecting" ? "tools unknown" : "no tools";
  return `${server.enabledCount} of ${server.toolCount} tools on`;
}
