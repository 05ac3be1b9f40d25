import { useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { Icon } from "../kit/Icon";

export interface TryComposerProps {
  name: string;
  busy: boolean;
  /** Why nothing can be sent. */
  why: string | undefined;
  onSend: (text: string) => Promise<boolean>;
  onStop: () => void;
}

/** TryComposer takes what is said to the agent. Enter sends, Shift Enter breaks the line, Escape stops. */
export function TryComposer({ name, busy, why, onSend, onStop }: TryComposerProps): ReactNode {
  const [text, setText] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);
  const send = (): void => {
    if (text.trim() === "" || why !== undefined) return;
    void onSend(text);
    setText("");
    field.current?.focus();
  };
  const press = (event: KeyboardEvent): void => {
    if (event.key === "Escape" && busy) return onStop();
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send();
  };
  return (
    <div className="dock">
      <div className="composer">
        <textarea ref={field} rows={1} aria-label={`Ask ${name}`} placeholder={why ?? `Ask ${name}…`} value={text} disabled={why !== undefined} onChange={(event) => setText(event.target.value)} onKeyDown={press} />
        <div className="bar">
          <span className="faint t12 grow">{busy ? "Esc stops it" : "Enter sends"}</span>
          {busy && (
            <button type="button" className={text.trim() === "" ? "send" : "send quiet"} aria-label="Stop" title="Stop" onClick={onStop}>
              <Icon name="stop" small className="solid" />
            </button>
          )}
          {(!busy || text.trim() !== "") && (
            <button type="button" className="send" aria-label="Send" title="Send" disabled={text.trim() === "" || why !== undefined} onClick={send}>
              <Icon name="up" small />
            </button>
          )}
        </div>
      </div>
    </div>
  );
}
