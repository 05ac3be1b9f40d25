import type { ReactNode } from "react";
import { Tag } from "./StatusTag";
import { useOnline } from "./online";

/** Phases of a stream, as the hooks of @svc/react name them. */
export type StreamPhase = "loading" | "connecting" | "live" | "absent" | "error" | "closed";

/** LiveState says how the stream behind a page does. A stream that has ended says nothing. */
export function LiveState({ phase }: { phase: StreamPhase }): ReactNode {
  const online = useOnline();
  if (phase === "closed" || phase === "absent") return null;
  if (!online) return <Tag tone="warn">Offline</Tag>;
  if (phase === "live") return <Tag tone="live">Live</Tag>;
  if (phase === "loading") return <Tag>Catching up</Tag>;
  if (phase === "connecting") return <Tag tone="warn">Reconnecting</Tag>;
  return <Tag tone="bad">Not connected</Tag>;
}
