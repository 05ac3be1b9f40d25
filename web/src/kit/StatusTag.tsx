import type { ReactNode } from "react";
import { Icon } from "./Icon";

/** Status is how something stands, in the contract's words. */
export type Status = "running" | "completed" | "failed" | "stopped" | "waiting" | "paused" | "unknown";

const looks: Record<Status, { tone: Tone; word: string }> = {
  running: { tone: "live", word: "Running" },
  completed: { tone: "ok", word: "Completed" },
  failed: { tone: "bad", word: "Failed" },
  stopped: { tone: "", word: "Stopped" },
  waiting: { tone: "warn", word: "Waiting" },
  paused: { tone: "warn", word: "Paused" },
  unknown: { tone: "", word: "Unknown" },
};

export type Tone = "" | "live" | "ok" | "warn" | "bad" | "info" | "rust" | "line";

/** StatusTag says a status in a word; its colour says it again. */
export function StatusTag({ status, word }: { status: Status; /** Another word for it here. */ word?: string }): ReactNode {
  const look = looks[status];
  return <Tag tone={look.tone}>{word ?? look.word}</Tag>;
}

/** Tag is a word with a dot, or with a sign where it is bad. */
export function Tag({ tone = "", plain = false, children }: { tone?: Tone; plain?: boolean; children: ReactNode }): ReactNode {
  return (
    <span className={`tag ${tone}`}>
      {!plain && (tone === "bad" ? <Icon name="warn" /> : <span className="dot" />)}
      {children}
    </span>
  );
}
