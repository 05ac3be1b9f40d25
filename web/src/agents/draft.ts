import { useCallback, useState } from "react";
import { keep, recall } from "../kit/kept";
import { namesOf, useWorkspace } from "../server/workspace";
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
  readonly discard: () => void;
}

/** useDraft keeps what is written in this browser until it is saved: a reload, a crash and a lost session cost nothing. */
export function useDraft(agent: AgentFacts): Drafting {
  const workspace = useWorkspace();
  const name = `agent.${namesOf(workspace)}/${agent.name}`;
  const [draft, setDraft] = useState<Draft | undefined>(() => kept(name));

  const put = useCallback(
    (next: Draft | undefined) => {
      const dirty = next && changesOf(next.base, next.mine).length > 0 ? next : undefined;
      setDraft(dirty);
      keep(name, dirty && JSON.stringify(dirty));
    },
    [name],
  );
  const set = (change: Partial<Definition>): void => {
    const from = draft ?? { version: agent.version, base: definitionOf(agent), mine: definitionOf(agent) };
    put({ ...from, mine: { ...from.mine, ...change } });
  };
  return { draft, shown: draft?.mine ?? definitionOf(agent), set, rebase: put, discard: () => put(undefined) };
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
