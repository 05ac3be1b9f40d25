import { useMemo, useState, type ReactNode } from "react";
import { createClient } from "@svc/sdk";
import { Button } from "../kit/Button";
import { CopyButton } from "../kit/CodeSample";
import { Icon } from "../kit/Icon";
import { sentenceOf } from "../kit/Refusal";
import { Tag, type Tone } from "../kit/StatusTag";
import { Tabs } from "../kit/Tabs";
import { hearing } from "../server/hearing";
import { place } from "../server/place";
import { useMay } from "../server/role";
import { apiOf, useServer, useWorkspace } from "../server/workspace";
import type { Made } from "./KeyMade";
import { question, samplesOf } from "./samples";
import { toldOf, useTrial, type Trial } from "./trial";

/** Snippet is programs to copy, for this workspace, and the same question asked in place. */
export function Snippet({ base, agent, made }: { base: string; agent: string; made: Made | undefined }): ReactNode {
  const instance = useMemo(() => `hello-${Math.random().toString(36).slice(2, 8)}`, [made]);
  const samples = samplesOf({ base, agent, instance, key: made?.key, scopes: made?.scopes });
  const [language, setLanguage] = useState("curl");
  const sample = samples.find((each) => each.name === language) ?? samples[0];
  const ask = useAsking(agent, made);
  if (!sample) return null;
  return (
    <section className="card snip" aria-label="Snippets">
      <header>
        <Tabs label="Language" tabs={samples.map((each) => ({ id: each.name, label: each.name }))} value={sample.name} onChange={setLanguage} />
        <CopyButton text={sample.text} label={`Copy the ${sample.name} snippet`} />
        {ask.trial && isGoing(ask.trial) ? null : <Button small icon="play" why={ask.why} onClick={ask.start}>Try it</Button>}
      </header>
      <p className={made ? "help warn" : "help"}>
        <Icon name="key" small />
        {made ? (
          <span>Holds the key of {made.name}, shown once. After you leave this page it reads <span className="mono">$SVC_KEY</span>.</span>
        ) : (
          <span>Put a key with <span className="mono">agents:read</span> and <span className="mono">agents:write</span> into <span className="mono">SVC_KEY</span> first. {notes[sample.name]}</span>
        )}
      </p>
      <pre tabIndex={0} aria-label={`${sample.name} snippet`}><Painted text={sample.text} once={made?.key} /></pre>
      {ask.trial && <Answer trial={ask.trial} by={ask.by} onStop={ask.stop} />}
    </section>
  );
}

/** What a program needs beside a key. */
const notes: Record<string, string> = { TypeScript: "It needs @svc/sdk.", Go: "It needs the module svc.dev/svc." };

/** Painted is a program with its texts and remarks told apart, and the key marked wherever it stands, for it is there once. */
function Painted({ text, once }: { text: string; once: string | undefined }): ReactNode {
  return text.split(/(^#.*$|"[^"\n]*"|'[^'\n]*')/m).map((part, i) => (
    <span key={i} className={part.startsWith("#") ? "k" : i % 2 === 1 ? "s" : undefined}>
      {once === undefined ? part : withKey(part, once)}
    </span>
  ));
}

function withKey(text: string, key: string): ReactNode {
  return text.split(key).map((part, i) => (
    <span key={i}>
      {i > 0 && <mark className="once">{key}</mark>}
      {part}
    </span>
  ));
}

/** useAsking asks as the snippet does: with the key that was just made where it may, else as who is signed in. */
function useAsking(agent: string, made: Made | undefined) {
  const own = useServer();
  const workspace = useWorkspace();
  const { why } = useMay("work");
  const { trial, start, stop } = useTrial();
  const [by, setBy] = useState("");
  const token = place.surface === "agents" && made?.scopes.includes("agents:write") && made.scopes.includes("agents:read") ? made.key : undefined;
  const ask = (): void => {
    const client = token ? createClient({ baseUrl: apiOf(workspace), token, fetch: hearing }) : own;
    setBy(token && made ? `with the key ${made.name}` : "as you, signed in");
    start(client, agent, `try-${Math.random().toString(36).slice(2, 8)}`, question);
  };
  const elsewhere = place.surface === "platform" ? "Agents answer on the Agents surface" : undefined;
  return { trial, start: ask, stop, by, why: elsewhere ?? why };
}

const looks: Record<Trial["state"], { tone: Tone; word: string }> = {
  asking: { tone: "live", word: "Asking" },
  streaming: { tone: "live", word: "Streaming" },
  done: { tone: "ok", word: "Answered" },
  stopped: { tone: "", word: "Stopped" },
  failed: { tone: "bad", word: "Failed" },
};

function isGoing(trial: Trial): boolean {
  return trial.state === "asking" || trial.state === "streaming";
}

function Answer({ trial, by, onStop }: { trial: Trial; by: string; onStop: () => void }): ReactNode {
  const look = looks[trial.state];
  return (
    <div className="out" role="region" aria-label="Answer">
      <header>
        <span role="status"><Tag tone={look.tone}>{look.word}</Tag></span>
        <span className="num grow">{[toldOf(trial), by].filter(Boolean).join(" · ")}</span>
        {isGoing(trial) && <Button small look="ghost" icon="stop" onClick={onStop}>Stop</Button>}
      </header>
      <p>
        {trial.text}
        {isGoing(trial) && <span className="caret" />}
      </p>
      {trial.error && <p className="bad">{sentenceOf(trial.error)}</p>}
    </div>
  );
}
