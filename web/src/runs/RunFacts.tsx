import type { ReactNode } from "react";
import { count, lasting } from "../kit/amount";
import { exact, useNow } from "../kit/Time";
import { serverNow } from "../server/clock";
import { failuresOf } from "./rows";
import type { RunRow } from "./run";
import type { Told } from "./useRunEvents";

const moment = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", second: "2-digit" });

/** RunFacts is a run in a line. What its events do not tell is left out. */
export function RunFacts({ run, told }: { run: RunRow; told: Told }): ReactNode {
  const { fold } = told;
  const failed = failuresOf(fold);
  const down = fold.bands.reduce((sum, band) => sum + band.to - band.from, 0);
  const started = new Date(run.startedAt);
  const steps = [...fold.spans.values()].filter((span) => span.kind === "step");
  return (
    <dl className="facts">
      <Fact name="Started"><span className="num" title={exact(started)}>{moment.format(started)}</span></Fact>
      <Fact name={run.status === "active" ? "Elapsed" : "Took"}>{run.status === "active" ? <Elapsed since={run.startedAt} /> : <span className="num">{run.durationMs === undefined ? "unknown" : lasting(run.durationMs)}</span>}</Fact>
      {run.startedBy && <Fact name="Started by">{run.startedBy}</Fact>}
      {steps.length > 0 && <Fact name="Steps"><span className="num">{stepsOf(steps.filter((span) => span.state === "done" || span.state === "kept").length, steps.length)}</span></Fact>}
      {fold.tokens > 0 && <Fact name="Tokens"><span className="num">{count(fold.tokens)}</span></Fact>}
      {fold.cost > 0 && <Fact name="Cost"><span className="num">${fold.cost < 1 ? fold.cost.toFixed(3) : fold.cost.toFixed(2)}</span></Fact>}
      {failed.length > 0 && <Fact name="Failed"><span className="bad">{failedOf(failed.map((span) => span.kind))}</span></Fact>}
      {fold.bands.length > 0 && <Fact name="Resumed"><span className="warn">{fold.bands.length === 1 ? "once" : `${fold.bands.length} times`}, after {lasting(down)}</span></Fact>}
    </dl>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }): ReactNode {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Elapsed({ since }: { since: string }): ReactNode {
  useNow(100);
  return <span className="num live">{lasting(Math.max(0, serverNow() - Date.parse(since)))}</span>;
}

function stepsOf(done: number, all: number): string {
  return done === all ? count(all) : `${count(done)} of ${count(all)}`;
}

/** failedOf counts failures by what they are: "1 tool", "2 steps". */
function failedOf(kinds: readonly string[]): string {
  const first = kinds[0];
  if (!kinds.every((kind) => kind === first)) return String(kinds.length);
  return `${kinds.length} ${first}${kinds.length === 1 ? "" : "s"}`;
}
