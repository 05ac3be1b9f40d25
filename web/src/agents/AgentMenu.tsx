import { useState, type ReactNode } from "react";
import { ConfirmByName } from "../kit/ConfirmByName";
import { Icon } from "../kit/Icon";
import { Menu, type MenuItem } from "../kit/Menu";
import { sentenceOf } from "../kit/Refusal";
import { useToast } from "../kit/Toast";
import { useAct } from "../server/act";
import { namesOf, useWorkspace } from "../server/workspace";
import { builtInReason, type AgentFacts } from "./agent";
import { useGo } from "./place";
import { useSaved } from "./saved";

/** AgentMenu is what else can be done with an agent. */
export function AgentMenu({ agent, why, onDiscard, onDeleted }: { agent: AgentFacts; why: string | undefined; onDiscard?: () => void; onDeleted: () => void }): ReactNode {
  const [deleting, setDeleting] = useState(false);
  const enable = useAct("post", "/api/workspaces/{username}/{business}/agents/{name}/enable");
  const disable = useAct("post", "/api/workspaces/{username}/{business}/agents/{name}/disable");
  const workspace = useWorkspace();
  const toast = useToast();
  const go = useGo();
  const saved = useSaved();
  const whyMost = why ?? (agent.source === "built-in" ? builtInReason : undefined);
  const toggle = async (): Promise<void> => {
    if (enable.busy || disable.busy) return;
    const done = await (agent.enabled ? disable : enable).run({ path: { name: agent.name } });
    if (done) saved(done.answer);
    if (done) toast({ tone: "ok", text: done.answer.enabled ? `${agent.name} is on.` : `${agent.name} is off. What it was given before is finished.` });
    else toast({ tone: "bad", text: `${agent.name} was not switched.` });
  };
  const look: MenuItem[] = [
    { label: "Edit", icon: "edit", onSelect: () => go(agent.name) },
    { label: "Versions", icon: "branch", note: `${agent.version} so far`, onSelect: () => go(agent.name, { part: "versions" }) },
    { label: "Conversations", icon: "chat", onSelect: () => go(agent.name, { part: "conversations" }) },
    { label: "Export as .md", icon: "dl", href: `/api/workspaces/${namesOf(workspace)}/agents/${agent.name}/export`, download: `${agent.name}.md` },
  ];
  const change: MenuItem[] = [
    ...(onDiscard ? [{ label: "Discard changes", icon: "x", onSelect: onDiscard } satisfies MenuItem] : []),
    { label: agent.enabled ? "Switch off" : "Switch on", icon: agent.enabled ? "pause" : "play", why: whyMost, onSelect: () => void toggle() },
    { label: "Delete", icon: "trash", danger: true, why: whyMost, onSelect: () => setDeleting(true) },
  ];
  return (
    <>
      <Menu bare label="More: versions, export, switch off, delete" className="btn ghost icon last" title="More" button={<Icon name="more" />} groups={[{ items: look }, { items: change }]} />
      {deleting && <DeleteAgent agent={agent} onDeleted={onDeleted} onClose={() => setDeleting(false)} />}
    </>
  );
}

/** DeleteAgent says what breaks before it is done. */
function DeleteAgent({ agent, onDeleted, onClose }: { agent: AgentFacts; onDeleted: () => void; onClose: () => void }): ReactNode {
  const remove = useAct("delete", "/api/workspaces/{username}/{business}/agents/{name}");
  const toast = useToast();
  const go = useGo();
  const used = agent.usedBy ?? [];
  const confirm = async (): Promise<void> => {
    if (!(await remove.run({ path: { name: agent.name } }))) return;
    onDeleted();
    onClose();
    toast({ tone: "ok", text: `${agent.name} is gone. Its conversations can still be read.` });
    go(undefined, { replace: true });
  };
  return (
    <ConfirmByName act="Delete agent" name={agent.name} busy={remove.busy} error={remove.error} onConfirm={() => void confirm()} onClose={onClose}>
      <p>Nobody can prompt it any more. What it was given before is finished, and its conversations can be read.</p>
      {used.length > 0 && (
        <>
          <p className="breaks"><Icon name="warn" small className="warn" /> {used.length === 1 ? "This agent asks it, and will be refused:" : "These agents ask it, and will be refused:"}</p>
          <ul className="breaks">{used.map((name) => <li key={name} className="mono">{name}</li>)}</ul>
        </>
      )}
      {agent.exposed && <p>Programs with an API key that prompt it get 404.</p>}
      {remove.error && <span className="sr">{sentenceOf(remove.error)}</span>}
    </ConfirmByName>
  );
}
