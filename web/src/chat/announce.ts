import { useEffect, useRef } from "react";
import { say } from "../kit/say";
import { toolName } from "./tool";
import type { Turn } from "./turns";

/** useAnnounced speaks what happens in a conversation as facts, never its words. What was there before is not news. */
export function useAnnounced(last: Turn | undefined, running: boolean): void {
  const was = useRef<{ key: string | undefined; running: boolean; used: number }>(undefined);
  const used = last ? doneIn(last) : [];
  useEffect(() => {
    const before = was.current;
    was.current = { key: last?.key, running, used: used.length };
    if (!before) return;
    if (running && (!before.running || before.key !== last?.key)) return say("Replying");
    // A failure speaks for itself, at once.
    if (!running && before.running) return last?.settlement?.outcome === "failed" ? undefined : say(last?.settlement?.outcome === "aborted" ? "Stopped" : "Reply complete");
    if (running && before.key === last?.key && used.length > before.used) say(`Used ${toolName(used.at(-1) ?? "")}`);
  }, [last?.key, running, used.length]);
}

function doneIn({ replies }: Turn): string[] {
  return replies.flatMap(({ parts }) => parts.flatMap((part) => (part.type === "dynamic-tool" && part.state !== "input-available" ? [part.toolName] : [])));
}
