import type { ReactNode } from "react";
import { Link } from "@tanstack/react-router";
import { Button } from "../kit/Button";
import { count, lasting } from "../kit/amount";
import { CopyButton } from "../kit/CodeSample";
import { Sheet } from "../kit/Dialog";
import { JsonView } from "../kit/JsonView";
import { StatusTag, type Status } from "../kit/StatusTag";
import { useNow } from "../kit/Time";
import { usePath } from "../shell/where";
import { useNarrow } from "./narrow";
import { begunAt, isUnsure, workOf, type Cause, type Span, type State } from "./span";
import { inkOf } from "./SpanRow";
import type { Folded } from "./fold";
import type { Told } from "./useRunEvents";

export interface InspectorProps {
  span: Span;
  told: Told<Folded>;
  now: () => number;
  onClose: () => void;
  onChoose: (span: Span) => void;
}

const words: Record<State, { status: Status; word: string }> = {
  open: { status: "running", word: "Running" },
  done: { status: "completed", word: "Done" },
  failed: { status: "failed", word: "Failed" },
  interrupted: { status: "stopped", word: "Interrupted" },
  kept: { status: "completed", word: "Kept" },
};

/** Inspector is all that is known of one span. On a phone it is a sheet. */
export function Inspector(props: InspectorProps): ReactNode {
  const { span, onClose } = props;
  const narrow = useNarrow();
  if (narrow) return <Sheet title={span.name} onClose={onClose}><div className="insp sheet-insp"><About {...props} /></div></Sheet>;
  return (
    <aside className="insp" aria-label="Selected span">
      <section className="insp-head">
        <span className="kd" style={inkOf(span)} />
        <b className="grow trunc">{span.name}</b>
        <StatusTag {...words[span.state]} />
        <Button small look="ghost" icon="x" label="Close the inspector" onClick={onClose} />
      </section>
      <About {...props} />
    </aside>
  );
}

function About({ span, now, onChoose }: InspectorProps): ReactNode {
  return (
    <>
      {span.cause && span.state === "failed" && <Why cause={span.cause} next={span.kind === "turn" ? <ModelSettings /> : undefined} />}
      {span.state === "failed" && !span.cause && <section className="insp-bad"><h3 className="bad">It failed</h3><p>Its events do not say why. The log around it may.</p></section>}
      {span.state === "interrupted" && <section className="insp-warn"><h3 className="warn">Interrupted</h3><p>{span.kind === "tool" ? "The server stopped while it ran. Its result is unknown, and it was not repeated." : "The server stopped, or the run ended, before it was over."}</p></section>}
      <section><Figures span={span} now={now} onChoose={onChoose} /></section>
      {span.input !== undefined && <Value title={span.kind === "tool" ? "Input" : "Asked"} value={span.input} />}
      {span.output !== undefined && <Value title={span.kind === "tool" ? "What the model saw" : span.kind === "turn" ? "Said" : "Result"} value={span.output} />}
    </>
  );
}

/** Why is a failure, first of all, and what to do about it. */
function Why({ cause, next }: { cause: Cause; next?: ReactNode }): ReactNode {
  const named = cause.name !== "Error" && cause.name !== "Failed";
  return (
    <section className="insp-bad">
      <h3 className="bad">{named ? cause.name : "It failed"}</h3>
      <p>{cause.message}</p>
      <div className="row">
        {next}
        <CopyButton text={named ? `${cause.name}: ${cause.message}` : cause.message} label="Copy error">Copy error</CopyButton>
      </div>
    </section>
  );
}

/** ModelSettings leads to where a model and its key are set: most turns that fail, fail for want of them. */
function ModelSettings(): ReactNode {
  const path = usePath();
  return <Link className="btn" to={path("settings/models") as string}>Open model settings</Link>;
}

/** RunCause stands in the place of the inspector where the run failed, and none of its spans did. */
export function RunCause({ cause }: { cause: Cause }): ReactNode {
  return (
    <aside className="insp" aria-label="Why the run failed">
      <section className="insp-head"><b className="grow">The run failed</b></section>
      <Why cause={cause} />
      <section><p className="dim t13">No step, turn or tool failed: the workflow itself returned this.</p></section>
    </aside>
  );
}

function Figures({ span, now, onChoose }: Pick<InspectorProps, "span" | "now" | "onChoose">): ReactNode {
  const { facts } = span;
  const nowline = <Live span={span} now={now} />;
  const rows: [string, ReactNode][] = [
    ["Started", <span className="num">+{lasting(begunAt(span))}</span>],
    ["Took", nowline],
    ["First text", span.firstText !== undefined && <span className="num">after {lasting(Math.max(0, span.firstText - begunAt(span)))}</span>],
    ["Attempts", span.bars.length > 1 && <Attempts span={span} />],
    ["Kept", span.kept.length > 0 && <span>{span.kept.length === 1 ? "once" : `${span.kept.length} times`}, not done again</span>],
    ["Model", facts.model && <span className="mono">{facts.model}</span>],
    ["Tokens", facts.tokens !== undefined && <span className="num">{count(facts.tokens)}</span>],
    ["Cost", facts.cost ? <span className="num">${facts.cost.toFixed(4)}</span> : undefined],
    ["Ended by", facts.finishReason],
    ["Parent", span.parent && <Jump span={span.parent} onChoose={onChoose} />],
    ["Asked by", facts.askedBy && <Jump span={facts.askedBy} onChoose={onChoose} />],
    ["Call", facts.toolCallId && <span className="mono trunc">{facts.toolCallId}</span>],
  ];
  return (
    <dl className="kv">
      {rows.map(([name, value]) => value && (
        <div key={name} style={{ display: "contents" }}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Live({ span, now }: Pick<InspectorProps, "span" | "now">): ReactNode {
  if (isUnsure(span)) return <span className="faint">not recorded</span>;
  return span.state === "open" ? <Ticking span={span} now={now} /> : <span className="num">{lasting(workOf(span, now()))}</span>;
}

function Ticking({ span, now }: Pick<InspectorProps, "span" | "now">): ReactNode {
  useNow(100);
  return <span className="num live">{lasting(workOf(span, now()))}</span>;
}

function Attempts({ span }: { span: Span }): ReactNode {
  return (
    <ol className="attempts">
      {span.bars.map((bar, i) => (
        <li key={bar.from} className={bar.state === "failed" ? "bad" : bar.state === "interrupted" ? "warn" : ""}>
          <span className="num">{bar.attempt ?? i + 1}</span> {bar.state === "open" ? "running" : bar.state === "done" ? "finished" : bar.state}{bar.to !== undefined && <span className="num"> · {lasting(bar.to - bar.from)}</span>}
        </li>
      ))}
    </ol>
  );
}

function Jump({ span, onChoose }: { span: Span; onChoose: (span: Span) => void }): ReactNode {
  return <button type="button" className="link bare" onClick={() => onChoose(span)}>{span.name}</button>;
}

function Value({ title, value }: { title: string; value: unknown }): ReactNode {
  return (
    <section>
      <h3>{title}</h3>
      <JsonView value={value} label={title} />
    </section>
  );
}
