import { useEffect, useMemo, useRef, useState, type ReactNode } from "react";
import { Button } from "../kit/Button";
import { Icon } from "../kit/Icon";
import { isComposing } from "./composing";
import type { TranscriptHandle } from "./Transcript";
import { askedOf, proseOf, type Turn } from "./turns";

/** Find looks through the whole conversation: the browser's own find sees only what is drawn. */
export function Find({ turns, transcript, onClose }: { turns: readonly Turn[]; transcript: TranscriptHandle; onClose: () => void }): ReactNode {
  const field = useRef<HTMLInputElement>(null);
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const found = useMemo(() => matchesIn(turns, text), [turns, text]);
  const key = found[Math.min(at, found.length - 1)];
  useEffect(() => field.current?.focus(), []);
  useEffect(() => {
    if (key !== undefined) transcript.show(key);
    // Rows that come into view are drawn first.
    const timer = setTimeout(() => paint(transcript.view(), text), 80);
    return () => clearTimeout(timer);
  }, [key, text, transcript]);
  useEffect(() => () => void paint(null, ""), []);
  const step = (by: number): void => setAt(found.length === 0 ? 0 : (at + by + found.length) % found.length);
  return (
    <div className="finder" role="search" aria-label="Find in this conversation">
      <Icon name="search" small />
      <input
        ref={field}
        aria-label="Find in this conversation"
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setAt(0);
        }}
        onKeyDown={(event) => {
          if (isComposing(event.nativeEvent)) return;
          if (event.key === "Enter") step(event.shiftKey ? -1 : 1);
          if (event.key !== "Escape") return;
          event.preventDefault();
          event.stopPropagation();
          onClose();
        }}
      />
      <span className="faint num t12" role="status">{text === "" ? "" : found.length === 0 ? "Nothing" : `${Math.min(at, found.length - 1) + 1} of ${found.length}`}</span>
      <Button small look="ghost" icon="up" label="Previous" onClick={() => step(-1)} />
      <Button small look="ghost" icon="down" label="Next" onClick={() => step(1)} />
      <Button small look="ghost" icon="x" label="Close" onClick={onClose} />
    </div>
  );
}

/** matchesIn are the turns that have a text in them. */
export function matchesIn(turns: readonly Turn[], text: string): readonly string[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return [];
  return turns.filter((turn) => `${askedOf(turn)}\n${proseOf(turn)}`.toLowerCase().includes(wanted)).map((turn) => turn.key);
}

/** paint marks what was found in what is drawn, without changing it. */
function paint(view: HTMLElement | null, text: string): void {
  if (!("highlights" in CSS)) return;
  CSS.highlights.delete("found");
  const wanted = text.trim().toLowerCase();
  if (!view || wanted === "") return;
  const ranges: Range[] = [];
  const walker = document.createTreeWalker(view, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const words = (node.nodeValue ?? "").toLowerCase();
    for (let i = words.indexOf(wanted); i >= 0; i = words.indexOf(wanted, i + wanted.length)) {
      const range = new Range();
      range.setStart(node, i);
      range.setEnd(node, i + wanted.length);
      ranges.push(range);
    }
  }
  CSS.highlights.set("found", new Highlight(...ranges));
}
