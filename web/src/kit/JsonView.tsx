import { useState, type ReactNode } from "react";
import { plain } from "../markdown/plain";
import { CopyButton } from "./CodeSample";

const foldedLines = 20;
const mostCharacters = 64 * 1024;
const redacted = "[redacted]";

/** JsonView shows any value: folded beyond 20 lines, cut beyond 64 KB, with what was redacted marked. A text is shown as it was written. */
export function JsonView({ value, label = "Value" }: { value: unknown; label?: string }): ReactNode {
  const [open, setOpen] = useState(false);
  const words = typeof value === "string" && value !== redacted;
  const text = words ? value : (JSON.stringify(value, undefined, 2) ?? "undefined");
  const cut = text.length > mostCharacters;
  const lines = text.slice(0, mostCharacters).split("\n");
  const shown = (open ? lines : lines.slice(0, foldedLines)).map(plain);
  return (
    <div className="json code">
      <CopyButton text={text} label={`Copy ${label.toLowerCase()}`} />
      <pre tabIndex={0} aria-label={label}>
        {shown.map((line, i) => (
          words ? `${line}\n` : <Line key={i} text={line} />
        ))}
      </pre>
      {lines.length > foldedLines && (
        <button type="button" className="link bare t12" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? "Fold" : `Show all ${lines.length} lines`}
        </button>
      )}
      {cut && open && <span className="cut">The first 64 KB. Copy has all of it.</span>}
    </div>
  );
}

function Line({ text }: { text: string }): ReactNode {
  const [, indent = "", name = "", rest = ""] = /^(\s*)("(?:[^"\\]|\\.)*": )?(.*)$/.exec(text) ?? [];
  const kind = rest.startsWith('"') ? "s" : /^[-\d]|^(true|false|null)/.test(rest) ? "v" : "";
  const hidden = rest.replace(/,$/, "") === `"${redacted}"`;
  // What does not fit goes on below its own name.
  const hang = `${indent.length + 2}ch`;
  return (
    <span className="hung" style={{ paddingLeft: hang, textIndent: `-${hang}` }}>
      {indent}
      <span className="k">{name}</span>
      <span className={hidden ? "redacted" : kind}>{rest}</span>
    </span>
  );
}
