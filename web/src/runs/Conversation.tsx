import { useMemo, type ReactNode } from "react";
import type { RunEvent } from "@svc/sdk";
import { Empty } from "../kit/Empty";
import { Icon } from "../kit/Icon";
import { Time } from "../kit/Time";
import { argumentOf } from "./message";
import { linesOf, type Line } from "./said";

/** Conversation is what agents were asked in a run, and what they answered. */
export function Conversation({ events }: { events: readonly RunEvent[] }): ReactNode {
  const lines = useMemo(() => linesOf(events), [events]);
  if (lines.length === 0) {
    return (
      <div className="run-body" role="tabpanel" aria-label="Conversation">
        <Empty icon="chat" title="No agent has spoken">This run has not asked a model anything.</Empty>
      </div>
    );
  }
  return (
    <div className="run-body talk" role="tabpanel" aria-label="Conversation" tabIndex={0}>
      {lines.map((line) => (
        <Message key={line.key} line={line} />
      ))}
    </div>
  );
}

function Message({ line }: { line: Line }): ReactNode {
  const { said } = line;
  return (
    <article className={`said ${said.role}`} aria-label={said.role === "user" ? "Asked" : "Answered"}>
      <header>
        <b>{said.role === "user" ? "Workflow" : "Agent"}</b>
        {said.model && <span className="mono faint">{said.model}</span>}
        <Time at={line.at} quiet />
        {line.cut && <span className="warn">cut by a restart</span>}
      </header>
      {said.thought && (
        <details>
          <summary>Thought</summary>
          <p className="thought">{said.thought}</p>
        </details>
      )}
      {said.text && <p className="words">{said.text}{line.streaming && <span className="caret" aria-hidden="true" />}</p>}
      {said.errorMessage && <p className="bad">{said.errorMessage}</p>}
      {said.calls.map((call) => (
        <Call key={call.id} name={call.name} input={call.input} result={line.results.get(call.id)} cut={line.cut} />
      ))}
      {!said.text && said.calls.length === 0 && !said.thought && !said.errorMessage && <p className="faint">{line.streaming ? "Thinking…" : "No words."}</p>}
    </article>
  );
}

function Call({ name, input, result, cut }: { name: string; input: unknown; result: { text: string; isError: boolean } | undefined; cut: boolean }): ReactNode {
  const note = argumentOf(input);
  return (
    <details className="call" open={result?.isError}>
      <summary>
        <Icon name={result?.isError ? "warn" : "plug"} small className={result?.isError ? "bad" : "faint"} />
        <b>{name}</b> <span className="faint trunc">{note}</span>
        <span className="grow" />
        <span className={result?.isError ? "bad" : "faint"}>{result ? (result.isError ? "failed" : "done") : cut ? "interrupted" : "running"}</span>
      </summary>
      {result?.isError && <pre className="code bad" tabIndex={0} aria-label="Error">{result.text || "No reason was given."}</pre>}
      <pre className="code" tabIndex={0} aria-label="Input">{JSON.stringify(input, undefined, 2) ?? ""}</pre>
      {result && !result.isError && <pre className="code" tabIndex={0} aria-label="Output">{result.text || "(nothing)"}</pre>}
    </details>
  );
}
