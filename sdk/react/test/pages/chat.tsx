// A chat: what people do with useAgent. The tests press its buttons and read its rows.
import { StrictMode, memo, useState, type ReactElement } from "react";
import { createRoot } from "react-dom/client";
import { createClient } from "@svc/sdk";
import { SvcProvider, useAgent, type Agent, type AgentMessage } from "@svc/react";

declare global {
  /** The conversation as the page has it. */
  var chat: Agent;
  /** How often each message of the conversation was rendered, by its key. */
  var renders: Record<string, number>;
  /** A row that a test keeps an eye on. */
  var kept: Element | null | undefined;
}

globalThis.renders = {};

type Verbs = Pick<Agent, "retry" | "discard">;

const Row = memo(function Row({ message, retry, discard }: { message: AgentMessage } & Verbs): ReactElement {
  const { key, role, pending, parts } = message;
  if (!pending) renders[key] = (renders[key] ?? 0) + 1;
  const rests = pending && pending.state !== "sending" && pending.state !== "waiting";
  return (
    <li data-key={key} data-role={role} data-state={pending?.state ?? "there"} hidden={message.display !== "visible"}>
      <span>{parts.map((part) => (part.type === "text" ? part.text : "")).join("")}</span>
      {parts.map((part) => part.type === "file" && <img key={part.id} src={part.url} alt={part.filename ?? "an image"} />)}
      {pending?.error && <em>{pending.error.type}</em>}
      {(rests || role === "user") && <button onClick={() => void retry(key)}>Retry</button>}
      {rests && <button onClick={() => discard(key)}>Discard</button>}
    </li>
  );
});

function Chat({ name, id }: { name: string; id: string }): ReactElement {
  const agent = useAgent(name, id);
  globalThis.chat = agent;
  const [draft, setDraft] = useState("");
  const [note, setNote] = useState("");
  const send = (): void => {
    void agent.send(draft);
    setDraft("");
  };
  return (
    <main data-status={agent.status} data-phase={agent.phase}>
      <ul>
        {agent.messages.map((message) => (
          <Row key={message.key} message={message} retry={agent.retry} discard={agent.discard} />
        ))}
      </ul>
      <textarea value={draft} onChange={(event) => setDraft(event.target.value)} />
      <button onClick={send}>Send</button>
      <button onClick={() => void agent.stop().then((aborted) => setNote(aborted ? "Stopping" : "Already finished"))}>Stop</button>
      <output>{note}</output>
    </main>
  );
}

const parameters = new URLSearchParams(location.search);
const timing = { backoffMax: 100, patience: Number(parameters.get("patience") ?? 30_000) };
const client = createClient({ baseUrl: "/api", timing });
createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <SvcProvider client={client}>
      <Chat name={parameters.get("agent") ?? "assistant"} id={parameters.get("id")!} />
    </SvcProvider>
  </StrictMode>,
);
