import { Suspense, useCallback, useEffect, useMemo, useRef, useState, type DragEvent, type ReactNode } from "react";
import { useAgent, type Agent } from "@svc/react";
import { SvcError } from "@svc/sdk";
import { Empty } from "../kit/Empty";
import { Refusal } from "../kit/Refusal";
import { useToast } from "../kit/Toast";
import { part } from "../server/part";
import { useProven } from "../server/reauth";
import { namesOf, useWorkspace } from "../server/workspace";
import { useFailed, useStop } from "./acts";
import { useAnnounced } from "./announce";
import { Composer, type ComposerHandle } from "./Composer";
import { ConnectionBar } from "./ConnectionBar";
import { useDoor } from "./door";
import { useDraft, type Draft } from "./draft";
import { Find } from "./Find";
import { filesIn, type Chosen } from "./images";
import { useChatKeys } from "./keys";
import { usePlace } from "./place";
import { Queue } from "./Queue";
import { standingOf } from "./standing";
import { useLasting } from "./ticking";
import type { TranscriptHandle } from "./Transcript";
import { picturesOf, textOf, Turns, type Turn } from "./turns";
import type { TurnActs } from "./TurnView";
import { useUnsent } from "./unsent";
import type { Fill } from "./Welcome";
import "../look/chat.css";

/** What draws turns comes when there are some, and in a new conversation when one can write. */
const Thread = part(() => import("./Thread").then((of) => of.Thread));

/** loadThread has it come before it is needed. What fails here fails again where it is shown. */
export function loadThread(): void {
  Thread.load().catch(() => {});
}

export interface ConversationProps {
  agent: string;
  instance: string;
  /** Nobody has written in it yet: it was made here. */
  fresh?: boolean;
  /** What stands where nothing was said yet. It is given a way to fill in what one writes. */
  empty?: (fill: Fill, text: string) => ReactNode;
  /** Why nobody can write in it now. */
  closed?: string | undefined;
  /** It stands beside other things of its page: its keys are heard within it alone. */
  part?: boolean;
  /** What stands above its first message. */
  above?: ReactNode;
  /** What an empty composer says. */
  placeholder?: string;
  /** Whom one writes to, at the left of the composer. */
  beside?: ReactNode;
  note?: ReactNode;
  /** Something was sent in it. */
  onBegin?: () => void;
}

/** Conversation is a talk with an agent: its transcript, and where one writes. It is all that a page needs of a chat. */
export function Conversation({ agent: name, instance, fresh = false, empty, closed, part = false, above, placeholder = "Ask anything", beside, note, onBegin }: ConversationProps): ReactNode {
  const workspace = useWorkspace();
  const place = `${namesOf(workspace)}/${name}`;
  const agent = useUnsent(useAgent(name, instance, { fresh }), `${place}/${instance}`);
  const [turnsOf] = useState(() => new Turns());
  const turns = turnsOf.of(agent.messages, agent.settlements);
  const { rows, queue, running, unsure, busy } = standingOf(agent, turns);
  const draft = useDraft(`${place}/${fresh ? "new" : instance}`);
  const made = useMade(fresh, agent.messages.length > agent.pending.length, agent.pending.length > 0 || draft.text !== "");
  const { may, shut } = useDoor(agent, closed);
  const composer = useRef<ComposerHandle>(null);
  const transcript = useRef<TranscriptHandle>(null);
  const thread = useRef<HTMLDivElement>(null);
  const [finding, setFinding] = useState(false);
  const [sent, setSent] = useState(0);
  const read = usePlace(({ pathname }) => pathname);

  useEffect(loadThread, []);
  useProof(agent);
  useLook(agent);
  useReady(fresh && !part && may, composer);
  useAnnounced(turns.at(-1), (running ?? unsure) !== undefined);
  const { fill, edit, suggested } = useEditing(draft, composer);
  const acts = useTurnActs(agent, edit, composer);
  const stop = useStop(agent);

  const send = (words: string, images: readonly Chosen[]): void => {
    const attachments = images.map((image) => image.attachment);
    void agent.send({ kind: "user", body: words, ...(attachments.length > 0 && { attachments }) });
    draft.set("");
    setSent(sent + 1);
    onBegin?.();
    transcript.current?.latest();
  };
  useChatKeys({ thread, part, transcript, rows, busy: busy && may, onStop: stop, onFind: () => setFinding(true) });

  const keys = useSteady(rows.map((turn) => turn.key));
  const unread = agent.status === "loading" && rows.length === 0;
  const loading = useLasting(unread, 150);
  const refused = agent.phase === "error" && rows.length === 0 && agent.error instanceof SvcError && agent.error.status !== 401 ? agent.error : undefined;
  if (refused) return <Refusal error={refused} onRetry={agent.refresh} />;
  const blank = rows.length === 0 && queue.length === 0;
  // An address that was never written to, or was erased, begins nothing: new conversations are made by this application.
  if (blank && !made && agent.phase === "absent") return <Empty icon="search" title="Not here, or not yours." />;
  return (
    <Droppable thread={thread} open={may} busy={unread && agent.error === undefined} onDrop={(files) => composer.current?.take(files)}>
      {finding && transcript.current && <Find turns={rows} transcript={transcript.current} onClose={() => {
        setFinding(false);
        composer.current?.focus();
      }} />}
      {blank && empty && agent.phase !== "loading" ? (
        <div className="scroll begin" tabIndex={0} role="group" aria-label="To begin with">{empty(fill, draft.text)}</div>
      ) : (
        <Suspense fallback={<div className="scroll" aria-busy="true"><Skeleton /></div>}>
          <Thread ref={transcript} label={`Conversation with ${name}`} agent={name} rows={rows} keys={keys} running={running} unsure={unsure} acts={acts} why={shut} reserved={sent > 0 ? lastSent(rows) : undefined} begins={read.at} onLeave={read.keep}>
            {above}
            {loading && <Skeleton />}
          </Thread>
        </Suspense>
      )}
      <div className="dock">
        <div>
          <ConnectionBar agent={agent} />
          {may && (
            <>
              <Queue queue={queue} agent={agent} running={running?.submissionId} onEdit={edit} onLeave={() => composer.current?.focus()} />
              <Composer ref={composer} text={draft.text} suggested={suggested} onText={draft.set} onSend={send} onStop={stop} busy={busy} placeholder={busy ? "Add to the queue…" : placeholder} beside={beside} note={note} />
              <p className="hint">Enter sends · Shift Enter for a new line · Esc stops</p>
            </>
          )}
          {shut && <p className="closed-dock">{shut}</p>}
        </div>
      </div>
    </Droppable>
  );
}

/** useEditing brings texts back to where they are written. What one has typed meanwhile stays before them. */
function useEditing(draft: Draft, composer: React.RefObject<ComposerHandle | null>): { fill: Fill; edit: TurnActs["edit"]; suggested: string | undefined } {
  const toast = useToast();
  const held = useRef(draft);
  held.current = draft;
  const [suggested, setSuggested] = useState<string>();
  const fill = useCallback<Fill>((text, only = false) => {
    setSuggested(only ? text : undefined);
    held.current.set(text);
    composer.current?.focus();
  }, [composer]);
  const edit = useCallback<TurnActs["edit"]>((message) => {
    fill([held.current.text.trim(), textOf(message)].filter(Boolean).join("\n\n"));
    // An image that was not kept over a reload has no bytes.
    const images = picturesOf(message);
    composer.current?.take(images.filter(({ size }) => size > 0));
    if (images.some(({ size }) => size === 0)) toast({ text: "Its images were not kept. Attach them again." });
  }, [fill, composer, toast]);
  return { fill, edit, suggested };
}

/** useTurnActs are the acts of turns, the same for the life of the conversation. What vanishes when it is pressed leaves the focus where one writes. */
function useTurnActs({ retry, discard, refresh, pending }: Agent, edit: TurnActs["edit"], composer: React.RefObject<ComposerHandle | null>): TurnActs {
  const held = useRef(pending);
  held.current = pending;
  const failed = useFailed();
  return useMemo(() => {
    const leave = (key: string): void => {
      if (held.current.some((each) => each.key === key)) composer.current?.focus();
    };
    return {
      refresh,
      edit,
      retry: (key) => {
        leave(key);
        return retry(key).catch((thrown: unknown) => {
          failed(thrown);
          return false;
        });
      },
      discard: (key) => {
        leave(key);
        discard(key);
      },
    };
  }, [retry, discard, refresh, edit, composer, failed]);
}

/**
 * useMade reports whether an absent conversation begins here: it was made here, or this tab has something unsent in it. One that was there
 * and is gone begins nothing.
 */
function useMade(fresh: boolean, there: boolean, unsent: boolean): boolean {
  const made = useRef<boolean | undefined>(fresh || undefined);
  if (there) made.current = false;
  else if (unsent) made.current ??= true;
  return made.current ?? false;
}

interface DroppableProps {
  thread: React.RefObject<HTMLDivElement | null>;
  /** Whether one may write, and so attach. */
  open: boolean;
  /** Whether there is more to come before there is anything to read. */
  busy: boolean;
  onDrop: (files: readonly File[]) => void;
  children: ReactNode;
}

/** Droppable takes files that are dropped on it. Otherwise the browser would leave the page and show them. */
function Droppable({ thread, open, busy, onDrop, children }: DroppableProps): ReactNode {
  const [dropping, setDropping] = useState(false);
  const drop = (event: DragEvent): void => {
    setDropping(false);
    const files = filesIn(event.dataTransfer);
    if (files.length === 0) return;
    event.preventDefault();
    if (open) onDrop(files);
  };
  const over = (event: DragEvent): void => {
    if (!event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    setDropping(open);
  };
  return (
    <div ref={thread} className={dropping ? "talk dropping" : "talk"} aria-busy={busy} onDragOver={over} onDragLeave={(event) => event.currentTarget === event.target && setDropping(false)} onDrop={drop}>
      {children}
    </div>
  );
}

/** useProof goes on when the person has signed in again: the transcript and the draft stay. */
function useProof({ error, phase, refresh, pending, retry }: Agent): void {
  const unsent = pending.find((each) => each.state === "refused" && each.error?.status === 401);
  useProven(unsent?.error ?? (phase === "error" ? error : undefined), () => {
    refresh();
    if (unsent) void retry(unsent.key);
  });
}

/** useLook reads the conversation when nobody knows whether something arrived: what is there was sent, and is not sent again. */
function useLook({ pending, refresh }: Agent): void {
  const unknown = pending.filter(({ state }) => state === "unknown").map(({ key }) => key).join();
  useEffect(() => {
    if (unknown !== "") refresh();
  }, [unknown, refresh]);
}

/** useReady has a new conversation begin where one writes. On a phone that would cover half of it with a keyboard. */
function useReady(begins: boolean, composer: React.RefObject<ComposerHandle | null>): void {
  useEffect(() => {
    if (begins && matchMedia("(pointer: fine)").matches && !document.querySelector("dialog[open]")) composer.current?.focus();
  }, [begins, composer]);
}

/** lastSent is the row that has the rest of the view for itself: the last, where it was asked here and an answer is to come. */
function lastSent(rows: readonly Turn[]): string | undefined {
  const last = rows.at(-1);
  const state = last?.input?.pending?.state;
  const rests = state !== undefined && state !== "sending" && state !== "waiting";
  return last?.key.startsWith("new-") && !rests ? last.key : undefined;
}

/** useSteady is the list that was there before where nothing in it has changed. */
function useSteady(list: readonly string[]): readonly string[] {
  const before = useRef(list);
  if (before.current.length !== list.length || before.current.some((each, i) => each !== list[i])) before.current = list;
  return before.current;
}

function Skeleton(): ReactNode {
  return (
    <div className="loading-turns" role="status" aria-label="Loading the conversation">
      <i className="ghost-line ask" />
      <i className="ghost-line" />
      <i className="ghost-line short" />
    </div>
  );
}
