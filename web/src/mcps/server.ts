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

/** found are the servers whose name or address has every typed word. */
export function found(servers: readonly Server[], typed: string): Server[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  return servers.filter((server) => words.every((word) => `${server.name} ${server.url}`.toLowerCase().includes(word)));
}

/** nameFor proposes a name for an address: the word of its host that says most. */
export function nameFor(address: string, taken: readonly string[]): string {
  const words = hostOf(address).toLowerCase().replace(/:\d+$/, "").split(".").filter((word) => /[a-z]/.test(word) && !["mcp", "www", "api", "com", "org", "net", "dev", "io", "app", "ai", "localhost"].includes(word));
  const base = (words[0] ?? "server").replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 28) || "server";
  for (let n = 1; ; n++) {
    const name = n === 1 ? base : `${base}-${n}`;
    if (!taken.includes(name)) return name;
  }
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
