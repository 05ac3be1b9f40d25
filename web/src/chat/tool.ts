import type { ToolPart } from "@svc/sdk";

/** ToolState is how a call stands, as far as the conversation says. */
export type ToolState = "running" | "done" | "failed" | "interrupted" | "lost";

/** toolState: a call without a result runs as long as its turn does. */
export function toolState(call: ToolPart, running: boolean): ToolState {
  if (call.state === "output-available") return "done";
  if (call.state === "input-available") return running ? "running" : "lost";
  return isInterrupted(call.errorText) ? "interrupted" : "failed";
}

/** isInterrupted reports whether a call was cut off by a restart: it may have had its effect, and is not repeated. */
function isInterrupted(text: string | undefined): boolean {
  try {
    return (JSON.parse(text ?? "") as { type?: unknown }).type === "interrupted";
  } catch {
    return false;
  }
}

/** toolName is the name of a tool as people say it: `list_files` is "List files", `linear__search` is "linear: search". */
export function toolName(name: string): string {
  const [server, tool] = name.includes("__") ? name.split("__", 2) : [undefined, name];
  const words = (tool ?? name).replaceAll(/[_-]+/g, " ").trim();
  return server ? `${server}: ${words}` : words.charAt(0).toUpperCase() + words.slice(1);
}

/** argumentOf is what tells one call of a tool from another, in a line. */
export function argumentOf(input: unknown): string {
  if (typeof input !== "object" || input === null) return input === undefined ? "" : String(input);
  const values = Object.values(input).flatMap((value) => (typeof value === "string" || typeof value === "number" ? [String(value)] : []));
  return values.slice(0, 2).join(" · ").replaceAll(/\s+/g, " ").slice(0, 200);
}

/** linkOf is where a call has led: a run that it started, an agent that it asked. */
export function linkOf(call: ToolPart): { page: string; label: string } | undefined {
  const input = call.input as Record<string, unknown> | null;
  const output = (call.output ?? {}) as Record<string, unknown>;
  const run = typeof call.output === "object" && call.output !== null ? output["runId"] : undefined;
  if (call.toolName === "run_workflow" && typeof run === "string") return { page: `runs/${run}`, label: "Open the run" };
  if (call.toolName !== "ask_agent" || typeof input?.["agent"] !== "string") return undefined;
  const instance = typeof call.output === "object" && call.output !== null ? output["instance"] : undefined;
  return typeof instance === "string" ? { page: `agents/${input["agent"]}/conversations/${encodeURIComponent(instance)}`, label: "Open the conversation" } : undefined;
}

/** summaryOf is a group of calls in a line. */
export function summaryOf(calls: readonly ToolPart[], running: boolean): { count: number; ms: number; failed: number; running: number } {
  const states = calls.map((call) => toolState(call, running));
  return {
    count: calls.length,
    ms: calls.reduce((sum, call) => sum + (call.durationMs ?? 0), 0),
    failed: states.filter((state) => state === "failed" || state === "interrupted").length,
    running: states.filter((state) => state === "running").length,
  };
}
