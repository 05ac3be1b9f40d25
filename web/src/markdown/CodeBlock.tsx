import { memo, type ReactNode } from "react";
import { CopyButton } from "../kit/CodeSample";
import { Clipped } from "./Clipped";
import { useMarks } from "./marker";
import { plain } from "./plain";

/** CodeBlock is a program in a text. It is coloured when its fence is closed: before, every word would change its colours. */
export const CodeBlock = memo(function CodeBlock({ text, language, open }: { text: string; language: string | undefined; open: boolean }): ReactNode {
  const name = language?.split(/\s/)[0] ?? "";
  return (
    <figure className="block">
      <figcaption>
        <span className="grow">{name || "Code"}</span>
        <CopyButton text={text} label="Copy the code" />
      </figcaption>
      <pre tabIndex={0} aria-label={name ? `${name} code` : "Code"}>
        <code><Coloured text={plain(text)} open={open} /></code>
      </pre>
    </figure>
  );
});

function Coloured({ text, open }: { text: string; open: boolean }): ReactNode {
  const marks = useMarks(text, !open);
  if (!marks) return <Clipped text={text} />;
  return marks.map(({ kind, text: words }, i) => (kind ? <span key={i} className={kind}>{words}</span> : words));
}
