import { memo, useState, type ReactNode } from "react";
import { Link } from "@tanstack/react-router";
import { Button } from "../kit/Button";
import { Icon } from "../kit/Icon";
import { Trouble } from "../kit/Refusal";
import { useNow } from "../kit/Time";
import type { ItemOf } from "../server/path";
import { useList, type Listing } from "../server/read";
import { plain } from "../markdown/plain";
import { isComposing } from "./composing";
import { groupsOf } from "./days";

export const conversationsPath = "/api/workspaces/{username}/{business}/agents/{name}/conversations";

export type Talk = ItemOf<typeof conversationsPath>;

/** useTalks are the conversations with an agent, the last used first. */
export function useTalks(name: string, q?: string): Listing<Talk> {
  return useList(conversationsPath, { path: { name }, query: q ? { q } : {}, every: 15_000 });
}

export interface ConversationsProps {
  agent: string;
  /** The heading of the list. */
  title: string;
  shown: string;
  /** Where a conversation is. */
  address: (instance: string) => string;
  onNew: () => void;
}

/** Conversations is the list beside a conversation, by days, with what runs and what failed. Words of a reply do not draw it again. */
export const Conversations = memo(function Conversations({ agent, title, shown, address, onNew }: ConversationsProps): ReactNode {
  const [q, setQ] = useState("");
  const [filtering, setFiltering] = useState(false);
  const talks = useTalks(agent, q);
  const now = useNow(60_000);
  const groups = groupsOf(talks.items ?? [], now);
  return (
    <aside className="convs" aria-label="Conversations">
      <header>
        <h2 className="heading">{title}</h2>
        <Button look="ghost" icon="search" label="Find a conversation" aria-expanded={filtering} onClick={() => setFiltering(!filtering)} />
        <Button look="ghost" icon="edit" label="New conversation" aria-keyshortcuts="c" onClick={onNew} />
      </header>
      {filtering && (
        <input className="field-small" data-filter="" autoFocus type="search" aria-label="Find a conversation" placeholder="Title" value={q} onChange={(event) => setQ(event.target.value)} onKeyDown={(event) => {
          if (event.key !== "Escape" || isComposing(event.nativeEvent)) return;
          event.preventDefault(); // it stops no reply
          setQ("");
          setFiltering(false);
        }} />
      )}
      <nav className="list" aria-label="Conversations">
        {talks.error && <Trouble error={talks.error} stale={talks.items !== undefined} onRetry={talks.retry} />}
        {!talks.items && !talks.error && <div className="wait" aria-busy="true"><i className="ghost-line" /><i className="ghost-line" /><i className="ghost-line short" /></div>}
        {talks.items?.length === 0 && (q
          ? <p className="faint t13 none">Nothing of that name. <button type="button" className="link bare" onClick={() => setQ("")}>Clear</button></p>
          : <p className="faint t13 none">Conversations you start appear here. They stay after a reload or a restart.</p>)}
        {groups.map(({ name, items }) => (
          <section key={name} aria-label={name}>
            <h3>{name}</h3>
            {items.map((talk) => <Entry key={talk.instance} talk={talk} to={address(talk.instance)} current={talk.instance === shown} />)}
          </section>
        ))}
        {talks.hasMore && <Button look="ghost" small busy={talks.loadingMore} onClick={talks.more}>Show more</Button>}
      </nav>
    </aside>
  );
});

function Entry({ talk, to, current }: { talk: Talk; to: string; current: boolean }): ReactNode {
  return (
    <Link data-row="" to={to} aria-current={current ? "page" : undefined} title={plain(talk.title)}>
      {talk.state === "running" && <span className="dot pulse live" />}
      {talk.state === "waiting" && <span className="dot warn" />}
      <span className="trunc grow">{plain(talk.title) || "Without words"}</span>
      {talk.state === "failed" && <Icon name="warn" small className="bad" />}
      {talk.state !== "idle" && <span className="sr">, {talk.state}</span>}
    </Link>
  );
}
