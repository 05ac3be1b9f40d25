import { useEffect, useRef, type RefObject } from "react";
import { recall } from "../kit/kept";
import { isTyping } from "../shell/KeyMap";
import { isComposing } from "./composing";
import type { TranscriptHandle } from "./Transcript";
import type { Turn } from "./turns";

interface ChatKeys {
  thread: RefObject<HTMLElement | null>;
  /** The keys are heard within the thread alone: there are other things on the page. */
  part: boolean;
  transcript: RefObject<TranscriptHandle | null>;
  rows: readonly Turn[];
  busy: boolean;
  onStop: () => void;
  onFind: () => void;
}

/** useChatKeys are the keys of a conversation: Esc stops, `[` and `]` go from question to question, Alt ↓ to the last message, Ctrl F finds. */
export function useChatKeys(keys: ChatKeys): void {
  const held = useRef(keys);
  held.current = keys;
  useEffect(() => {
    let foundAt = 0;
    const press = (event: KeyboardEvent): void => {
      const { thread, part, transcript, busy, onStop, onFind } = held.current;
      if (event.defaultPrevented || isComposing(event) || !thread.current || document.querySelector("dialog[open]")) return;
      if (part && !(event.target instanceof Node && thread.current.contains(event.target))) return;
      if (event.key === "Escape" && busy && !isOthers(event.target, thread.current)) return onStop();
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "f") {
        // Twice in a second is for the browser's own.
        if (event.timeStamp - foundAt < 1_000) return;
        foundAt = event.timeStamp;
        event.preventDefault();
        return onFind();
      }
      if (event.altKey && event.key === "ArrowDown") {
        event.preventDefault();
        return transcript.current?.toLast();
      }
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || recall("keys") === "off") return;
      if (event.key === "[" || event.key === "]") step(held.current, event.key === "]" ? 1 : -1);
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
}

/** isOthers reports whether Esc is meant for something else on the page: what is open above it, a search, or a field outside of the thread. */
function isOthers(target: EventTarget | null, thread: HTMLElement): boolean {
  if (document.querySelector(":popover-open, .side.open")) return true;
  return target instanceof Element && (target.closest("[popover], [role=search]") !== null || (isTyping(target) && !thread.contains(target)));
}

function step({ transcript, rows }: ChatKeys, by: number): void {
  const top = transcript.current?.top();
  const at = rows.findIndex((turn) => turn.key === top);
  const to = rows[Math.max(0, Math.min(rows.length - 1, at + by))];
  if (to) transcript.current?.show(to.key);
}
