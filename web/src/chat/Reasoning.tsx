import { memo, useEffect, useState, type ReactNode } from "react";
import type { TextPart } from "@svc/sdk";
import { Icon } from "../kit/Icon";
import { Markdown } from "../markdown/Markdown";
import { begunAt, sawBegin, sawEnd, seenFor } from "./measured";
import { useTicking } from "./ticking";

/** Reasoning is what a model thought, folded. It is no part of the reply, and not copied with it. */
export const Reasoning = memo(function Reasoning({ id, part, since }: { id: string; part: TextPart; since: string | undefined }): ReactNode {
  const [open, setOpen] = useState(false);
  const thinking = part.state === "streaming";
  if (thinking) sawBegin(id, since);
  useEffect(() => {
    if (!thinking) sawEnd(id);
  }, [thinking, id]);
  const now = useTicking(thinking);
  const took = thinking ? now - (begunAt(id) ?? now) : seenFor(id);
  return (
    <>
      <button type="button" className="fold" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name="think" small />
        {thinking ? "Thinking…" : took === undefined ? "Thought" : "Thought for"} {took !== undefined && <span className="num">{Math.max(0, Math.round(took / 1_000)) || "<1"} s</span>}
        <Icon name={open ? "down" : "rightc"} small />
      </button>
      {open && (
        <div className="thought">
          <Markdown text={part.text} writing={thinking} />
        </div>
      )}
    </>
  );
});
