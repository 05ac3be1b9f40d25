import type { RunEvent } from "@svc/sdk";
import { isObject, resultText, saidOf, type Said } from "./message";

/** Line is a message of a conversation within a run, with the results of the tools that it asked for. */
export interface Line {
  readonly key: string;
  readonly at: string;
  readonly said: Said;
  readonly results: ReadonlyMap<string, { readonly text: string; readonly isError: boolean }>;
  /** Still being written. */
  readonly streaming: boolean;
  /** A restart cut it, and it is written again below. */
  readonly cut: boolean;
}

type Open = { -readonly [Key in keyof Line]: Line[Key] } & { results: Map<string, { text: string; isError: boolean }> };

/** linesOf are the messages of a run, in order. A message is whole when it has ended; until then it is what has streamed. */
export function linesOf(events: readonly RunEvent[]): Line[] {
  const lines: Open[] = [];
  const open = new Map<string, Open>();
  for (const event of events) {
    if (event.type === "run_resume" || event.type === "run_end") {
      for (const line of open.values()) Object.assign(line, { streaming: false, cut: true });
      open.clear();
    } else if (event.type === "message_start") {
      const said = saidOf(event.message);
      if (!said || said.role === "toolResult") continue;
      const line: Open = { key: `${event.eventIndex}`, at: event.timestamp, said, results: new Map(), streaming: said.role === "assistant", cut: false };
      lines.push(line);
      if (said.role === "assistant") open.set(event.turnId ?? "", line);
    } else if (event.type === "text_delta" || event.type === "thinking_delta") {
      const line = open.get(event.turnId ?? "");
      if (line) line.said = event.type === "text_delta" ? { ...line.said, text: line.said.text + event.text } : { ...line.said, thought: line.said.thought + event.delta };
    } else if (event.type === "message_end") {
      end(event, lines, open);
    } else if (event.type === "tool") {
      resultOf(lines, event.toolCallId)?.set(event.toolCallId, { text: resultText(event.result), isError: event.isError });
    }
  }
  return lines;
}

function end(event: Extract<RunEvent, { type: "message_end" }>, lines: Open[], open: Map<string, Open>): void {
  const said = saidOf(event.message);
  if (!said) return;
  if (said.role === "toolResult" && said.toolCallId) {
    const content = isObject(event.message) ? event.message["content"] : undefined;
    resultOf(lines, said.toolCallId)?.set(said.toolCallId, { text: resultText({ content }) || said.text, isError: said.isError });
    return;
  }
  const line = said.role === "assistant" ? open.get(event.turnId ?? "") : undefined;
  if (!line) return;
  Object.assign(line, { said, streaming: false });
  open.delete(event.turnId ?? "");
}

function resultOf(lines: readonly Open[], toolCallId: string): Map<string, { text: string; isError: boolean }> | undefined {
  return lines.findLast((line) => line.said.calls.some((call) => call.id === toolCallId))?.results;
}
