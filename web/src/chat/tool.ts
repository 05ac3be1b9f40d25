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
  return fieldOf(parsed(text), "type") === "interrupted";
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

/** linkOf is where a call has led: a run that it started, however that ended; an agent that it asked. */
export function linkOf({ toolName, input, output, errorText }: ToolPart): { page: string; label: string } | undefined {
  const run = fieldOf(output, "runId") ?? fieldOf(parsed(errorText), "runId");
  if (toolName === "run_workflow" && run) return { page: `runs/${encodeURIComponent(run)}`, label: "Open the run" };
  const agent = fieldOf(input, "agent");
  return toolName === "ask_agent" && agent ? { page: `agents/${encodeURIComponent(agent)}`, label: "Open the agent" } : undefined;
}

function fieldOf(value: unknown, name: string): string | undefined {
  const field = typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
  return typeof field === "string" && field !== "" ? field : undefined;
}

/** parsed is the value that a text is the JSON of; undefined: it is none. */
function parsed(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? "");
  } catch {
    return undefined;
  }
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
