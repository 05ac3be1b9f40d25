import { useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { Link, useNavigate } from "@tanstack/react-router";
import { Button } from "../kit/Button";
import { nextRow } from "../kit/DataList";
import { Empty } from "../kit/Empty";
import { Icon } from "../kit/Icon";
import { Refusal, Trouble } from "../kit/Refusal";
import { place } from "../server/place";
import { useList } from "../server/read";
import { useMay } from "../server/role";
import { useArrival } from "../shell/Page";
import { MenuButton } from "../shell/drawer";
import { usePath } from "../shell/where";
import { sources, toolCount, type AgentItem } from "./agent";
import type { AgentPlace } from "./place";

/** AgentList is the first column: every agent, by where it comes from. */
export function AgentList({ at }: { at: AgentPlace }): ReactNode {
  const list = useList("/api/workspaces/{username}/{business}/agents", { query: { limit: 200, q: at.filter || undefined } });
  const [finding, setFinding] = useState(at.filter !== "");
  const navigate = useNavigate();
  const path = usePath();
  const { why } = useMay("work");
  const heading = useArrival();
  const filter = (q: string): void => void navigate({ to: ".", search: ((before: object) => ({ ...before, q: q || undefined })) as never, replace: true });
  const clear = (): void => {
    setFinding(false);
    filter("");
  };
  return (
    <aside className="col list-col" aria-label="Agents">
      <header className="top">
        {place.surface !== "admin" && <MenuButton />}
        {at.name === undefined && at.making === undefined ? <h1 ref={heading} tabIndex={-1} className="grow">Agents</h1> : <h2 className="grow">Agents</h2>}
        <Button look="ghost" icon="search" label="Filter agents" aria-expanded={finding} {...(finding ? {} : { "data-filter": true })} onClick={() => (finding ? clear() : setFinding(true))} />
        <Button look="ghost" icon="plus" label="New agent" className="last" why={why} onClick={() => void navigate({ to: path("agents"), search: { new: "blank" } as never })} />
      </header>
      {finding && (
        <div className="find-row">
          <span className="find-in">
            <Icon name="search" small />
            <input className="input sm" data-filter autoFocus aria-label="Name of an agent" placeholder="Name" value={at.filter} onChange={(event) => filter(event.target.value)} onKeyDown={(event) => event.key === "Escape" && clear()} spellCheck={false} />
          </span>
        </div>
      )}
      {list.error && list.items && <Trouble error={list.error} stale onRetry={list.retry} />}
      {!list.items ? list.error ? <Refusal error={list.error} onRetry={list.retry} /> : <Loading /> : <Picks items={list.items} at={at} stale={list.stale} onClear={clear} />}
      {list.hasMore && <div className="more"><Button small busy={list.loadingMore} onClick={list.more}>Load more</Button></div>}
    </aside>
  );
}

function Picks({ items, at, stale, onClear }: { items: readonly AgentItem[]; at: AgentPlace; stale: boolean; onClear: () => void }): ReactNode {
  const box = useRef<HTMLDivElement>(null);
  const path = usePath();
  const move = (event: KeyboardEvent): void => {
    const all = [...(box.current?.querySelectorAll<HTMLElement>("a.pick") ?? [])];
    const to = nextRow(event.key, all.indexOf(document.activeElement as HTMLElement), all.length);
    if (to === undefined) return;
    event.preventDefault();
    all[to]?.focus();
  };
  if (items.length === 0) return <div className="list-area"><Empty icon="search" title="Nothing matches" act={<Button onClick={onClear}>Clear the filter</Button>} /></div>;
  return (
    <nav aria-label="All agents" className={stale ? "picks stale-rows" : "picks"} onKeyDown={move}>
      <div ref={box}>
        {sources.map(({ source, name }) => {
          const all = items.filter((each) => each.source === source);
          return all.length > 0 && (
            <div key={source} role="group" aria-label={name}>
              <h3>{name}</h3>
              {all.map((agent) => <Pick key={agent.name} agent={agent} to={path(`agents/${agent.name}`)} current={agent.name === at.name && !agent.shadowed} />)}
            </div>
          );
        })}
      </div>
    </nav>
  );
}

function Pick({ agent, to, current }: { agent: AgentItem; to: string; current: boolean }): ReactNode {
  const model = agent.model === "" ? "default model" : agent.model.split("/").slice(1).join("/");
  return (
    <Link className="pick" data-row="" to={to} aria-current={current ? "page" : undefined}>
      <b className="trunc">{agent.name}</b>
      {agent.enabled ? <span className="st ok"><span className="dot" />On</span> : <span className="st faint"><span className="dot" />Off</span>}
      <small className="trunc">{model} · {toolCount(agent)}</small>
      <small className="num">v{agent.version}</small>
      {agent.shadowed && <small className="wide warn">{agent.shadowed}</small>}
    </Link>
  );
}

function Loading(): ReactNode {
  return (
    <div className="picks wait" role="status" aria-label="Loading agents">
      <h3><span className="skeleton" style={{ width: 48 }} /></h3>
      {[0, 1, 2, 3].map((row) => (
        <div key={row} className="pick"><span className="skeleton" style={{ width: "70%" }} /><span className="skeleton" style={{ width: 28 }} /><span className="skeleton" style={{ width: "90%" }} /></div>
      ))}
    </div>
  );
}
