import { useEffect, useRef, useState, type ReactNode } from "react";
import type { SvcError } from "@svc/sdk";
import { Button } from "../kit/Button";
import { ConflictBar } from "../kit/ConflictBar";
import { Field, focusInvalid } from "../kit/Field";
import { Icon } from "../kit/Icon";
import { Trouble } from "../kit/Refusal";
import { Tag } from "../kit/StatusTag";
import { Tabs } from "../kit/Tabs";
import { useToast } from "../kit/Toast";
import { useAct } from "../server/act";
import { fieldErrors } from "../server/refusal";
import { useMay } from "../server/role";
import { useArrival } from "../shell/Page";
import { builtInReason, definitionOf, editOf, fixedBy, type AgentFacts, type Definition } from "./agent";
import { AgentConversations } from "./AgentConversations";
import { AgentForm } from "./AgentForm";
import { AgentMenu } from "./AgentMenu";
import { AgentVersions } from "./AgentVersions";
import { DraftDiff } from "./DraftDiff";
import { useDraft } from "./draft";
import { LeaveDialog } from "./LeaveDialog";
import { MergeDialog } from "./MergeDialog";
import { useGo, type AgentPlace, type Part } from "./place";
import { useSaved } from "./saved";
import { VersionBar } from "./VersionBar";

export interface AgentEditorProps {
  agent: AgentFacts;
  at: AgentPlace;
  /** Why the newest could not be read. */
  trouble: SvcError | undefined;
  onRead: () => void;
}

const parts: readonly { id: Part; label: string }[] = [
  { id: "edit", label: "Edit" },
  { id: "try", label: "Try it" },
  { id: "conversations", label: "Conversations" },
  { id: "versions", label: "Versions" },
];

/** AgentEditor is the middle column: the agent as it is written, its versions, or what was said to it. */
export function AgentEditor({ agent, at, trouble, onRead }: AgentEditorProps): ReactNode {
  const { draft, shown, set, rebase, settle, discard } = useDraft(agent);
  const [looking, setLooking] = useState<"diff" | "merge">();
  const save = useAct("patch", "/api/workspaces/{username}/{business}/agents/{name}");
  const toast = useToast();
  const saved = useSaved();
  const go = useGo();
  const heading = useArrival();
  const column = useRef<HTMLElement>(null);
  const { why: role } = useMay("work");
  const why = fixedBy(agent.source) ?? role;
  const theirs = draft !== undefined && agent.version !== draft.version;

  const store = async (from: Definition, version: number, mine: Definition): Promise<void> => {
    const done = await save.run({ path: { name: agent.name }, version, body: editOf(from, mine) });
    if (done) {
      saved(done.answer);
      settle(done.answer, mine);
      setLooking(undefined);
      toast({ tone: "ok", text: `v${done.answer.version}. Work in flight stays on v${version}.` });
    } else {
      onRead(); // a conflict is shown beside what they saved
      setTimeout(() => focusInvalid(column.current));
    }
  };
  const saveDraft = (): void => void (draft && !theirs && !save.busy && store(draft.base, draft.version, draft.mine));
  const merged = (mine: Definition): void => {
    rebase({ version: agent.version, base: definitionOf(agent), mine });
    save.reset();
    setLooking(undefined);
  };
  const drop = (): void => {
    discard();
    save.reset();
  };
  useSaveKey(saveDraft);
  return (
    <section ref={column} className="col file-col" aria-label={`Agent ${agent.name}`}>
      <header className="top">
        <Button look="ghost" icon="left" label="Back to agents" className="mobile" onClick={() => go(undefined)} />
        <h1 ref={heading} tabIndex={-1} className="trunc">{agent.name}</h1>
        {agent.enabled ? <Tag tone="ok">On</Tag> : <Tag>Off</Tag>}
        {agent.exposed && <span className="tag line"><Icon name="globe" />Exposed</span>}
        <span className="grow" />
        {draft && <Button look="ghost" className="desk" onClick={drop}>Discard</Button>}
        <AgentMenu agent={agent} why={why} onDeleted={drop} {...(draft ? { onDiscard: drop } : {})} />
      </header>
      <div className={at.part === "versions" || at.part === "conversations" ? "parts stay" : "parts"}>
        <Tabs label="Parts" tabs={parts.map((part) => (part.id === "versions" ? { ...part, count: agent.version } : part))} value={at.part} onChange={(id) => go(agent.name, { part: id as Part, ...(id === "try" && at.conversation ? { conversation: at.conversation } : {}) })} />
      </div>
      {trouble && <Trouble error={trouble} stale onRetry={onRead} />}
      {at.part === "versions" ? (
        <AgentVersions agent={agent} version={at.version} why={why} />
      ) : at.part === "conversations" ? (
        <AgentConversations agent={agent} current={at.conversation} />
      ) : (
        <>
          <VersionBar agent={agent} draft={draft} busy={save.busy} why={why} conflict={theirs} onDiff={() => setLooking("diff")} onSave={saveDraft} />
          {theirs && draft && <ConflictBar what={`${agent.name} as v${agent.version}`} busy={save.busy} onTheirs={drop} onMine={() => void store(definitionOf(agent), agent.version, draft.mine)} onMerge={() => setLooking("merge")} />}
          {save.error && !save.conflict && <Trouble error={save.error} />}
          <Standing agent={agent} />
          <div className="body form-body">
            <div className="form narrow">
              <AgentForm
                name={agent.name}
                shown={shown}
                saved={draft?.base ?? shown}
                errors={fieldErrors(save.error)}
                onChange={set}
                why={why}
                whyMost={why ?? (agent.source === "built-in" ? builtInReason : undefined)}
                nameField={<Field label="Name" value={agent.name} readOnly title="The name is given once: others call it by it." help={<span className="mono">/agents/{agent.name}/{"{conversation}"}</span>} />}
              />
            </div>
          </div>
        </>
      )}
      {looking === "diff" && draft && <DraftDiff draft={draft} next={agent.version + 1} onClose={() => setLooking(undefined)} />}
      {looking === "merge" && draft && <MergeDialog draft={draft} theirs={definitionOf(agent)} version={agent.version} onMerged={merged} onClose={() => setLooking(undefined)} />}
      <LeaveDialog name={agent.name} dirty={draft !== undefined} onDiscard={drop} />
    </section>
  );
}

/** Standing says what is true of an agent before anything is written of it. */
function Standing({ agent }: { agent: AgentFacts }): ReactNode {
  const told = agent.shadowed ?? fixedBy(agent.source) ?? (agent.source === "built-in" ? builtInReason : undefined);
  if (!told) return null;
  return (
    <div className={agent.shadowed ? "banner warn" : "banner"}>
      <Icon name={agent.shadowed ? "warn" : fixedBy(agent.source) ? "lock" : "info"} />
      <p>{told}</p>
    </div>
  );
}

/** useSaveKey saves by Ctrl or ⌘ S, which would save the page of the browser otherwise. */
function useSaveKey(save: () => void): void {
  const act = useRef(save);
  act.current = save;
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "s") return;
      event.preventDefault();
      act.current();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
}
