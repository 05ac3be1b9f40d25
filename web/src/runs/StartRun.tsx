import { useEffect, useMemo, useRef, useState, type ReactNode } from "react";
import { useNavigate } from "@tanstack/react-router";
import type { AnswerOf } from "@svc/sdk";
import { Button } from "../kit/Button";
import { Combobox } from "../kit/Combobox";
import { Sheet } from "../kit/Dialog";
import { focusInvalid, TextField } from "../kit/Field";
import { Refusal, Trouble } from "../kit/Refusal";
import { Segments } from "../kit/Tabs";
import { useToast } from "../kit/Toast";
import { useAct } from "../server/act";
import { useRead } from "../server/read";
import { usePath } from "../shell/where";
import { check, inputsOf, readJson, typedOf, type Typed } from "./schema";
import { SchemaForm } from "./SchemaForm";

type Workflow = AnswerOf<"/api/workspaces/{username}/{business}/workflows", "get">["items"][number];

export interface StartRunProps {
  /** The workflow; empty: it is still to be chosen. */
  name: string;
  onName: (name: string) => void;
  onClose: () => void;
}

/** StartRun is the drawer in which a run is started. */
export function StartRun({ name, onName, onClose }: StartRunProps): ReactNode {
  const workflows = useRead("/api/workspaces/{username}/{business}/workflows", { query: { limit: 200 } as never });
  // Those that are not exposed are the service's own.
  const choices = useMemo(() => (workflows.data?.items ?? []).filter((each) => each.exposed), [workflows.data]);
  const only = choices.length === 1 ? choices[0]?.name : undefined;
  const choose = useRef(onName);
  choose.current = onName;
  useEffect(() => {
    if (name === "" && only) choose.current(only);
  }, [name, only]);
  const chosen = choices.find((each) => each.name === name);
  return (
    <Sheet title="Start a run" onClose={onClose}>
      {workflows.error && !workflows.data ? <Refusal error={workflows.error} onRetry={() => void workflows.refetch()} /> : (
        <>
          <section>
            <div className="form">
              <Combobox
                label="Workflow"
                placeholder="Choose one"
                choices={choices.map((each) => ({ value: each.name, label: each.name, ...noteOf(each) }))}
                value={name}
                onChange={onName}
                help={chosen?.description}
                error={name && workflows.data && !chosen ? `There is no workflow named ${name}.` : undefined}
              />
            </div>
          </section>
          {chosen && <InputForm key={chosen.name} workflow={chosen} onClose={onClose} />}
        </>
      )}
    </Sheet>
  );
}

/** noteOf says of a workflow what it does, and that it comes with the project, which is where it is changed. */
function noteOf({ description, source }: Workflow): { note?: string } {
  const note = [source === "project" && "From the project", description].filter(Boolean).join(": ");
  return note ? { note } : {};
}

function InputForm({ workflow, onClose }: { workflow: Workflow; onClose: () => void }): ReactNode {
  const inputs = useMemo(() => inputsOf(workflow.inputSchema), [workflow]);
  const takes = workflow.inputSchema !== null;
  const [as, setAs] = useState<"form" | "json">(inputs ? "form" : "json");
  const [typed, setTyped] = useState<Typed>(() => typedOf(inputs ?? []));
  const [json, setJson] = useState("{}");
  const [tried, setTried] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const navigate = useNavigate();
  const path = usePath();
  const toast = useToast();
  const start = useAct("post", "/api/workspaces/{username}/{business}/workflows/{name}/run", { refreshes: ["/api/workspaces/{username}/{business}/runs"] });

  const checked = check(inputs ?? [], typed);
  const read = readJson(json);
  const wrong = as === "form" ? Object.keys(checked.wrong).length : "wrong" in read ? 1 : 0;
  const turn = (to: string): void => {
    if (to === "json") setJson(JSON.stringify(checked.value, undefined, 2));
    else if ("value" in read) setTyped(typedOf(inputs ?? [], read.value));
    setAs(to as "form" | "json");
  };
  const send = async (): Promise<void> => {
    setTried(true);
    if (takes && wrong > 0) return void requestAnimationFrame(() => focusInvalid(form.current));
    const body = as === "form" ? checked.value : "value" in read ? read.value : undefined;
    const done = await start.run({ path: { name: workflow.name }, ...(takes && { body }) } as Parameters<typeof start.run>[0]);
    if (!done) return;
    toast({ tone: "ok", text: `${workflow.name} has started.` });
    void navigate({ to: path(`runs/${done.answer.runId}`) });
  };
  return (
    <form
      ref={form}
      className="start-form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      {start.error && <Trouble error={start.error} />}
      <section className="inputs">
        <div className="form">
          {takes && inputs && <Segments label="Input as" value={as} onChange={turn} tabs={[{ id: "form", label: "Form" }, { id: "json", label: "JSON" }]} />}
          {!takes && <p className="help">This workflow takes no input.</p>}
          {takes && as === "form" && inputs && <SchemaForm inputs={inputs} typed={typed} wrong={tried ? checked.wrong : {}} onChange={setTyped} />}
          {takes && as === "json" && <TextField label="Input" className="mono" rows={12} spellCheck={false} value={json} onChange={(event) => setJson(event.target.value)} error={tried && "wrong" in read ? read.wrong : undefined} />}
          {takes && inputs && as === "form" && <p className="help">Fields come from the workflow's input schema. Nothing starts until the server accepts it.</p>}
        </div>
      </section>
      <footer>
        <span className={`help grow ${tried && wrong > 0 ? "bad" : ""}`} role="status">{tried && wrong > 0 ? `${wrong} ${wrong === 1 ? "field" : "fields"} to mend` : ""}</span>
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" look="primary" busy={start.busy}>Start</Button>
      </footer>
    </form>
  );
}
