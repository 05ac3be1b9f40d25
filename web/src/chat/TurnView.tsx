import { memo, type ReactNode } from "react";
import type { Agent, AgentMessage } from "@svc/react";
import { Icon } from "../kit/Icon";
import { Clipped } from "../markdown/Clipped";
import { Markdown } from "../markdown/Markdown";
import { plain } from "../markdown/plain";
import { ImageTile } from "./ImageTile";
import { longest, usePaced } from "./pace";
import { PendingNote } from "./PendingNote";
import { Reasoning } from "./Reasoning";
import { Settled } from "./Settled";
import { SignalNote } from "./SignalNote";
import { useSettled } from "./ticking";
import { Tools } from "./Tools";
import { askedOf, picturesOf, piecesOf, type Piece, type Turn } from "./turns";
import { Working } from "./Working";

export interface TurnViewProps {
  turn: Turn;
  agent: string;
  running: boolean;
  /** Whether it runs cannot be known now. */
  unsure: boolean;
  /** "3 of 41". */
  place: string;
  /** Undefined: it is only read, and nothing can be asked again. */
  acts: TurnActs | undefined;
  /** Why nobody may write here. */
  why: string | undefined;
}

/** TurnActs are what can be done with a turn; they stay the same. */
export interface TurnActs {
  readonly retry: Agent["retry"];
  readonly discard: Agent["discard"];
  readonly refresh: Agent["refresh"];
  /** Brings a question back to where it is written. */
  readonly edit: (message: AgentMessage) => void;
}

/** TurnView is a question and what came of it. */
export const TurnView = memo(function TurnView({ turn, agent, running, unsure, place, acts, why }: TurnViewProps): ReactNode {
  const { input, replies } = turn;
  const pieces = piecesOf(replies);
  // The last words are still being shown when a reply is complete: what stands below waits for them.
  const ending = useSettled(running, longest + 50) && !running;
  const at = timeOf(replies[0]?.metadata.timestamp ?? input?.metadata.timestamp);
  return (
    <>
      {input?.role === "user" && <Question turn={turn} onEdit={!acts || input.pending || why ? undefined : () => acts.edit(input)} />}
      {input && input.role !== "user" && <SignalNote message={input} />}
      {acts && input?.pending && <PendingNote message={input} pending={input.pending} acts={acts} />}
      {(pieces.length > 0 || running || unsure || turn.settlement) && (
        <article className="it" aria-label={[agent, at, place].filter(Boolean).join(", ")} data-submission={turn.submissionId}>
          {pieces.map((piece, i) => (
            <PieceView key={piece.key} piece={piece} running={running} caret={running && i === pieces.length - 1} />
          ))}
          {running || ending || unsure ? <Working turn={turn} empty={pieces.length === 0} over={ending || unsure} /> : <Settled turn={turn} agent={agent} acts={acts} why={why} />}
        </article>
      )}
    </>
  );
});

function Question({ turn, onEdit }: { turn: Turn; onEdit: (() => void) | undefined }): ReactNode {
  const files = picturesOf(turn.input);
  const text = askedOf(turn);
  return (
    <div className="asked">
      {files.length > 0 && (
        <div className="images">
          {files.map((file) => (
            <ImageTile key={file.id} url={file.url} name={file.filename ?? "image"} />
          ))}
        </div>
      )}
      {text !== "" && <div className="me" data-question=""><Clipped text={plain(text)} /></div>}
      {onEdit && text !== "" && (
        <button type="button" className="edit-again" title="Edit and send as a new prompt" onClick={onEdit}>
          <Icon name="edit" small />
          <span className="sr">Edit and send as a new prompt</span>
        </button>
      )}
    </div>
  );
}

function PieceView({ piece, running, caret }: { piece: Piece; running: boolean; caret: boolean }): ReactNode {
  switch (piece.kind) {
    case "text":
      return <Prose text={piece.part.text} writing={piece.part.state === "streaming"} caret={caret} />;
    case "reasoning":
      return <Reasoning id={piece.key} part={piece.part} since={piece.message.metadata.timestamp} />;
    case "tools":
      return <Tools id={piece.key} calls={piece.calls} running={running} />;
    case "seam":
      return <div className="note seam">continued after a restart</div>;
    case "note":
      return <div className="note">{piece.text}</div>;
  }
}

/** Prose shows words at the pace of their coming. */
function Prose({ text, writing, caret }: { text: string; writing: boolean; caret: boolean }): ReactNode {
  const shown = usePaced(text);
  const going = writing || shown !== text;
  return (
    <div className={caret && going ? "prose writing" : "prose"}>
      <Markdown text={shown} writing={going} />
    </div>
  );
}

/** timeOf is the time of the day. */
export function timeOf(at: string | undefined): string {
  const moment = new Date(at ?? "");
  if (Number.isNaN(moment.getTime())) return "";
  const time = moment.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
  return moment.toDateString() === new Date().toDateString() ? time : `${moment.toLocaleDateString("en-GB", { weekday: "short", day: "numeric", month: "short" })} ${time}`;
}
