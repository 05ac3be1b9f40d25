import { useId, useState, type KeyboardEvent, type ReactNode } from "react";
import { useNavigate } from "@tanstack/react-router";
import { useModal } from "../kit/Dialog";
import { Icon, type IconName } from "../kit/Icon";
import { place } from "../server/place";
import { useList } from "../server/read";
import { addressOf, useSession } from "../server/session";
import { useMay } from "../server/role";
import { useWorkspace } from "../server/workspace";
import { workspacePages } from "../routes";
import { openKeys } from "./palette";
import { schemes, useScheme } from "./scheme";
import { usePages } from "./Sidebar";
import { baseOf, usePath } from "./where";

/** Hit is something that the palette leads to. */
export interface Hit {
  readonly kind: "Pages" | "Acts" | "Agents" | "Conversations" | "Runs" | "Workspaces";
  readonly label: string;
  readonly note?: string;
  readonly icon: IconName;
  /** Where it is; an act has its name here. */
  readonly to: string;
  readonly search?: Readonly<Record<string, string>>;
  /** What it does, where it does not lead elsewhere. */
  readonly act?: () => void;
}

/** Palette finds pages, acts, agents, conversations, runs by their id, and workspaces, and goes there. */
export function Palette({ onClose }: { onClose: () => void }): ReactNode {
  const ref = useModal(onClose);
  const list = useId();
  const navigate = useNavigate();
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const hits = useHits(typed);

  const go = (hit: Hit): void => {
    onClose();
    if (hit.act) hit.act();
    else void navigate({ to: hit.to, search: (hit.search ?? {}) as never });
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
          aria-label="Jump to a page, act, agent, conversation or run"
          aria-expanded={hits.length > 0}
          aria-controls={list}
          aria-activedescendant={hits[at] ? `${list}-${at}` : undefined}
          placeholder="Page, agent, run id or act"
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
      {hits.length === 0 && <p className="none" role="status">Nothing of that name.</p>}
      <div id={list} role="listbox" aria-label="What was found" hidden={hits.length === 0}>
        {hits.map((hit, i) => (
          <div key={`${hit.kind} ${hit.to} ${hit.label}`} role="presentation" className="bare-group">
            {hit.kind !== hits[i - 1]?.kind && <div role="presentation" className="kind">{hit.kind}</div>}
            <div id={`${list}-${i}`} role="option" aria-selected={i === at} onClick={() => go(hit)} onPointerMove={() => setAt(i)}>
              <Icon name={hit.icon} />
              <span className="trunc">{hit.label}</span>
              {hit.note && <small className="trunc">{hit.note}</small>}
            </div>
          </div>
        ))}
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
  all.push(...useActs());
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

/** useActs are what can be begun from anywhere. */
function useActs(): Hit[] {
  const path = usePath();
  const pages = usePages();
  const { may } = useMay("work");
  const [scheme, setScheme] = useScheme();
  const begin: readonly [page: string, label: string, icon: IconName, search?: Record<string, string>][] = [
    ["chat", "New conversation", "edit"],
    ["agents", "New agent", "plus", { new: "blank" }],
    ["runs", "Start a run", "play", { start: "" }],
  ];
  const here = useWorkspace() !== undefined;
  const begun = begin.flatMap(([page, label, icon, search]): Hit[] => (here && may && pages.some((each) => each.path === page) ? [{ kind: "Acts", label, icon, to: path(page), ...(search && { search }) }] : []));
  const looks = schemes.flatMap(({ id, label }): Hit[] => (id === scheme ? [] : [{ kind: "Acts", label: `Scheme: ${label.toLowerCase()}`, icon: "eye", to: id, act: () => setScheme(id) }]));
  return [...begun, ...looks, { kind: "Acts", label: "Keyboard", icon: "hash", to: "keys", act: openKeys }];
}

export function matches(hit: Pick<Hit, "label" | "note">, typed: string): boolean {
  const text = `${hit.label} ${hit.note ?? ""}`.toLowerCase();
  return typed.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

/** runIdIn is the id of a run that was pasted; undefined: the text is none. */
export function runIdIn(typed: string): string | undefined {
  return /\brun_[0-9A-Za-z]{8,}\b/.exec(typed.trim())?.[0];
}
