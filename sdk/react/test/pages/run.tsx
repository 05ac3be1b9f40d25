// A workflow that is started and followed, and a run that is followed by its id.
import { StrictMode, type ReactElement } from "react";
import { createRoot } from "react-dom/client";
import { createClient } from "@svc/sdk";
import { SvcProvider, useRun, useWorkflow, type RunState, type Workflow } from "@svc/react";

declare global {
  var run: RunState;
  var workflow: Workflow;
  /** The states that were rendered, as words. */
  var seen: string[];
}

globalThis.seen = [];
const parameters = new URLSearchParams(location.search);
const tail = parameters.get("tail");

function Started(): ReactElement {
  const workflow = useWorkflow<{ sum: number }>(parameters.get("workflow")!);
  globalThis.workflow = workflow;
  if (seen.at(-1) !== workflow.status) seen.push(workflow.status);
  return (
    <section>
      <button onClick={() => void workflow.start(JSON.parse(parameters.get("input") ?? "null") ?? undefined)}>Start</button>
      <button onClick={() => void workflow.retry()}>Retry</button>
      <output>{workflow.result?.sum}</output>
    </section>
  );
}

function Followed(): ReactElement {
  const run = useRun(parameters.get("run") ?? undefined, tail === null ? {} : { tail: Number(tail) });
  globalThis.run = run;
  return <p>{`${run.phase} ${run.events.length}`}</p>;
}

const client = createClient({ baseUrl: "/api", timing: { backoffMax: 100, patience: Number(parameters.get("patience") ?? 30_000) } });
createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <SvcProvider client={client}>{parameters.has("workflow") ? <Started /> : <Followed />}</SvcProvider>
  </StrictMode>,
);
