import { memo, useRef, type ReactNode } from "react";
import { MarkdownBlock } from "./MarkdownBlock";
import { Blocks } from "./blocks";
import { mend } from "./mend";
import "../look/markdown.css";

/**
 * Markdown shows what a model wrote. It makes elements of what was parsed and never HTML of a text: nothing in it can run, and
 * nothing of it is fetched.
 */
export const Markdown = memo(function Markdown({ text, writing = false }: { text: string; /** More of it comes. */ writing?: boolean }): ReactNode {
  const held = useRef<Blocks>(undefined);
  held.current ??= new Blocks();
  const blocks = held.current.of(writing ? mend(text) : text, !writing);
  return (
    <div className="md">
      {blocks.map((block, i) => (
        <MarkdownBlock key={i} block={block} last={writing && i === blocks.length - 1} />
      ))}
    </div>
  );
});
