import { memo, useEffect, useLayoutEffect, useRef, useState, type ReactNode } from "react";
import { Link } from "@tanstack/react-router";
import type { Agent, AgentMessage } from "@svc/react";
import type { Part, Settlement, ToolPart } from "@svc/sdk";
import { lasting } from "../kit/amount";
import { Icon } from "../kit/Icon";
import { JsonView } from "../kit/JsonView";
import { say } from "../kit/say";
import { useRead } from "../server/read";
import { usePath } from "../shell/where";
import type { AgentFacts } from "./agent";

/** Whoever is so near to the end follows what comes. */
const near = 24;

/** Transcript is what was said in a try, by which version. */
export function Transcript({ agent, talk }: { agent: AgentFacts; talk: Agent }): ReactNode {
  const box = useRef<HTMLDivElement>(null);
  const following = useRef(true);
  const models = useRead("/api/workspaces/{username}/{business}/models");
  const path = usePath();
  const scripted = (agent.model || (models.data?.default ?? "")).startsWith("scripted/");
  const busy = talk.status === "submitted" || talk.status === "streaming";
  const rows = talk.messages.filter((message) => message.display === "visible" && (message.role === "user" || message.parts.length > 0));
  useLayoutEffect(() => {
    if (box.current && following.current) box.current.scrollTop = box.current.scrollHeight;
  });
  useSpoken(talk.status);
  const scrolled = (): void => {
    const { scrollTop = 0, scrollHeight = 0, clientHeight = 0 } = box.current ?? {};
    following.current = scrollHeight - clientHeight - scrollTop <= near;
  };
  return (
    <div ref={box} className="scroll" onScroll={scrolled} tabIndex={0} role="log" aria-live="off" aria-label={`Conversation with ${agent.name}`}>
      <div className="turns">
        <div className="note">v{agent.version} answers until you save</div>
        {scripted && <p className="scripted">Answers come from the built-in scripted model. <Link className="link" to={path("settings/models")}>Add a model key</Link></p>}
        {rows.map((message) => <Row key={message.key} message={message} agent={agent.name} onRetry={talk.retry} onDiscard={talk.discard} />)}
        {talk.settlements.map((each) => <Ended key={each.submissionId} settlement={each} last={each.submissionId === rows.at(-1)?.submissionId} />)}
        {busy && talk.status === "submitted" && <div className="fold" role="status"><span className="spin" /> Working</div>}
      </div>
    </div>
  );
}

/** useSpoken tells those who do not see the page when a reply begins and ends. */
function useSpoken(status: Agent["status"]): void {
  const before = useRef(status);
  useEffect(() => {
    if (status === "streaming" && before.current !== "streaming") say("Replying");
    if (status === "idle" && before.current === "streaming") say("Reply complete");
    before.current = status;
  }, [status]);
}

interface RowProps {
  message: AgentMessage;
  agent: string;
  onRetry: Agent["retry"];
  onDiscard: Agent["discard"];
}

const Row = memo(function Row({ message, agent, onRetry, onDiscard }: RowProps): ReactNode {
  if (message.role === "user") return <Asked message={message} onRetry={onRetry} onDiscard={onDiscard} />;
  const { agentVersion, model } = message.metadata;
  return (
    <article className="it" aria-label={agent}>
      {message.parts.map((part, i) => <Piece key={i} part={part} />)}
      <p className="foot num">
        {[agentVersion && `v${agentVersion}`, model && (model.provider === "scripted" ? "scripted" : model.id)].filter(Boolean).join(" · ")}
      </p>
    </article>
  );
});

function Asked({ message, onRetry, onDiscard }: Omit<RowProps, "agent">): ReactNode {
  const { pending } = message;
  const rests = pending && ["refused", "unknown", "stopped"].includes(pending.state);
  return (
    <>
      <div className="me">{message.parts.map((part) => (part.type === "text" ? part.text : "")).join("")}</div>
      {pending && (
        <p className={rests ? "sent bad" : "sent"}>
          {told[pending.state]} {pending.error?.message}
          {rests && (
            <>
              <button type="button" className="link bare" onClick={() => void onRetry(pending.key)}>Send again</button>
              <button type="button" className="link bare" onClick={() => onDiscard(pending.key)}>Drop it</button>
            </>
          )}
        </p>
      )}
    </>
  );
}

const told = { sending: "Sending", waiting: "Waiting", refused: "Not sent.", unknown: "We could not tell whether this arrived.", stopped: "Not sent: it was stopped." };

function Piece({ part }: { part: Part }): ReactNode {
  if (part.type === "dynamic-tool") return <Used part={part} />;
  if (part.type === "file") return null;
  if (part.type === "reasoning") return <Thought text={part.text} streaming={part.state === "streaming"} />;
  return <div className="md said">{part.text}{part.state === "streaming" && <span className="caret" />}</div>;
}

function Thought({ text, streaming }: { text: string; streaming: boolean }): ReactNode {
  return (
    <details className="thought">
      <summary className="fold"><Icon name="think" small /> {streaming ? "Thinking…" : "Thought"} <Icon name="rightc" small /></summary>
      <p className="dim">{text}</p>
    </details>
  );
}

/** Used is a tool that was called: what it was asked and what it said are read when it is opened. */
function Used({ part }: { part: ToolPart }): ReactNode {
  const failed = part.state === "output-error";
  const [open, setOpen] = useState(failed);
  return (
    <div className="tools">
      <button type="button" className="tool" aria-expanded={open} onClick={() => setOpen(!open)}>
        {part.state === "input-available" ? <span className="spin" /> : <Icon name={failed ? "warn" : "check"} small className={failed ? "bad" : "ok"} />}
        <span className="name mono">{part.toolName}</span>
        <time>{part.durationMs === undefined ? "" : lasting(part.durationMs)}</time>
      </button>
      {open && (
        <div className="io one">
          <div><h4>Asked</h4><JsonView value={part.input} label="What the tool was asked" /></div>
          {part.state !== "input-available" && <div><h4>{failed ? "Failed" : "Said"}</h4><JsonView value={failed ? part.errorText : part.output} label="What the tool said" /></div>}
        </div>
      )}
    </div>
  );
}

/** Ended says how work ended that did not end well. Of what is past only the last is said. */
function Ended({ settlement, last }: { settlement: Settlement; last: boolean }): ReactNode {
  if (!last || settlement.outcome === "completed") return null;
  if (settlement.outcome === "aborted") return <div className="note">Stopped</div>;
  return (
    <div className="failed" role="alert">
      <Icon name="warn" />
      <p><b>{settlement.error?.message ?? "It failed."}</b> {settlement.error?.details}</p>
    </div>
  );
}
