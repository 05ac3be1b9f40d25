import { createElement, Fragment, useMemo, type ReactNode } from "react";
import { markdownLanguage } from "@codemirror/lang-markdown";
import type { SyntaxNode } from "@lezer/common";

/** Markdown is a text as a page, made of the same grammar that colours it in the editor. Raw HTML is shown as the text that it is. */
export function Markdown({ text }: { text: string }): ReactNode {
  const tree = useMemo(() => markdownLanguage.parser.parse(text), [text]);
  return <>{inside(tree.topNode, text)}</>;
}

/** Marks are what the grammar needs and a reader does not. */
const marks = new Set(["HeaderMark", "EmphasisMark", "CodeMark", "CodeInfo", "QuoteMark", "ListMark", "LinkMark", "TaskMarker", "TableDelimiter", "StrikethroughMark", "LinkReference", "LinkTitle", "LinkLabel"]);

const elements: Record<string, string> = {
  Paragraph: "p", ATXHeading1: "h3", ATXHeading2: "h4", ATXHeading3: "h5", ATXHeading4: "h6", ATXHeading5: "h6", ATXHeading6: "h6", SetextHeading1: "h3", SetextHeading2: "h4",
  Blockquote: "blockquote", BulletList: "ul", OrderedList: "ol", Emphasis: "em", StrongEmphasis: "strong", Strikethrough: "del", TableRow: "tr",
};

/** inside are the children of a node, and the text between them. */
function inside(node: SyntaxNode, text: string, from = node.from, to = node.to): ReactNode[] {
  const parts: ReactNode[] = [];
  let at = from;
  for (let child = node.firstChild; child; child = child.nextSibling) {
    if (child.from > at) parts.push(between(node, text.slice(at, child.from)));
    if (!marks.has(child.name)) parts.push(<Fragment key={child.from}>{drawn(child, text)}</Fragment>);
    at = child.to;
  }
  if (to > at) parts.push(between(node, text.slice(at, to)));
  return parts;
}

const blocks = new Set(["Document", "BulletList", "OrderedList", "ListItem", "Blockquote", "Table", "TableRow", "TableHeader"]);

/** between is what stands beside other nodes: words in a paragraph, and nothing between blocks. */
function between(node: SyntaxNode, words: string): string {
  return blocks.has(node.name) ? "" : words.replace(/\n[>\s]*/g, "\n");
}

function drawn(node: SyntaxNode, text: string): ReactNode {
  const words = text.slice(node.from, node.to);
  const element = elements[node.name];
  if (element) return createElement(element, levelOf(node.name), trimmed(inside(node, text)));
  switch (node.name) {
    case "ListItem": return <li className={node.getChild("Task") ? "task" : undefined}>{inside(node, text)}</li>;
    case "Task": return <Task node={node} text={text} />;
    case "InlineCode": return <code>{words.replace(/^`+ ?| ?`+$/g, "")}</code>;
    case "FencedCode": case "CodeBlock": return <pre className="code" tabIndex={0}>{codeIn(node, text)}</pre>;
    case "HorizontalRule": return <hr />;
    case "HardBreak": return <br />;
    case "Escape": return words.slice(1);
    case "Entity": return entity(words);
    case "Link": return <Anchor to={urlIn(node, text)}>{inside(node, text, node.from, node.to).filter((part) => part !== urlIn(node, text))}</Anchor>;
    case "Autolink": case "URL": return node.parent?.name === "Link" || node.parent?.name === "Image" ? null : <Anchor to={words.replace(/^<|>$/g, "")}>{words.replace(/^<|>$/g, "")}</Anchor>;
    case "Image": return <span className="tag line">Image: {text.slice(node.from + 2, node.getChildren("LinkMark")[1]?.from ?? node.to) || urlIn(node, text)}</span>;
    case "Table": return <Table node={node} text={text} />;
    case "HTMLBlock": case "HTMLTag": case "Comment": case "CommentBlock": return <span className="faint mono">{words}</span>;
  }
  return inside(node, text);
}

/** levelOf says to screen readers which heading it is: the page's own come before it. */
function levelOf(name: string): { className?: string } {
  const level = /Heading(\d)/.exec(name)?.[1];
  return level ? { className: `h${level}` } : {};
}

/** trimmed takes the blank between a mark and its words. */
function trimmed(parts: ReactNode[]): ReactNode[] {
  const [first, ...rest] = parts;
  return typeof first === "string" ? [first.replace(/^[ \t]+/, ""), ...rest] : parts;
}

function codeIn(node: SyntaxNode, text: string): string {
  return node.getChildren("CodeText").map((part) => text.slice(part.from, part.to)).join("");
}

function urlIn(node: SyntaxNode, text: string): string {
  const url = node.getChild("URL");
  return url ? text.slice(url.from, url.to) : "";
}

function Task({ node, text }: { node: SyntaxNode; text: string }): ReactNode {
  const marker = node.getChild("TaskMarker");
  const done = marker ? /x/i.test(text.slice(marker.from, marker.to)) : false;
  return (
    <span className="row">
      <input type="checkbox" className="tick" checked={done} readOnly disabled aria-label={done ? "Done" : "To do"} />
      <span>{inside(node, text)}</span>
    </span>
  );
}

/** Anchor leads out of the page only where that is safe, and says where to. */
function Anchor({ to, children }: { to: string; children: ReactNode }): ReactNode {
  if (!/^(https?:|mailto:)/i.test(to)) return <span className="link" title={to}>{children}</span>;
  return <a className="link" href={to} target="_blank" rel="noopener noreferrer" title={to}>{children}</a>;
}

function Table({ node, text }: { node: SyntaxNode; text: string }): ReactNode {
  const head = node.getChild("TableHeader");
  const cells = (row: SyntaxNode): SyntaxNode[] => row.getChildren("TableCell");
  return (
    <div className="sideways" tabIndex={0} role="region" aria-label="Table">
      <table>
        <thead>
          <tr>{head && cells(head).map((cell) => <th key={cell.from} scope="col">{inside(cell, text)}</th>)}</tr>
        </thead>
        <tbody>
          {node.getChildren("TableRow").map((row) => (
            <tr key={row.from}>{cells(row).map((cell) => <td key={cell.from}>{inside(cell, text)}</td>)}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const entities: Record<string, string> = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&nbsp;": "\u00a0", "&mdash;": "—", "&ndash;": "–", "&hellip;": "…", "&copy;": "©" };

function entity(words: string): string {
  const number = /^&#(x?)([0-9a-f]+);$/i.exec(words);
  if (!number) return entities[words] ?? words;
  const code = Number.parseInt(number[2] ?? "", number[1] ? 16 : 10);
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : words;
}
