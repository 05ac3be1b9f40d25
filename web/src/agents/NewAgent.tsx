import { useRef, useState, type FormEvent, type ReactNode } from "react";
import { Button } from "../kit/Button";
import { Field, focusInvalid } from "../kit/Field";
import { keep, recall } from "../kit/kept";
import { Trouble } from "../kit/Refusal";
import { useToast } from "../kit/Toast";
import { useAct } from "../server/act";
import { fieldErrors } from "../server/refusal";
import { useMay } from "../server/role";
import { namesOf, useWorkspace } from "../server/workspace";
import { useArrival } from "../shell/Page";
import { blank, editOf, isName, type Definition } from "./agent";
import { AgentForm } from "./AgentForm";
import { keepDraft, writtenSince } from "./draft";
import { useGo } from "./place";
import { templateOf } from "./templates";

interface Writing {
  readonly name: string;
  readonly mine: Definition;
}

/** NewAgent writes an agent that there is not yet. What is typed is kept in this browser until it is made. */
export function NewAgent({ template }: { template: string }): ReactNode {
  const from = templateOf(template);
  const workspace = useWorkspace();
  const kept = `agent-new.${namesOf(workspace)}/${template}`;
  const [{ name, mine }, setWriting] = useState<Writing>(() => read(kept) ?? { name: from?.name ?? "", mine: from?.definition ?? blank });
  const now = useRef(mine);
  now.current = mine;
  const [tried, setTried] = useState(false);
  const make = useAct("post", "/api/workspaces/{username}/{business}/agents");
  const { why } = useMay("work");
  const go = useGo();
  const toast = useToast();
  const form = useRef<HTMLFormElement>(null);
  const heading = useArrival();
  const errors = fieldErrors(make.error);
  const wrong = name === "" ? "This is needed." : isName(name) ? undefined : "Lower-case letters and digits, with single dashes between them.";
  const taken = make.error?.type === "name_taken" ? "This name is taken." : undefined;

  const change = (next: Writing): void => {
    setWriting(next);
    keep(kept, JSON.stringify(next));
  };
  const leave = (): void => {
    keep(kept, undefined);
    go(undefined);
  };
  const send = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    setTried(true);
    if (wrong) return void setTimeout(() => focusInvalid(form.current));
    const done = await make.run({ body: { ...editOf(blank, mine), name } });
    if (!done) return void setTimeout(() => focusInvalid(form.current));
    keep(kept, undefined);
    keepDraft(workspace, name, writtenSince(done.answer, mine, now.current));
    toast({ tone: "ok", text: `${name} is here. Try it on the right.` });
    go(name, { replace: true });
  };
  return (
    <section className="col file-col" aria-label="New agent">
      <form ref={form} className="col-form" noValidate onSubmit={(event) => void send(event)}>
        <header className="top">
          <Button look="ghost" icon="left" label="Back to agents" className="mobile" onClick={leave} />
          <h1 ref={heading} tabIndex={-1} className="trunc grow">New agent</h1>
          <Button look="ghost" onClick={leave}>Discard</Button>
          <Button type="submit" look="primary" busy={make.busy} why={why}>Make agent</Button>
        </header>
        {make.error && !taken && <Trouble error={make.error} />}
        <div className="body form-body">
          <div className="form narrow">
            <AgentForm
              name={name}
              shown={mine}
              saved={blank}
              errors={errors}
              why={why}
              onChange={(part) => change({ name, mine: { ...mine, ...part } })}
              nameField={<Field label="Name" value={name} autoFocus maxLength={64} error={(tried ? wrong : undefined) ?? taken} help={<span className="mono">/agents/{name || "name"}/{"{conversation}"}</span>} onChange={(event) => change({ name: event.target.value, mine })} autoCapitalize="off" autoComplete="off" spellCheck={false} />}
            />
          </div>
        </div>
      </form>
    </section>
  );
}

function read(kept: string): Writing | undefined {
  try {
    return (JSON.parse(recall(kept) ?? "null") as Writing | null) ?? undefined;
  } catch {
    return undefined;
  }
}
