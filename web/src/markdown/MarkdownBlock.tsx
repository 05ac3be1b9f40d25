import { memo, type ReactNode } from "react";
import type { Token, Tokens } from "marked";
import { CodeBlock } from "./CodeBlock";
import type { Block } from "./blocks";
import { Spans } from "./Spans";
import { decoded, plain } from "./plain";

/** MarkdownBlock is drawn once, and again only when its text changes. */
export const MarkdownBlock = memo(function MarkdownBlock({ block, last }: { block: Block; /** Its end is still being written. */ last: boolean }): ReactNode {
  return <Shown token={block.token} last={last} />;
});

function Shown({ token: any, last = false }: { token: Token; last?: boolean }): ReactNode {
  const token = any as Tokens.Generic;
  switch (token.type) {
    case "heading":
      return <Heading token={token as Tokens.Heading} />;
    case "paragraph":
    case "text":
      return <p><Inside token={token} /></p>;
    case "code":
      return <CodeBlock text={(token as Tokens.Code).text} language={(token as Tokens.Code).lang} open={last && !isClosed(token.raw)} />;
    case "blockquote":
      return <blockquote><All tokens={token.tokens} last={last} /></blockquote>;
    case "list":
      return <List token={token as Tokens.List} last={last} />;
    case "table":
      return <Table token={token as Tokens.Table} />;
    case "hr":
      return <hr />;
    case "html":
      return <p className="raw">{plain(token.raw.trim())}</p>;
    case "space":
    case "def":
      return null;
    default:
      return <p>{plain(token.raw)}</p>;
  }
}

function All({ tokens = [], last }: { tokens?: readonly Token[] | undefined; last: boolean }): ReactNode {
  return tokens.map((token, i) => <Shown key={i} token={token} last={last && i === tokens.length - 1} />);
}

function Inside({ token }: { token: Tokens.Generic }): ReactNode {
  return token.tokens ? <Spans tokens={token.tokens} /> : plain(decoded(String(token["text"] ?? token.raw)));
}

/** A heading of a reply stands below those of the page. */
function Heading({ token }: { token: Tokens.Heading }): ReactNode {
  const Level = (["h3", "h4", "h5", "h6"] as const)[Math.min(token.depth, 4) - 1] ?? "h3";
  return <Level><Spans tokens={token.tokens} /></Level>;
}

function List({ token, last }: { token: Tokens.List; last: boolean }): ReactNode {
  const ends = (i: number, j: number, of: readonly Token[]): boolean => last && i === token.items.length - 1 && j === of.length - 1;
  const items = token.items.map((item, i) => (
    <li key={i} className={item.task ? "task" : undefined}>
      {item.task && <input type="checkbox" checked={item.checked === true} disabled readOnly aria-label={item.checked ? "Done" : "Not done"} />}
      {item.tokens.filter((each) => (each.type as string) !== "checkbox").map((each, j, of) => (each.type === "text" || (!token.loose && each.type === "paragraph") ? <span key={j}><Inside token={each} /></span> : <Shown key={j} token={each} last={ends(i, j, of)} />))}
    </li>
  ));
  return token.ordered ? <ol start={token.start === "" ? 1 : token.start}>{items}</ol> : <ul>{items}</ul>;
}

function Table({ token }: { token: Tokens.Table }): ReactNode {
  return (
    <div className="wide" tabIndex={0} role="group" aria-label="Table">
      <table>
        <thead>
          <tr>{token.header.map((cell, i) => <th key={i} scope="col" className={cell.align === "right" ? "r" : undefined}><Spans tokens={cell.tokens} /></th>)}</tr>
        </thead>
        <tbody>
          {token.rows.map((row, i) => (
            <tr key={i}>{row.map((cell, j) => <td key={j} className={cell.align === "right" ? "r" : undefined}><Spans tokens={cell.tokens} /></td>)}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function isClosed(raw: string): boolean {
  return /\n {0,3}(```+|~~~+)\s*$/.test(raw);
}
