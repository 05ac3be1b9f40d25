import { useId, useState, type KeyboardEvent, type ReactNode } from "react";
import { useNavigate } from "@tanstack/react-router";
import { useModal } from "../kit/Dialog";
import { Icon, type IconName } from "../kit/Icon";
import { place } from "../server/place";
import { useList } from "../server/read";
import { addressOf, useSession } from "../server/session";
import { useWorkspace } from "../server/workspace";
import { workspacePages } from "../routes";
import { usePages } from "./Sidebar";
import { baseOf, usePath } from "./where";

/** Hit is something that the palette leads to. */
export interface Hit {
  readonly kind: "Pages" | "Agents" | "Conversations" | "Runs" | "Workspaces";
  readonly label: string;
  readonly note?: string;
  readonly icon: IconName;
  readonly to: string;
}

/** Palette finds pages, agents, conversations, runs by their id, and workspaces, and goes there. */
export function Palette({ onClose }: { onClose: () => void }): ReactNode {
  const ref = useModal(onClose);
  const list = useId();
  const navigate = useNavigate();
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const hits = useHits(typed);

  const go = (hit: Hit): void => {
    onClose();
    void navigate({ to: hit.to });
  };
  const key = (event: KeyboardEvent): void => {
    const hit = hits[at];
    if (event.key === "Enter" && hit) go(hit);
    else if (event.key === "ArrowDown") setAt(Math.min(hits.length - 1, at + 1));
    else if (event.key === "ArrowUp") setAt(Math.max(0, at - 1));
    else return;
    event.preventDefault();
  };
  return (
    <dialog ref={ref} className="palette" aria-label="Jump to">
      <div className="field-line">
        <Icon name="search" />
        <input
          autoFocus
          role="combobox"
          aria-label="Jump to a page, agent, conversation or run"
          aria-expanded="true"
          aria-controls={list}
          aria-activedescendant={hits[at] ? `${list}-${at}` : undefined}
          placeholder="Page, agent, conversation or run id"
          autoComplete="off"
          spellCheck={false}
          value={typed}
          onChange={(event) => {
            setTyped(event.target.value);
            setAt(0);
          }}
          onKeyDown={key}
        />
        <kbd>Esc</kbd>
      </div>
      <div id={list} role="listbox" aria-label="What was found">
        {hits.map((hit, i) => (
          <div key={hit.to + hit.kind} role="presentation" className="bare-group">
            {hit.kind !== hits[i - 1]?.kind && <div role="presentation" className="kind">{hit.kind}</div>}
            <div id={`${list}-${i}`} role="option" aria-selected={i === at} onClick={() => go(hit)} onPointerMove={() => setAt(i)}>
              <Icon name={hit.icon} />
              <span className="trunc">{hit.label}</span>
              {hit.note && <small className="trunc">{hit.note}</small>}
            </div>
          </div>
        ))}
        {hits.length === 0 && <p className="help" style={{ padding: "10px 8px" }}>Nothing of that name.</p>}
      </div>
    </dialog>
  );
}

/** useHits are what is found for a text, pages first. */
function useHits(typed: string): Hit[] {
  const path = usePath();
  const workspace = useWorkspace();
  const session = useSession().data;
  const pages = usePages().filter((page) => page.nav);
  const has = (name: string): boolean => workspacePages.some((page) => page.path === name || page.path.startsWith(`${name}/`));
  const inside = workspace !== undefined && place.surface !== "platform";
  const agents = useList("/api/workspaces/{username}/{business}/agents", { when: inside && has("agents") });
  const talks = useList("/api/workspaces/{username}/{business}/agents/{name}/conversations", { path: { name: "central" }, when: inside && has("chat") });

  const all: Hit[] = pages.map((page) => ({ kind: "Pages", label: page.title, icon: page.nav?.icon ?? "file", to: path(page.path) }));
  for (const agent of agents.items ?? []) all.push({ kind: "Agents", label: agent.name, note: agent.description, icon: "agents", to: path(`agents/${agent.name}`) });
  for (const talk of talks.items ?? []) all.push({ kind: "Conversations", label: talk.title || talk.instance, icon: "chat", to: path(`chat/${talk.instance}`) });
  for (const { scope, business } of session?.workspaces ?? []) {
    const other = addressOf(scope);
    if (other && place.surface !== "admin") all.push({ kind: "Workspaces", label: business, note: scope.replace(/^users\//, ""), icon: "globe", to: baseOf(other) });
  }
  const found = all.filter((hit) => matches(hit, typed));
  const run = runIdIn(typed);
  if (run && inside && has("runs")) found.unshift({ kind: "Runs", label: run, icon: "runs", to: path(`runs/${run}`) });
  return found.slice(0, 40);
}

export function matches(hit: Pick<Hit, "label" | "note">, typed: string): boolean {
  const text = `${hit.label} ${hit.note ?? ""}`.toLowerCase();
  return typed.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

/** runIdIn is the id of a run that was pasted; undefined: the text is none. */
export function runIdIn(typed: string): string | undefined {
  return /\brun_[0-9A-Za-z]{8,}\b/.exec(typed.trim())?.[0];
}
