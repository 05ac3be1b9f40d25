import { useCallback, useEffect, useMemo, useRef, useState, type ReactNode } from "react";
import { useLocation, useNavigate, useParams } from "@tanstack/react-router";
import { useQueryClient } from "@tanstack/react-query";
import { useAgent } from "@svc/react";
import { Button } from "../kit/Button";
import { recall } from "../kit/kept";
import { LiveState } from "../kit/LiveState";
import { Menu, type MenuItem } from "../kit/Menu";
import { Icon } from "../kit/Icon";
import { ConfirmByName } from "../kit/ConfirmByName";
import { useToast } from "../kit/Toast";
import { useAct } from "../server/act";
import { useList } from "../server/read";
import { useMay } from "../server/role";
import { place } from "../server/place";
import { CustomerSwitcher } from "../shell/CustomerSwitcher";
import { MenuButton } from "../shell/drawer";
import { isTyping } from "../shell/KeyMap";
import { useTitle } from "../shell/Page";
import { usePath } from "../shell/where";
import { Conversation } from "./Conversation";
import { Conversations, conversationsPath, useTalks } from "./Conversations";
import { newInstance } from "./instance";
import { ModelNote, ScriptedBanner, useModel } from "./ScriptedBanner";
import { Turns, proseOf, askedOf } from "./turns";
import { Welcome } from "./Welcome";
import "../look/chat.css";

declare module "@tanstack/react-router" {
  interface HistoryState {
    /** The conversation was made by this page, and nobody has written in it. */
    fresh?: boolean;
  }
}

/** NewChatPage leads to a conversation that begins here. */
export function NewChatPage(): ReactNode {
  const navigate = useNavigate();
  const path = usePath();
  useEffect(() => void navigate({ to: path(`chat/${newInstance()}`), replace: true, state: { fresh: true } }), [navigate, path]);
  return <main id="main" aria-busy="true" />;
}

/** ChatPage is the workspace's own chat. */
export function ChatPage(): ReactNode {
  const { instance = "" } = useParams({ strict: false }) as { instance?: string };
  const path = usePath();
  const address = useCallback((id: string) => path(`chat/${encodeURIComponent(id)}`), [path]);
  return <Chat agent="central" title="Chat" instance={instance} address={address} />;
}

/** AgentChatPage is a conversation with one of the workspace's agents. */
export function AgentChatPage(): ReactNode {
  const { name = "", instance = "" } = useParams({ strict: false }) as { name?: string; instance?: string };
  const path = usePath();
  const address = useCallback((id: string) => path(`agents/${name}/conversations/${encodeURIComponent(id)}`), [path, name]);
  return <Chat agent={name} title={name} instance={instance} address={address} />;
}

interface ChatProps {
  agent: string;
  title: string;
  instance: string;
  address: (instance: string) => string;
}

function Chat({ agent: name, title, instance, address }: ChatProps): ReactNode {
  const navigate = useNavigate();
  const { state } = useLocation();
  const talks = useTalks(name);
  const talk = talks.items?.find((each) => each.instance === instance);
  const fresh = state.fresh === true && !talk;
  const agent = useAgent(name, instance, { fresh });
  const [listing, setListing] = useState(false);
  // The banner above the conversation is known with the model: until then nothing stands that it would move.
  const known = useModel(name).known;
  const heading = talk?.title || firstWords(agent.messages) || "New conversation";
  useTitle(title, heading === title ? undefined : heading, agent.status === "streaming" || agent.status === "submitted" ? "running" : talk?.state === "failed" ? "failed" : undefined);
  useFreshList(agent.status);

  const begin = useCallback(() => {
    setListing(false);
    void navigate({ to: address(newInstance()), state: { fresh: true } });
  }, [navigate, address]);
  useNewKey(begin);
  const begun = useRef(false);
  useEffect(() => setListing(false), [instance]);
  useEffect(() => {
    begun.current = false;
  }, [instance]);
  const sent = (): void => {
    if (!fresh || begun.current) return;
    begun.current = true; // from now on a reload reads it
    history.replaceState({ ...(history.state as object), fresh: false }, "");
  };
  const first = agent.error === undefined && agent.phase === "connecting" ? "loading" : agent.phase;
  return (
    <main id="main" tabIndex={-1}>
      <div className={listing ? "chat listing" : "chat"}>
        <Conversations agent={name} title={title} shown={instance} address={address} onNew={begin} />
        <section className="thread" aria-label="Conversation">
          <header className="top">
            <MenuButton />
            <h1 className="trunc" tabIndex={-1}>{heading}</h1>
            <span className="faint desk">{name}</span>
            <span className="grow" />
            {place.surface === "admin" && <CustomerSwitcher />}
            <LiveState phase={first} />
            <Button look="ghost" icon="chat" label="All conversations" className="mobile" onClick={() => setListing(true)} />
            <More agent={name} instance={instance} title={heading} messages={agent} onGone={begin} />
          </header>
          <ScriptedBanner agent={name} />
          {known && <Conversation
            key={`${name}/${instance}`}
            agent={name}
            instance={instance}
            fresh={fresh}
            onBegin={sent}
            empty={(fill, text) => <Welcome agent={name} text={text} fill={fill} />}
            beside={<Whom agent={name} />}
            note={<ModelNote agent={name} messages={agent.messages} />}
          />}
        </section>
        {listing && <Button look="ghost" icon="left" className="mobile back-to-thread" onClick={() => setListing(false)}>Back to the conversation</Button>}
      </div>
    </main>
  );
}

/** Whom leads to a new conversation with another agent. */
function Whom({ agent }: { agent: string }): ReactNode {
  const agents = useList("/api/workspaces/{username}/{business}/agents");
  const navigate = useNavigate();
  const path = usePath();
  const items = (agents.items ?? [{ name: agent, description: "", enabled: true, shadowed: undefined }])
    .filter((each) => each.enabled && !each.shadowed)
    .map((each): MenuItem => ({
      label: each.name,
      ...(each.description && { note: each.description }),
      ticked: each.name === agent,
      onSelect: () => {
        if (each.name === agent) return;
        const to = each.name === "central" ? path(`chat/${newInstance()}`) : path(`agents/${each.name}/conversations/${newInstance()}`);
        void navigate({ to, state: { fresh: true } });
      },
    }));
  return <Menu label={`Agent: ${agent}`} className="btn ghost desk whom" button={<><Icon name="agents" small /> {agent} <Icon name="down" small /></>} groups={[{ heading: "New conversation with", items }]} />;
}

interface MoreProps {
  agent: string;
  instance: string;
  title: string;
  messages: Pick<ReturnType<typeof useAgent>, "messages" | "settlements">;
  onGone: () => void;
}

/** More is what one seldom does with a conversation. */
function More({ agent, instance, title, messages, onGone }: MoreProps): ReactNode {
  const [erasing, setErasing] = useState(false);
  const erase = useAct("delete", "/api/workspaces/{username}/{business}/agents/{name}/conversations/{instance}");
  const { why } = useMay("manage");
  const toast = useToast();
  const copyAll = async (): Promise<void> => {
    const text = new Turns().of(messages.messages, messages.settlements).map((turn) => [askedOf(turn) && `**You:** ${askedOf(turn)}`, proseOf(turn)].filter(Boolean).join("\n\n")).join("\n\n---\n\n");
    await navigator.clipboard.writeText(text).then(() => toast({ tone: "ok", text: "Copied as Markdown." }), () => toast({ tone: "bad", text: "The browser did not allow copying." }));
  };
  const none = messages.messages.length === 0 ? "Nothing was said yet." : undefined;
  const items: MenuItem[] = [
    { label: "Copy as Markdown", icon: "copy", why: none, onSelect: () => void copyAll() },
    { label: "Copy the address", icon: "file", onSelect: () => void navigator.clipboard.writeText(location.href).then(() => toast({ tone: "ok", text: "Copied." })) },
  ];
  const danger: MenuItem[] = [{ label: "Erase this conversation", icon: "trash", danger: true, why: none ?? why, onSelect: () => setErasing(true) }];
  const confirmed = async (): Promise<void> => {
    if (!(await erase.run({ path: { name: agent, instance } }))) return;
    setErasing(false);
    toast({ tone: "ok", text: "Erased." });
    onGone();
  };
  return (
    <>
      <Menu label="More" bare title="More" className="btn ghost icon" button={<Icon name="more" />} groups={[{ items }, { items: danger }]} />
      {erasing && (
        <ConfirmByName act="Erase this conversation" name={title.length <= 40 ? title : instance} busy={erase.busy} error={erase.error} onClose={() => setErasing(false)} onConfirm={() => void confirmed()}>
          “{title}” and its images are erased at once, for everybody. This cannot be undone.
        </ConfirmByName>
      )}
    </>
  );
}

/** useFreshList reads the list again when something in the conversation has begun or ended. */
function useFreshList(status: string): void {
  const queries = useQueryClient();
  const before = useRef(status);
  useEffect(() => {
    if (before.current === status) return;
    before.current = status;
    void queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[2] === conversationsPath });
  }, [status, queries]);
}

/** useNewKey: `c` begins a conversation. */
function useNewKey(begin: () => void): void {
  const held = useMemo(() => ({ begin }), [begin]);
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (event.key !== "c" || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isTyping(event.target) || recall("keys") === "off") return;
      event.preventDefault();
      held.begin();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [held]);
}

/** firstWords name a conversation that the list does not have yet. */
function firstWords(messages: ReturnType<typeof useAgent>["messages"]): string | undefined {
  const first = messages.find((message) => message.role === "user");
  const text = first?.parts.find((part) => part.type === "text");
  return text && "text" in text ? text.text.split("\n")[0]?.slice(0, 80) || undefined : undefined;
}
