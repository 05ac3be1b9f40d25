import { useDeferredValue, useId, useMemo, type ReactNode } from "react";
import { wordCount } from "./agent";
import { changedLines } from "./lines";

export interface InstructionsProps {
  value: string;
  /** What is saved: lines that differ from it have an ink gutter. */
  saved: string;
  onChange: (value: string) => void;
  readOnly?: boolean;
  error?: string | undefined;
}

/** Beyond so many characters the text is shown without marks: typing must not wait for them. */
const mostMarked = 60_000;

/** Instructions is the text of an agent with its lines numbered. The field lies over the marked text, and both break alike. */
export function Instructions({ value, saved, onChange, readOnly = false, error }: InstructionsProps): ReactNode {
  const id = useId();
  const marked = value.length <= mostMarked;
  const lines = value.split("\n");
  const before = useDeferredValue(value);
  const changed = useMemo(() => (before.length <= mostMarked ? changedLines(saved.trim(), before.trimEnd()) : new Set<number>()), [saved, before]);
  return (
    <div className="field">
      <label htmlFor={id}>
        Instructions <span className="grow" />
        <span className="faint w4 t12">Markdown · {wordCount(value)} {wordCount(value) === 1 ? "word" : "words"}</span>
      </label>
      <div className={`edit script ${error ? "invalid" : ""} ${marked ? "" : "bare"}`}>
        {marked && (
          <div className="lines" aria-hidden="true">
            {lines.map((line, i) => (
              <div key={i} className={changed.has(i) ? "chg" : ""}>
                <span><Marked line={line} /></span>
              </div>
            ))}
          </div>
        )}
        <textarea id={id} value={value} readOnly={readOnly} spellCheck={false} aria-invalid={error ? true : undefined} placeholder={readOnly ? undefined : "What it does, in which order, and what it never does."} onChange={(event) => onChange(event.target.value)} />
      </div>
      {error && <p className="help bad">{error}</p>}
    </div>
  );
}

/** Marked is a line with its heading, its list sign and its code told apart. It has every character of the line and no other. */
function Marked({ line }: { line: string }): ReactNode {
  if (/^#{1,6}\s/.test(line)) return <span className="h">{line}</span>;
  const sign = /^\s*(?:[-*+]|\d+[.)])\s/.exec(line)?.[0] ?? "";
  const rest = line.slice(sign.length).split(/(`[^`]+`)/);
  return (
    <>
      {sign && <span className="m">{sign}</span>}
      {rest.map((piece, i) => (i % 2 === 1 ? <span key={i} className="s">{piece}</span> : piece))}
      {line === "" && "\u200b"}
    </>
  );
}
