// A long conversation while a reply streams: how often each row is rendered, and which tasks were long.
import { memo, useState, type ReactElement } from "react";
import { createRoot } from "react-dom/client";
import { createClient } from "@svc/sdk";
import { SvcProvider, useAgent, type Agent, type AgentMessage } from "@svc/react";

declare global {
  var speed: {
    agent: Agent;
    renders: Map<string, number>;
    /** Of tasks above 50 ms: when they began and how long they took, in ms. */
    longTasks: [start: number, duration: number][];
  };
}

globalThis.speed = { agent: undefined!, renders: new Map(), longTasks: [] };
new PerformanceObserver((list) => {
  for (const { startTime, duration } of list.getEntries()) speed.longTasks.push([startTime, duration]);
}).observe({ type: "longtask", buffered: true });

// The browser lays out and paints what is seen; a reply grows by blocks, as Markdown does.
const unseen = { contentVisibility: "auto", containIntrinsicSize: "auto 80px" } as const;
const Block = memo(({ text }: { text: string }): ReactElement => <p style={unseen}>{text}</p>);

const Row = memo(function Row({ message: { key, role, parts } }: { message: AgentMessage }): ReactElement {
  speed.renders.set(key, (speed.renders.get(key) ?? 0) + 1);
  const text = parts.map((part) => (part.type === "text" ? part.text : "")).join("");
  const blocks = text.match(/(\S+\s+){1,60}|\S+$/g) ?? [];
  return (
    <li className={role} style={unseen}>
      {blocks.map((block, i) => (
        <Block key={i} text={block} />
      ))}
    </li>
  );
});

function Chat(): ReactElement {
  const agent = (speed.agent = useAgent("assistant", new URLSearchParams(location.search).get("id")!));
  const [draft, setDraft] = useState("");
  return (
    <main>
      <ul>
        {agent.messages.map((message) => (
          <Row key={message.key} message={message} />
        ))}
      </ul>
      <input value={draft} onChange={(event) => setDraft(event.target.value)} />
    </main>
  );
}

createRoot(document.getElementById("root")!).render(
  <SvcProvider client={createClient({ baseUrl: "/api" })}>
    <Chat />
  </SvcProvider>,
);
