import type { ReactNode } from "react";
import { Link } from "@tanstack/react-router";
import { Button } from "../kit/Button";
import { Icon } from "../kit/Icon";
import { useKept } from "../kit/kept";
import { exact } from "../kit/Time";
import { useList, useRead } from "../server/read";
import { useHere, useMay } from "../server/role";
import { isStaffs, namesOf, useWorkspace } from "../server/workspace";
import { usePath } from "../shell/where";

interface Step {
  readonly title: string;
  readonly note: string;
  readonly done: boolean;
  readonly page: string;
  readonly act: string;
}

/** Checklist is what makes a workspace useful. Each step is done when the service says so; nothing is ticked by hand. */
export function Checklist(): ReactNode {
  const workspace = useWorkspace();
  const where = namesOf(workspace);
  const [shown, setShown] = useKept(`setup.${where}`, "shown");
  const { facts } = useHere();
  const may = useSetUp();
  const steps = useSteps(may);
  const path = usePath();
  if (shown !== "shown" || !steps || !facts || !may || steps.every((step) => step.done)) return null;
  const done = steps.filter((step) => step.done).length + 1;
  const next = steps.find((step) => !step.done);
  return (
    <section className="card steps" aria-label="Set-up">
      <header>
        <h2>Set up {facts.name}</h2>
        <span className="faint num t12">{done} of {steps.length + 1} done</span>
        <Button look="ghost" small icon="x" label="Hide this card" onClick={() => setShown("hidden")} />
      </header>
      <ul>
        <li>
          <Ring done />
          <span>Workspace made<small className="trunc">{where}, {exact(new Date(facts.createdAt)).replace(/:\d\d .*$/, "")}</small></span>
          <span />
        </li>
        {steps.map((step) => (
          <li key={step.title}>
            <Ring done={step.done} />
            <span>{step.done ? step.title : <b>{step.title}</b>}<small>{step.note}</small></span>
            {step.done ? <span /> : <Link className={step === next ? "btn primary sm" : "btn sm"} to={path(step.page)}>{step.act}</Link>}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Ring({ done }: { done: boolean }): ReactNode {
  return <span className={done ? "ring done" : "ring"}>{done ? <><Icon name="check" /><span className="sr">Done:</span></> : <span className="sr">To do:</span>}</span>;
}

/** useSetUp reports whether the person sets this workspace up. That of the staff was there before them. */
export function useSetUp(): boolean {
  const { may } = useMay("manage");
  return may && !isStaffs(useWorkspace());
}

/** useSteps are the steps as the service knows them; undefined: it has not said yet. */
export function useSteps(when: boolean): readonly Step[] | undefined {
  const models = useRead("/api/workspaces/{username}/{business}/models", { when });
  const agents = useList("/api/workspaces/{username}/{business}/agents", { when });
  const mcps = useList("/api/workspaces/{username}/{business}/mcps", { when });
  const people = useList("/api/workspaces/{username}/{business}/people", { when });
  const invitations = useList("/api/workspaces/{username}/{business}/invitations", { when });
  if (!models.data || !agents.items || !mcps.items || !people.items || !invitations.items) return undefined;
  return [
    { title: "Store a model key", note: "A provider or your own server", done: models.data.items.some((each) => each.key.present), page: "settings/models", act: "Add key" },
    { title: "Write an agent", note: "Instructions, a model, its tools", done: agents.items.some((each) => each.source === "database"), page: "agents", act: "Start" },
    { title: "Connect something", note: "An MCP server with its tools", done: mcps.items.length > 0, page: "mcps", act: "Choose" },
    { title: "Invite a colleague", note: "You get a link to hand over", done: people.items.length > 1 || invitations.items.length > 0, page: "team", act: "Invite" },
  ];
}
