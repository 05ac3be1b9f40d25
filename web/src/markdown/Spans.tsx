import type { ReactNode } from "react";
import { Link } from "@tanstack/react-router";
import type { Token, Tokens } from "marked";
import { Icon } from "../kit/Icon";
import { Clipped } from "./Clipped";
import { leadOf, sourceOf } from "./link";
import { decoded, plain } from "./plain";

/** Spans are the words of a block. */
export function Spans({ tokens }: { tokens: readonly Token[] }): ReactNode {
  return tokens.map((token, i) => <Span key={i} token={token} />);
}

function Span({ token: any }: { token: Token }): ReactNode {
  const token = any as Tokens.Generic;
  const inside = (): ReactNode => (token.tokens ? <Spans tokens={token.tokens} /> : <Clipped text={plain(decoded(String(token["text"] ?? token.raw)))} />);
  switch (token.type) {
    case "strong":
      return <strong>{inside()}</strong>;
    case "em":
      return <em>{inside()}</em>;
    case "del":
      return <del>{inside()}</del>;
    case "codespan":
      return <code>{plain(String(token["text"]))}</code>;
    case "br":
      return <br />;
    case "link":
      return <Leading token={token as Tokens.Link}>{inside()}</Leading>;
    case "image":
      return <NoImage token={token as Tokens.Image} />;
    case "html":
      return plain(token.raw);
    case "checkbox":
      return null;
    default:
      return inside();
  }
}

/** Leading is a link. Where it leads away, the host is said: its words may say anything. */
function Leading({ token, children }: { token: Tokens.Link; children: ReactNode }): ReactNode {
  const lead = leadOf(token.href, location.origin);
  if (!lead) return <span title="This link leads nowhere safe">{children}</span>;
  if (lead.inside) return <Link to={lead.href}>{children}</Link>;
  return (
    <a href={lead.href} target="_blank" rel="noopener noreferrer">
      {children}
      {lead.host && !token.text.includes(lead.host) && <small className="host"> {plain(lead.host)}</small>}
    </a>
  );
}

/** NoImage stands for an image that a model named. It is not fetched: that would tell its host who reads here. */
function NoImage({ token }: { token: Tokens.Image }): ReactNode {
  return (
    <span className="no-image" title="Images in replies are not loaded">
      <Icon name="image" small />
      {plain(token.text || "Image")} <small>{plain(sourceOf(token.href))}</small>
    </span>
  );
}
