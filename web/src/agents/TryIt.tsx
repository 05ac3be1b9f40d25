import { useState, type ReactNode } from "react";
import { useAgent } from "@svc/react";
import { newKey, SvcError } from "@svc/sdk";
import { Button } from "../kit/Button";
import { Icon } from "../kit/Icon";
import { LiveState } from "../kit/LiveState";
import { Menu } from "../kit/Menu";
import { ConfirmByName } from "../kit/ConfirmByName";
import { Refusal } from "../kit/Refusal";
import { useAct } from "../server/act";
import { useMay } from "../server/role";
import type { AgentFacts } from "./agent";
import { useGo } from "./place";
import { Transcript } from "./Transcript";
import { TryComposer } from "./TryComposer";

/** TryIt is a conversation with the saved agent, beside what is written of it. It has an address, so that it can be come back to. */
export function TryIt({ agent, conversation }: { agent: AgentFacts; conversation: string | undefined }): ReactNode {
  const [fresh, setFresh] = useState(newTry);
  const id = conversation ?? fresh;
  const talk = useAgent(agent.name, id, { fresh: conversation === undefined });
  const [erasing, setErasing] = useState(false);
  const go = useGo();
  const { why: role } = useMay("work");
  const manage = useMay("manage");
  const why = role ?? (agent.enabled ? undefined : "It is off. Switch it on to try it.");

  const renew = (): void => {
    setFresh(newTry());
    go(agent.name, { part: "try", replace: true });
  };
  const send = async (text: string): Promise<boolean> => {
    const admitted = talk.send(text);
    if (conversation === undefined) go(agent.name, { conversation: id, replace: true });
    return admitted;
  };
  const refused = talk.status === "error" && talk.error instanceof SvcError ? talk.error : undefined;
  return (
    <aside className="col try" aria-label="Try it">
      <header className="top">
        <h2>Try it</h2>
        <span className="tag">v{agent.version}</span>
        <span className="grow" />
        {conversation !== undefined && <LiveState phase={talk.phase} />}
        {conversation !== undefined && <Button look="ghost" icon="edit" label="New try" onClick={renew} />}
        {conversation !== undefined && (
          <Menu
            bare
            label="More of this conversation"
            className="btn ghost icon last"
            title="More"
            button={<Icon name="more" />}
            groups={[{ items: [{ label: "All conversations", icon: "chat", onSelect: () => go(agent.name, { part: "conversations" }) }, { label: "Erase", icon: "trash", danger: true, why: manage.why, onSelect: () => setErasing(true) }] }]}
          />
        )}
      </header>
      {refused ? <Refusal error={refused} onRetry={talk.refresh} /> : <Transcript agent={agent} talk={talk} />}
      <TryComposer key={id} name={agent.name} busy={talk.status === "submitted" || talk.status === "streaming"} why={why} onSend={send} onStop={() => void talk.stop()} />
      {erasing && <EraseTry name={agent.name} instance={id} onErased={renew} onClose={() => setErasing(false)} />}
    </aside>
  );
}

/** newTry is the id of a conversation that nobody has had. */
function newTry(): string {
  return `try-${newKey().slice(0, 12)}`;
}

/** EraseTry destroys a conversation. */
function EraseTry({ name, instance, onErased, onClose }: { name: string; instance: string; onErased: () => void; onClose: () => void }): ReactNode {
  const erase = useAct("delete", "/api/workspaces/{username}/{business}/agents/{name}/conversations/{instance}");
  const confirm = async (): Promise<void> => {
    if (!(await erase.run({ path: { name, instance } }))) return;
    onClose();
    onErased();
  };
  return (
    <ConfirmByName act="Erase conversation" name={instance} busy={erase.busy} error={erase.error} onConfirm={() => void confirm()} onClose={onClose}>
      Its messages, its queue and its images are destroyed at once. Nobody can bring them back.
    </ConfirmByName>
  );
}
