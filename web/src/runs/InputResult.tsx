import type { ReactNode } from "react";
import { JsonView } from "../kit/JsonView";
import type { RunRow } from "./run";

/** InputResult is what a run was given, and what came of it. */
export function InputResult({ run }: { run: RunRow & { readonly input?: unknown; readonly result?: unknown } }): ReactNode {
  return (
    <div className="run-body" role="tabpanel" aria-label="Input and result" tabIndex={0}>
      <section>
        <h2>Input</h2>
        {run.input === undefined ? <p className="faint">It was started without input.</p> : <JsonView value={run.input} label="Input" />}
      </section>
      <section>
        <h2>{run.error ? "Error" : "Result"}</h2>
        {run.error ? <JsonView value={run.error} label="Error" /> : run.status === "active" ? <p className="faint">It has not ended yet.</p> : <JsonView value={run.result ?? null} label="Result" />}
      </section>
    </div>
  );
}
