import type { ReactNode } from "react";
import type { AgentMessage, Pending } from "@svc/react";
import { Button } from "../kit/Button";
import { useOnline } from "../kit/online";
import { sentenceOf } from "../kit/Refusal";
import { lacksImages } from "./sendings";
import type { TurnActs } from "./TurnView";

/** PendingNote says how a message stands that the conversation does not have yet, and what can be done about it. */
export function PendingNote({ message, pending, acts }: { message: AgentMessage; pending: Pending; acts: TurnActs }): ReactNode {
  const { key, state, error } = pending;
  const online = useOnline();
  const edit = (): void => {
    acts.discard(key);
    acts.edit(message);
  };
  const lacks = lacksImages(pending.message);
  const lost = lacks && <span>Its images were not kept. Attach them again.</span>;
  // Without its images it is another prompt, which its key cannot send.
  const again = (act: string): ReactNode => !lacks && <Button small onClick={() => void acts.retry(key)}>{act}</Button>;
  const change = <Button small onClick={edit}>Edit</Button>;
  const drop = <Button small look="ghost" onClick={() => acts.discard(key)}>Discard</Button>;
  switch (state) {
    case "sending":
      return <p className="standing">Sending</p>;
    case "waiting":
      return <p className="standing">{waitsFor(pending.submission?.reason)}</p>;
    case "stopped":
      return (
        <p className="standing">
          <span>Not sent</span> {lost} {again("Send")} {change} {drop}
        </p>
      );
    case "unknown":
      if (!online) {
        return (
          <p className="standing bad" role="alert">
            <span>You are offline, and this was not answered.</span> {lost} {again("Retry")} {lacks && change} {drop}
          </p>
        );
      }
      return (
        <p className="standing warn" role="alert">
          <span>We could not tell whether this arrived.</span> {lost} <Button small onClick={acts.refresh}>Check</Button> {again("Send")} {lacks && change} {drop}
        </p>
      );
    case "refused":
      return (
        <p className="standing bad" role="alert">
          <span>{refusalOf(error?.status, error && sentenceOf(error))}</span> {lost} {again("Retry")} {change} {drop}
        </p>
      );
  }
}

/** Why work waits, in words. */
const waits: Readonly<Record<string, string>> = {
  model_backoff: "Waiting: the model asked for a pause",
  waiting_for_child: "Waiting for another agent",
  limit_reached: "Waiting: as much runs as may",
  definition_missing: "Waiting: its agent is not here",
  not_registered: "Waiting: its agent is not here",
  memory: "Waiting for memory",
};

function waitsFor(reason: string | undefined): string {
  return reason === undefined ? "Waiting" : (waits[reason] ?? `Waiting: ${reason}`);
}

function refusalOf(status: number | undefined, sentence: string | undefined): string {
  if (status === 503) return "The server is restarting, your prompt is kept.";
  if (status === 401) return "Your session has ended. Sign in, then it is sent.";
  return sentence ?? "This was not sent.";
}
