import { memo, useId, useState, type ReactNode } from "react";
import { Link } from "@tanstack/react-router";
import type { ToolPart } from "@svc/sdk";
import { lasting } from "../kit/amount";
import { Icon } from "../kit/Icon";
import { JsonView } from "../kit/JsonView";
import { Clipped } from "../markdown/Clipped";
import { plain } from "../markdown/plain";
import { usePath } from "../shell/where";
import { begunAt, sawBegin } from "./measured";
import { useTicking } from "./ticking";
import { argumentOf, linkOf, summaryOf, toolName, toolState, type ToolState } from "./tool";

/** So many calls are rows; more are folded. */
const rows = 3;

/** Tools are calls that stand together. */
export const Tools = memo(function Tools({ id, calls, running }: { id: string; calls: readonly ToolPart[]; running: boolean }): ReactNode {
  const [open, setOpen] = useState(false);
  const list = useId();
  const all = calls.map((call) => <ToolCard key={call.toolCallId} batch={id} call={call} running={running} />);
  if (calls.length <= rows) return <div className="tools">{all}</div>;
  const sum = summaryOf(calls, running);
  return (
    <div className="tools">
      <button type="button" className="tool" aria-expanded={open} aria-controls={list} onClick={() => setOpen(!open)}>
        {sum.running > 0 ? <span className="spin" /> : <Icon name={sum.failed > 0 ? "warn" : "check"} small className={sum.failed > 0 ? "bad" : "ok"} />}
        <span className="name">{sum.running > 0 ? `Running ${sum.count} tools` : `Ran ${sum.count} tools`}</span>
        <span className="dim trunc">{sum.failed > 0 && `${sum.failed} failed`}</span>
        <time>{sum.ms > 0 && lasting(sum.ms)}</time>
        <Icon name={open ? "down" : "rightc"} small className="faint" />
      </button>
      <div id={list}>{open && all}</div>
    </div>
  );
});

const words: Record<ToolState, string> = { running: "running", done: "done", failed: "failed", interrupted: "interrupted, result unknown, not repeated", lost: "no result" };

/** ToolCard is a call: what was asked, and what came of it. One that failed opens itself. */
const ToolCard = memo(function ToolCard({ batch, call, running }: { batch: string; call: ToolPart; running: boolean }): ReactNode {
  const state = toolState(call, running);
  const broken = state === "failed" || state === "interrupted";
  const [chosen, setOpen] = useState<boolean>();
  const open = chosen ?? broken;
  const body = useId();
  const name = plain(toolName(call.toolName));
  return (
    <>
      <button type="button" className="tool" aria-expanded={open} aria-controls={body} onClick={() => setOpen(!open)}>
        <Sign state={state} />
        <span className="name">{name}</span>
        <span className="dim trunc">{state === "interrupted" ? "Result unknown, not repeated" : plain(argumentOf(call.input))}</span>
        <span className="sr">, {words[state]}</span>
        <Took batch={batch} call={call} state={state} />
        <Icon name={open ? "down" : "rightc"} small className="faint" />
      </button>
      {open && <Body id={body} call={call} state={state} />}
    </>
  );
});

function Sign({ state }: { state: ToolState }): ReactNode {
  if (state === "running") return <span className="spin" />;
  if (state === "done") return <Icon name="check" small className="ok" />;
  return <Icon name="warn" small className={state === "failed" ? "bad" : "warn"} />;
}

/** Took is how long a call took. Calls that stand together end together, so they tick together from when they were first seen. */
function Took({ batch, call, state }: { batch: string; call: ToolPart; state: ToolState }): ReactNode {
  if (state === "running") sawBegin(batch, undefined);
  const now = useTicking(state === "running");
  if (state === "running") return <time>{Math.max(0, Math.round((now - (begunAt(batch) ?? now)) / 1_000))} s</time>;
  return <time>{call.durationMs !== undefined && lasting(call.durationMs)}</time>;
}

function Body({ id, call, state }: { id: string; call: ToolPart; state: ToolState }): ReactNode {
  const path = usePath();
  const link = linkOf(call);
  return (
    <div id={id}>
      {state === "failed" && <p className="tool-error"><Clipped text={plain(call.errorText || "The tool failed without a word.")} /></p>}
      {state === "interrupted" && <p className="tool-error warn">The server stopped while this ran. It may have had its effect, so it was not repeated; the model was told.</p>}
      <div className={state === "done" ? "io" : "io one"}>
        <div>
          <h4>Input</h4>
          <JsonView value={call.input} label="Input" />
        </div>
        {state === "done" && (
          <div>
            <h4>Output</h4>
            <JsonView value={call.output} label="Output" />
          </div>
        )}
      </div>
      {link && (
        <p className="tool-link">
          <Link to={path(link.page)} className="link">{link.label}</Link>
        </p>
      )}
    </div>
  );
}
