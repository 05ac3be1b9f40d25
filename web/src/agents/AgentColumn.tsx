import type { ReactNode } from "react";
import { Button } from "../kit/Button";
import { Refusal } from "../kit/Refusal";
import { useRead } from "../server/read";
import { useArrival } from "../shell/Page";
import { AgentEditor } from "./AgentEditor";
import { useGo, type AgentPlace } from "./place";
import { TryIt } from "./TryIt";

/** How often an agent is read again while it is looked at: somebody else may have saved it. */
const often = 15_000;

/** AgentColumn is one agent: what is written of it, and the chat that tries it. */
export function AgentColumn({ name, at }: { name: string; at: AgentPlace }): ReactNode {
  const { data, error, refetch } = useRead("/api/workspaces/{username}/{business}/agents/{name}", { path: { name }, every: often });
  const go = useGo();
  const heading = useArrival();
  if (data) {
    return (
      <>
        <AgentEditor agent={data} at={at} trouble={error ?? undefined} onRead={() => void refetch()} />
        {at.part !== "versions" && <TryIt agent={data} conversation={at.conversation} />}
      </>
    );
  }
  return (
    <section className="col file-col" aria-label={`Agent ${name}`}>
      <header className="top">
        <Button look="ghost" icon="left" label="Back to agents" className="mobile" onClick={() => go(undefined)} />
        <h1 ref={heading} tabIndex={-1} className="trunc">{name}</h1>
      </header>
      {error ? <Refusal error={error} onRetry={() => void refetch()} /> : <Loading />}
    </section>
  );
}

function Loading(): ReactNode {
  return (
    <>
      <div className="vbar wait"><span className="skeleton" style={{ width: 180 }} /></div>
      <div className="body form-body wait" role="status" aria-label="Loading the agent">
        <div className="form">
          <div className="pair"><span className="skeleton field-bone" /><span className="skeleton field-bone" /></div>
          <span className="skeleton field-bone" />
          <span className="skeleton text-bone" />
          <span className="skeleton text-bone" />
        </div>
      </div>
    </>
  );
}
