import { useState, type ReactNode } from "react";
import { Link } from "@tanstack/react-router";
import { useAgent } from "@svc/react";
import { Conversation } from "../chat/Conversation";
import { EraseConversation } from "../chat/EraseConversation";
import { newInstance } from "../chat/instance";
import { SpentNote, useModel } from "../chat/ScriptedBanner";
import { Button } from "../kit/Button";
import { Icon } from "../kit/Icon";
import { LiveState } from "../kit/LiveState";
import { Menu, type MenuItem } from "../kit/Menu";
import { useMay } from "../server/role";
import { usePath } from "../shell/where";
import type { AgentFacts } from "./agent";
import { useGo } from "./place";

/** TryIt is a conversation with the saved agent, beside what is written of it. It has an address, so that it can be come back to. */
export function TryIt({ agent, conversation }: { agent: AgentFacts; conversation: string | undefined }): ReactNode {
  const [fresh, setFresh] = useState(newTry);
  const id = conversation ?? fresh;
  const talk = useAgent(agent.name, id, { fresh: conversation === undefined });
  const go = useGo();
  const renew = (): void => {
    setFresh(newTry());
    go(agent.name, { part: "try", replace: true });
  };
  const begun = (): void => {
    if (conversation === undefined) go(agent.name, { conversation: id, replace: true });
  };
  return (
    <aside className="col try" aria-label="Try it">
      <header className="top">
        <h2>Try it</h2>
        <span className="tag">v{agent.version}</span>
        <span className="grow" />
        {conversation !== undefined && (
          <>
            <LiveState phase={talk.phase} />
            <Button look="ghost" icon="edit" label="New try" onClick={renew} />
            <More agent={agent.name} instance={id} onErased={renew} />
          </>
        )}
      </header>
      <Conversation
        key={`${agent.name}/${id}`}
        part
        agent={agent.name}
        instance={id}
        fresh={conversation === undefined}
        onBegin={begun}
        closed={agent.enabled ? undefined : "It is off. Switch it on to try it."}
        placeholder={`Ask ${agent.name}…`}
        above={<Version agent={agent} />}
        note={<SpentNote messages={talk.messages} />}
      />
    </aside>
  );
}

/** Version says which version answers, and that no real model does where that is so. */
function Version({ agent }: { agent: AgentFacts }): ReactNode {
  const path = usePath();
  const scripted = useModel(agent.name).model?.startsWith("scripted/");
  return (
    <div className="version-note">
      <div className="note">v{agent.version} answers until you save</div>
      {scripted && <p>Answers come from the built-in scripted model. <Link className="link" to={path("settings/models")}>Add a model key</Link></p>}
    </div>
  );
}

/** More is what one seldom does with a try. */
function More({ agent, instance, onErased }: { agent: string; instance: string; onErased: () => void }): ReactNode {
  const [erasing, setErasing] = useState(false);
  const go = useGo();
  const { why } = useMay("manage");
  const items: MenuItem[] = [
    { label: "Open as a page", icon: "chat", onSelect: () => go(agent, { talk: instance }) },
    { label: "All conversations", icon: "file", onSelect: () => go(agent, { part: "conversations" }) },
    { label: "Erase", icon: "trash", danger: true, why, onSelect: () => setErasing(true) },
  ];
  return (
    <>
      <Menu bare label="More of this conversation" className="btn ghost icon last" title="More" button={<Icon name="more" />} groups={[{ items }]} />
      {erasing && <EraseConversation agent={agent} instance={instance} title={instance} onErased={onErased} onClose={() => setErasing(false)} />}
    </>
  );
}

/** newTry is the id of a try that nobody has had. */
function newTry(): string {
  return `try-${newInstance().slice(0, 12)}`;
}
