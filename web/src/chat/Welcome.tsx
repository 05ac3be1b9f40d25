import { useEffect, useRef, type ReactNode } from "react";
import { nameOf, useSession } from "../server/session";
import { useHere, useMay } from "../server/role";
import { Checklist, useSetUp, useSteps } from "./Checklist";
import { useTalks } from "./Conversations";
import { useModel } from "./ScriptedBanner";
import { useLasting } from "./ticking";
import "../look/welcome.css";

interface Ask {
  readonly title: string;
  readonly note: string;
  readonly text: string;
}

/** What the scripted model can do, in its own commands. */
const scripted: readonly Ask[] = [
  { title: "Stream 400 words slowly", note: "Reload half-way: the reply goes on where it was.", text: "n=400 delay=20" },
  { title: "Think first, then answer", note: "Shows the folded reasoning above a reply.", text: "think n=40 delay=30" },
  { title: "Fail on purpose", note: "Shows the card that names the cause and the fix.", text: "fail on purpose" },
];

/** What the chat of a workspace can do with a real model: it has the workspace's own tools. */
const real: readonly Ask[] = [
  { title: "Look around", note: "Which agents, workflows and projects are here.", text: "Which agents, workflows and projects does this workspace have? Say in a line each what they are for." },
  { title: "Sum up a project", note: "Reads the files and says what is in them.", text: "List the files of the project " },
  { title: "Run a workflow", note: "Starts one, and says what came of it.", text: "Which workflows can I run here, and what does each need as input?" },
];

/** Fill writes a text for somebody, or only suggests it. */
export type Fill = (text: string, suggested?: boolean) => void;

/** Welcome is a conversation before its first message. */
export function Welcome({ agent, text, fill }: { agent: string; text: string; fill: Fill }): ReactNode {
  const session = useSession().data;
  const { facts } = useHere();
  const { model } = useModel(agent);
  const { may } = useMay("work");
  const name = session?.account ? nameOf(session.account).split(" ")[0] : undefined;
  const asks = model?.startsWith("scripted/") ? scripted : real;
  const own = agent === "central";
  useFirstPrompt(useTalks(agent).items?.length === 0 && asks === scripted && may, text, fill);
  // All of it comes at once, so that nothing is moved; a card whose facts cannot be read is not waited for.
  const manages = useSetUp();
  const steps = useSteps(own && manages);
  const late = useLasting(true, 1_500);
  if (!late && (!facts || !session || (own && manages && !steps))) return null;
  return (
    <div className="welcome">
      <div>
        <h2>{own ? `${facts?.name ?? "Your workspace"} is ready${name ? `, ${name}` : ""}.` : `A new conversation with ${agent}.`}</h2>
        <p>{own ? nextStep(may, manages) : "It answers from its newest saved version."}</p>
      </div>
      {own && <Checklist />}
      {may && model !== undefined && (own || asks === scripted) && (
        <div>
          <p className="label asks-label">Three prompts that work now</p>
          <div className="asks">
            {asks.map((ask) => (
              <button key={ask.title} type="button" aria-pressed={text === ask.text} onClick={() => fill(ask.text)}>
                <b>{ask.title}</b>
                <small>{ask.note}</small>
              </button>
            ))}
          </div>
        </div>
      )}
    </div>
  );
}

/** nextStep is what whoever is here can do. */
function nextStep(may: boolean, manages: boolean): string {
  if (!may) return "You can read every conversation of the workspace: choose one from the list.";
  return manages ? "Try how a conversation behaves, or finish set-up." : "Write below, or begin with one of these.";
}

/** useFirstPrompt suggests a prompt to whoever has never sent one, once: they need only press Enter. */
function useFirstPrompt(first: boolean, text: string, fill: Fill): void {
  const filled = useRef(false);
  useEffect(() => {
    if (!first || filled.current) return;
    filled.current = true;
    if (text === "" && scripted[0]) fill(scripted[0].text, true);
  }, [first, text, fill]);
}
