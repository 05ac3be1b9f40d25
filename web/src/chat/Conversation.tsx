import { useCallback, useEffect, useMemo, useRef, useState, type DragEvent, type ReactNode } from "react";
import { useAgent } from "@svc/react";
import { SvcError } from "@svc/sdk";
import { Refusal } from "../kit/Refusal";
import { say } from "../kit/say";
import { useToast } from "../kit/Toast";
import { useReauth } from "../server/reauth";
import { useMay } from "../server/role";
import { useWorkspace } from "../server/workspace";
import { useAnnounced } from "./announce";
import { Composer, type ComposerHandle } from "./Composer";
import { ConnectionBar } from "./ConnectionBar";
import { useDraft } from "./draft";
import { Find } from "./Find";
import { filesIn, type Chosen } from "./images";
import { useChatKeys } from "./keys";
import { Queue } from "./Queue";
import { standingOf } from "./standing";
import { useLasting } from "./ticking";
import { Transcript, type TranscriptHandle } from "./Transcript";
import { Turns, type Turn } from "./turns";
import { TurnView, type TurnActs } from "./TurnView";
import "../look/chat.css";

export interface ConversationProps {
  agent: string;
  instance: string;
  /** Nobody has written in it yet: it was made here. */
  fresh?: boolean;
  /** What stands where nothing was said yet. It is given a way to fill in what one writes. */
  empty?: (fill: (text: string) => void, text: string) => ReactNode;
  /** It is shown, and nobody writes in it here. */
  readOnly?: boolean;
  /** Whom one writes to, at the left of the composer. */
  beside?: ReactNode;
  note?: ReactNode;
  /** Something was sent in it. */
  onBegin?: () => void;
}

/** Conversation is a talk with an agent: its transcript, and where one writes. It is all that a page needs of a chat. */
export function Conversation({ agent: name, instance, fresh = false, empty, readOnly = false, beside, note, onBegin }: ConversationProps): ReactNode {
  const agent = useAgent(name, instance, { fresh });
  const [turnsOf] = useState(() => new Turns());
  const turns = turnsOf.of(agent.messages, agent.settlements);
  const { rows, queue, running, unsure, busy } = standingOf(agent, turns);
  const workspace = useWorkspace();
  const place = `${workspace?.username ?? ""}/${workspace?.business ?? ""}/${name}`;
  const [text, setText] = useDraft(`${place}/${fresh ? "new" : instance}`);
  const { may, why } = useMay("work");
  const toast = useToast();
  const composer = useRef<ComposerHandle>(null);
  const transcript = useRef<TranscriptHandle>(null);
  const thread = useRef<HTMLDivElement>(null);
  const [finding, setFinding] = useState(false);
  const [dropping, setDropping] = useState(false);
  const [sent, setSent] = useState(0);

  useProof(agent);
  useAnnounced(turns.at(-1), (running ?? unsure) !== undefined);

  const edit = useCallback((again: string) => {
    setText(again);
    composer.current?.focus();
  }, [setText]);
  const { retry, discard, refresh } = agent;
  const acts = useMemo<TurnActs>(() => ({ retry, discard, refresh, edit }), [retry, discard, refresh, edit]);

  const send = (words: string, images: readonly Chosen[]): void => {
    const attachments = images.map((image) => image.attachment);
    void agent.send({ kind: "user", body: words, ...(attachments.length > 0 && { attachments }) });
    setText("");
    setSent(sent + 1);
    onBegin?.();
    transcript.current?.latest();
  };
  const stop = async (): Promise<void> => {
    try {
      if (!(await agent.stop())) toast({ text: "Already finished." });
      else say("Stopping");
    } catch (thrown) {
      toast({ tone: "bad", text: thrown instanceof SvcError ? thrown.message : "This could not be stopped." });
    }
  };
  useChatKeys({ thread, transcript, rows, busy: busy && !readOnly && may, onStop: () => void stop(), onFind: () => setFinding(true) });

  const keys = useSteady(rows.map((turn) => turn.key));
  const row = (_: string, index: number): ReactNode => {
    const turn = rows[index];
    if (!turn) return null;
    return <TurnView turn={turn} agent={name} running={turn === running} unsure={turn === unsure} place={`${index + 1} of ${rows.length}`} acts={acts} why={readOnly ? "You read here." : why} />;
  };
  const loading = useLasting(agent.status === "loading" && rows.length === 0, 150);
  const refused = agent.phase === "error" && rows.length === 0 && agent.error instanceof SvcError && agent.error.status !== 401 ? agent.error : undefined;
  if (refused) return <Refusal error={refused} onRetry={agent.refresh} />;
  const blank = rows.length === 0 && queue.length === 0;
  const drop = (event: DragEvent): void => {
    const files = filesIn(event.dataTransfer);
    setDropping(false);
    if (files.length === 0) return;
    event.preventDefault();
    composer.current?.take(files);
  };
  return (
    <div
      ref={thread}
      className={dropping ? "talk dropping" : "talk"}
      onDragOver={(event) => {
        if (readOnly || !may || !event.dataTransfer.types.includes("Files")) return;
        event.preventDefault();
        setDropping(true);
      }}
      onDragLeave={(event) => event.currentTarget === event.target && setDropping(false)}
      onDrop={drop}
    >
      {finding && transcript.current && <Find turns={rows} transcript={transcript.current} onClose={() => setFinding(false)} />}
      {blank && empty && agent.phase !== "loading" ? (
        <div className="scroll begin" tabIndex={0} role="group" aria-label="To begin with">{empty(edit, text)}</div>
      ) : (
        <Transcript ref={transcript} label={`Conversation with ${name}`} keys={keys} row={row} reserved={sent > 0 ? lastSent(rows) : undefined}>
          {loading && <Skeleton />}
        </Transcript>
      )}
      <div className="dock">
        <div>
          <ConnectionBar agent={agent} />
          {!readOnly && may && (
            <>
              <Queue queue={queue} stop={agent.stop} running={running?.submissionId} onEdit={edit} why={why} />
              <Composer ref={composer} text={text} onText={setText} onSend={send} onStop={() => void stop()} busy={busy} placeholder={busy ? "Add to the queue…" : "Ask anything"} beside={beside} note={note} />
              <p className="hint">Enter sends · Shift Enter for a new line · Esc stops</p>
            </>
          )}
          {!readOnly && why && <p className="closed-dock">You can read here. Builders can write.</p>}
        </div>
      </div>
    </div>
  );
}

/** useProof asks who is here when a session has ended, and goes on after: the transcript and the draft stay. */
function useProof({ error, phase, refresh, pending, retry }: ReturnType<typeof useAgent>): void {
  const prove = useReauth();
  const unread = phase === "error" && error instanceof SvcError && error.status === 401 ? error : undefined;
  const unsent = pending.find((each) => each.state === "refused" && each.error?.status === 401);
  const refusal = unread ?? unsent?.error;
  const asked = useRef<unknown>(undefined);
  useEffect(() => {
    if (!refusal || asked.current) return;
    asked.current = refusal;
    void prove(refusal).then((proven) => {
      asked.current = undefined;
      if (!proven) return;
      refresh();
      if (unsent) void retry(unsent.key);
    });
  }, [refusal, prove, refresh, retry, unsent]);
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
