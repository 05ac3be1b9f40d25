import { memo, Suspense, useCallback, useEffect, useRef, useState, type ReactNode } from "react";
import { useLocation, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useQueryClient } from "@tanstack/react-query";
import { useAgent, type Agent } from "@svc/react";
import { Button } from "../kit/Button";
import { useCopy } from "../kit/CodeSample";
import { LiveState } from "../kit/LiveState";
import { Menu, type MenuItem } from "../kit/Menu";
import { Icon } from "../kit/Icon";
import { useToast } from "../kit/Toast";
import { useList } from "../server/read";
import { useMay } from "../server/role";
import { part } from "../server/part";
import { place } from "../server/place";
import { plain } from "../markdown/plain";
import type { Looked } from "../runs/RunPage";
import { CustomerSwitcher } from "../shell/CustomerSwitcher";
import { MenuButton } from "../shell/drawer";
import { useArrival, useTitle } from "../shell/Page";
import { usePath } from "../shell/where";
import { Conversation, loadThread } from "./Conversation";
import { Conversations, conversationsPath, useTalks } from "./Conversations";
import { EraseConversation } from "./EraseConversation";
import { newInstance } from "./instance";
import { ModelNote, ScriptedBanner, useModel } from "./ScriptedBanner";
import { Turns, proseOf, askedOf } from "./turns";
import { Welcome } from "./Welcome";
import "../look/chat.css";

/** The timeline of a turn comes when one is looked at. */
const Trace = part(() => import("./Trace").then((of) => of.Trace));

declare module "@tanstack/react-router" {
  interface HistoryState {
    /** The conversation was made by this page, and nobody has written in it. */
    fresh?: boolean;
  }
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

  const arrival = useArrival();
  const begin = useCallback(() => {
    setListing(false);
    void navigate({ to: address(newInstance()), state: { fresh: true } });
  }, [navigate, address]);
  const begun = useRef(false);
  useEffect(() => setListing(false), [instance]);
  useEffect(() => {
    if (!fresh) loadThread();
  }, [fresh]);
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
            <h1 ref={arrival} className="trunc" tabIndex={-1}>{plain(heading)}</h1>
            <span className="faint desk">{name}</span>
            <span className="grow" />
            {place.surface === "admin" && <CustomerSwitcher />}
            <LiveState phase={first} />
            <Tracing agent={name} instance={instance} talk={agent} />
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

/** What the address of a conversation says: the turn whose timeline is looked at, and what of it. */
interface Traced extends Looked {
  trace?: string;
}

/** Tracing opens the timeline of the last turn. It has an address, and going back closes it. */
function Tracing({ agent, instance, talk }: { agent: string; instance: string; talk: Agent }): ReactNode {
  const { trace, ...looked } = useSearch({ strict: false }) as Traced;
  const navigate = useNavigate();
  const last = talk.messages.findLast((message) => !message.pending && message.submissionId !== undefined)?.submissionId;
  const go = (next: Traced, replace: boolean): void => {
    const search = Object.entries(next).filter(([, value]) => value !== undefined && value !== "");
    void navigate({ to: ".", search: Object.fromEntries(search) as never, replace, resetScroll: false });
  };
  return (
    <>
      <Button icon="runs" className="trace-act" label="Trace" title="The timeline of the last turn" why={last === undefined ? "Nothing was asked yet." : undefined} onClick={() => go({ trace: last! }, false)}><span className="desk">Trace</span></Button>
      {trace !== undefined && (
        <Suspense fallback={null}>
          <Trace agent={agent} instance={instance} submission={trace} looked={looked} onLook={(next) => go({ trace, ...looked, ...next }, true)} onTurn={(to) => go({ trace: to }, true)} onClose={() => go({}, true)} />
        </Suspense>
      )}
    </>
  );
}

/** Whom leads to a new conversation with another agent. */
const Whom = memo(function Whom({ agent }: { agent: string }): ReactNode {
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
});

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
  const { why } = useMay("manage");
  const toast = useToast();
  const put = useCopy();
  const copyAddress = async (): Promise<void> => {
    if (await put(location.href)) toast({ tone: "ok", text: "Copied." });
  };
  const copyAll = async (): Promise<void> => {
    const text = new Turns().of(messages.messages, messages.settlements).map((turn) => [askedOf(turn) && `**You:** ${askedOf(turn)}`, proseOf(turn)].filter(Boolean).join("\n\n")).join("\n\n---\n\n");
    if (await put(text)) toast({ tone: "ok", text: "Copied as Markdown." });
  };
  const none = messages.messages.length === 0 ? "Nothing was said yet." : undefined;
  const items: MenuItem[] = [
    { label: "Copy as Markdown", icon: "copy", why: none, onSelect: () => void copyAll() },
    { label: "Copy the address", icon: "file", onSelect: () => void copyAddress() },
  ];
  const danger: MenuItem[] = [{ label: "Erase this conversation", icon: "trash", danger: true, why: none ?? why, onSelect: () => setErasing(true) }];
  return (
    <>
      <Menu label="More" bare title="More" className="btn ghost icon" button={<Icon name="more" />} groups={[{ items }, { items: danger }]} />
      {erasing && <EraseConversation agent={agent} instance={instance} title={title} onErased={onGone} onClose={() => setErasing(false)} />}
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

/** firstWords name a conversation that the list does not have yet. */
function firstWords(messages: ReturnType<typeof useAgent>["messages"]): string | undefined {
  const first = messages.find((message) => message.role === "user");
  const text = first?.parts.find((part) => part.type === "text");
  return text && "text" in text ? text.text.split("\n")[0]?.slice(0, 80) || undefined : undefined;
}
