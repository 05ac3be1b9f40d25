// Components that come and go: what they leave behind, and what they share. The tests say what is shown.
import { StrictMode, Suspense, useState, type ReactElement } from "react";
import { createRoot, hydrateRoot } from "react-dom/client";
import { renderToString } from "react-dom/server";
import { createClient, type Client } from "@svc/sdk";
import { SvcProvider, useAgent, useClient, useRun } from "@svc/react";

interface Scene {
  /** The conversations that are shown, each by two components. */
  ids: (string | undefined)[];
  run?: string;
  /** A conversation whose component waits for something else. */
  slow?: string;
}

declare global {
  var life: {
    show: (scene: Scene) => void;
    /** Lets slow components go on. */
    resume: () => void;
    client: Client;
    /** Listeners of the page and its document. */
    listeners: number;
    /** Rows that were shown under another conversation than their own. */
    wrong: string[];
  };
}

let ready = false;
let resume = (): void => {};
const waiting = new Promise<void>((resolve) => (resume = resolve)).then(() => void (ready = true));
const client = createClient({ baseUrl: "/api", timing: { backoffMax: 100 } });
globalThis.life = { show: () => {}, resume: () => resume(), client, listeners: 0, wrong: [] };

// Those of the browser's driver are of other events.
const heard = ["visibilitychange", "focus", "online"];
for (const target of [document, window] as EventTarget[]) {
  const { addEventListener: add, removeEventListener: remove } = target;
  target.addEventListener = function (...all: Parameters<typeof add>) {
    if (heard.includes(all[0])) life.listeners++;
    add.apply(this, all);
  };
  target.removeEventListener = function (...all: Parameters<typeof remove>) {
    if (heard.includes(all[0])) life.listeners--;
    remove.apply(this, all);
  };
}

function Talk({ id }: { id: string | undefined }): ReactElement {
  const { messages, status } = useAgent("assistant", id);
  for (const { role, parts } of messages) {
    const [part] = parts;
    if (role === "user" && part?.type === "text" && !part.text.endsWith(` in ${id}`)) life.wrong.push(`${id}: ${part.text}`);
  }
  return <p data-id={id}>{`${status} ${messages.length}`}</p>;
}

function Follow({ id }: { id: string }): ReactElement {
  const { status, events } = useRun(id);
  return <p data-run={id}>{`${status} ${events.length}`}</p>;
}

function Slow({ id }: { id: string }): ReactElement {
  useClient();
  useAgent("assistant", id);
  if (!ready) throw waiting;
  return <Talk id={id} />;
}

function App(): ReactElement {
  const [{ ids, run, slow }, show] = useState<Scene>({ ids: JSON.parse(new URLSearchParams(location.search).get("ids") ?? "[]") });
  life.show = show;
  return (
    <main>
      {[...ids, ...ids].map((id, i) => (
        <Talk key={i} id={id} />
      ))}
      {run && <Follow id={run} />}
      {slow && (
        <Suspense fallback={<p>waiting</p>}>
          <Slow id={slow} />
        </Suspense>
      )}
    </main>
  );
}

const app = (
  <StrictMode>
    <SvcProvider client={client}>
      <App />
    </SvcProvider>
  </StrictMode>
);
const root = document.getElementById("root")!;
if (location.search.includes("hydrate")) {
  root.innerHTML = renderToString(app);
  hydrateRoot(root, app);
} else {
  createRoot(root).render(app);
}
