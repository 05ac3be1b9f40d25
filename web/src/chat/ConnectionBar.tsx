import type { ReactNode } from "react";
import type { Agent } from "@svc/react";
import { SvcError, type Phase } from "@svc/sdk";
import { Button } from "../kit/Button";
import { Icon } from "../kit/Icon";
import { useOnline } from "../kit/online";
import { sentenceOf } from "../kit/Refusal";
import { useLasting } from "./ticking";

/** How long a stream may be lost before it is said, in milliseconds: after a silence one has waited already. */
const patience = 2_000;
const afterSilence = 300;
/** How long a conversation may take to come before that is said, in milliseconds. */
const long = 8_000;

/** ConnectionBar says that news do not come, above where one writes: reading and typing go on. */
export function ConnectionBar({ agent: { phase, error, refresh } }: { agent: Pick<Agent, "phase" | "error" | "refresh"> }): ReactNode {
  const online = useOnline();
  const lost = useLasting(phase === "connecting" && (error !== undefined || !online), error instanceof SvcError && error.type === "stalled" ? afterSilence : patience);
  const unread = useLasting(phase === "loading" && (error !== undefined || !online), patience);
  const slow = useLasting(phase === "loading", long);
  // What is not allowed, or not there, is said where one would write.
  if (phase === "error" && error instanceof SvcError && (error.status === 403 || error.status === 404)) return null;
  if (phase === "error" || unread || slow) {
    return (
      <Bar tone="bad" act={<Button small onClick={refresh}>Try again</Button>}>
        {whyUnread(phase, error, online)}
      </Bar>
    );
  }
  if (!lost) return null;
  if (!online) return <Bar tone="warn">You are offline. The reply goes on without you, and is here when you are back.</Bar>;
  if (error instanceof SvcError && error.status === 503) return <Bar tone="warn">The server is restarting. Your prompt is kept.</Bar>;
  return <Bar tone="warn">Reconnecting. The work goes on; nothing is lost.</Bar>;
}

/** whyUnread says why a conversation is not there to be read. */
export function whyUnread(phase: Phase, error: unknown, online: boolean): string {
  if (error instanceof SvcError) return sentenceOf(error);
  if (phase === "error") return "This conversation cannot be read.";
  return online ? "The server has not answered yet. It is asked again." : "You are offline. This is read when you are back.";
}

function Bar({ tone, act, children }: { tone: "warn" | "bad"; act?: ReactNode; children: ReactNode }): ReactNode {
  return (
    <div className={`connection ${tone}`} role="status">
      {tone === "warn" ? <span className="spin" /> : <Icon name="warn" />}
      <p className="grow">{children}</p>
      {act}
    </div>
  );
}
