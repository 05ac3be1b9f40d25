import { useState, type ReactNode } from "react";
import type { AgentMessage } from "@svc/react";
import { JsonView } from "../kit/JsonView";
import { Clipped } from "../markdown/Clipped";
import { plain } from "../markdown/plain";
import { textOf } from "./turns";
import { timeOf } from "./TurnView";

/** SignalNote is something that reached the conversation from outside: a line that opens. */
export function SignalNote({ message }: { message: AgentMessage }): ReactNode {
  const [open, setOpen] = useState(false);
  const body = plain(textOf(message));
  const from = plain(message.signal?.tagName ?? message.signal?.attributes?.["source"] ?? "");
  return (
    <>
      <div className="note">
        <button type="button" className="bare trunc" aria-expanded={open} onClick={() => setOpen(!open)}>
          Signal {from && <>from <b>{from}</b></>} · {body.split("\n")[0]?.slice(0, 80) || "without words"} · {timeOf(message.metadata.timestamp)}
        </button>
      </div>
      {open && (
        <div className="signal">
          <pre tabIndex={0} aria-label="What the signal said"><Clipped text={body} /></pre>
          {message.signal?.attributes && <JsonView value={message.signal.attributes} label="Attributes" />}
        </div>
      )}
    </>
  );
}
