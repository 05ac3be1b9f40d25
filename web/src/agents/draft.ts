import { useCallback, useRef, useState } from "react";
import { keep, recall } from "../kit/kept";
import { namesOf, useWorkspace, type Workspace } from "../server/workspace";
import { changesOf, definitionOf, type AgentFacts, type Definition } from "./agent";

/** Draft is what a person has written and not saved, and the version that they began with. */
export interface Draft {
  readonly version: number;
  readonly base: Definition;
  readonly mine: Definition;
}

export interface Drafting {
  /** What is not saved; undefined: nothing is. */
  readonly draft: Draft | undefined;
  /** What the form shows. */
  readonly shown: Definition;
  readonly set: (change: Partial<Definition>) => void;
  /** Go on from another version with another text. */
  readonly rebase: (draft: Draft) => void;
  /** Take over what a save answered, and go on with what was written since it was sent. */
  readonly settle: (answer: AgentFacts, sent: Definition) => void;
  readonly discard: () => void;
}

/** useDraft keeps what is written in this browser until it is saved: a reload, a crash and a lost session cost nothing. */
export function useDraft(agent: AgentFacts): Drafting {
  const workspace = useWorkspace();
  const name = nameOf(workspace, agent.name);
  const [draft, setDraft] = useState<Draft | undefined>(() => kept(name));

  const put = useCallback(
    (next: Draft | undefined) => {
      const dirty = next && changesOf(next.base, next.mine).length > 0 ? next : undefined;
      setDraft(dirty);
      keep(name, dirty && JSON.stringify(dirty));
    },
    [name],
  );
  const now = useRef(draft);
  now.current = draft;
  const set = (change: Partial<Definition>): void => {
    const from = draft ?? { version: agent.version, base: definitionOf(agent), mine: definitionOf(agent) };
    put({ ...from, mine: { ...from.mine, ...change } });
  };
  const settle = (answer: AgentFacts, sent: Definition): void => put(writtenSince(answer, sent, now.current?.mine));
  return { draft, shown: draft?.mine ?? definitionOf(agent), set, rebase: put, settle, discard: () => put(undefined) };
}

/** writtenSince is the draft that a save leaves: what was written while it was on its way; undefined: nothing was. */
export function writtenSince(answer: Definition & { readonly version: number }, sent: Definition, now: Definition | undefined): Draft | undefined {
  return now && now !== sent ? { version: answer.version, base: definitionOf(answer), mine: now } : undefined;
}

/** keepDraft leaves a draft for whoever opens the agent next. */
export function keepDraft(workspace: Workspace | undefined, agent: string, draft: Draft | undefined): void {
  keep(nameOf(workspace, agent), draft && JSON.stringify(draft));
}

function nameOf(workspace: Workspace | undefined, agent: string): string {
  return `agent.${namesOf(workspace)}/${agent}`;
}

/** kept is the draft of before. One that cannot be read is none. */
function kept(name: string): Draft | undefined {
  try {
    const draft = JSON.parse(recall(name) ?? "null") as Draft | null;
    return draft && typeof draft.version === "number" && changesOf(draft.base, draft.mine).length > 0 ? draft : undefined;
  } catch {
    return undefined;
  }
}
