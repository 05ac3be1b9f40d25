import type { ReactNode } from "react";
import { Link } from "@tanstack/react-router";
import { Combobox, type Choice } from "../kit/Combobox";
import { Field, Labelled } from "../kit/Field";
import { Icon } from "../kit/Icon";
import { Switch } from "../kit/Switch";
import { CopyButton } from "../kit/CodeSample";
import { Time } from "../kit/Time";
import { useRead } from "../server/read";
import { apiOf, useWorkspace } from "../server/workspace";
import { usePath } from "../shell/where";
import type { Definition } from "./agent";
import { Instructions } from "./Instructions";
import { usePeopleNames } from "./people";
import { SchemaField } from "./SchemaField";
import { ToolChecklist } from "./ToolChecklist";

export interface AgentFormProps {
  name: string;
  shown: Definition;
  /** What is saved, against which changes are marked. */
  saved: Definition;
  errors: Record<string, string>;
  onChange: (change: Partial<Definition>) => void;
  /** Why nothing can be changed. */
  why?: string | undefined;
  /** Why nothing can be changed but instructions and model. */
  whyMost?: string | undefined;
  nameField: ReactNode;
}

/** AgentForm is all that is written of an agent. */
export function AgentForm({ name, shown, saved, errors, onChange, why, whyMost = why, nameField }: AgentFormProps): ReactNode {
  return (
    <>
      <div className="pair">
        {nameField}
        <ModelField value={shown.model} onChange={(model) => onChange({ model })} error={errors["model"]} why={why} />
      </div>
      <Field label="Description" value={shown.description} error={errors["description"]} disabled={whyMost !== undefined} title={whyMost} maxLength={2000} placeholder="What others ask it for" onChange={(event) => onChange({ description: event.target.value })} />
      <Instructions value={shown.instructions} saved={saved.instructions} readOnly={why !== undefined} error={errors["instructions"]} onChange={(instructions) => onChange({ instructions })} />
      <ToolChecklist name={name} shown={shown} onChange={onChange} why={whyMost} />
      <div className="pair">
        <Reasoning value={shown.reasoning} onChange={(reasoning) => onChange({ reasoning })} why={whyMost} />
        <SchemaField value={shown.outputSchema} onChange={(outputSchema) => onChange({ outputSchema })} error={errors["outputSchema"]} why={whyMost} />
      </div>
      <Exposed name={name} on={shown.exposed} onChange={(exposed) => onChange({ exposed })} why={whyMost} />
    </>
  );
}

/** ModelField names a model, and says whether there is a key for it. */
function ModelField({ value, onChange, error, why }: { value: string; onChange: (model: string) => void; error?: string | undefined; why?: string | undefined }): ReactNode {
  const { data } = useRead("/api/workspaces/{username}/{business}/models");
  const path = usePath();
  const nameOf = usePeopleNames();
  const choices: Choice[] = [{ value: "", label: "Workspace default", note: data?.default ?? "" }];
  for (const provider of data?.items ?? []) {
    for (const model of provider.models) choices.push({ value: `${provider.provider}/${model}`, label: `${provider.provider}/${model}`, note: provider.key.present || provider.provider === "scripted" ? "" : "no key yet" });
  }
  const asked = value || (data?.default ?? "");
  const provider = data?.items.find((each) => each.provider === asked.split("/")[0]);
  const help = (): ReactNode => {
    if (!provider) return value === "" && data ? `Now ${data.default}` : undefined;
    if (provider.provider === "scripted") return "Scripted: built in, and no real model.";
    if (!provider.key.present) return <span className="warn">No key for {provider.provider}. <Link className="link" to={path("settings/models")}>Add one</Link></span>;
    if (provider.key.owner === "service" || !provider.key.updatedAt) return <span className="ok"><Icon name="check" small /> <span>Key of the service</span></span>;
    return <span className="ok"><Icon name="check" small /> <span>Key stored <Time at={provider.key.updatedAt} /> by {nameOf(provider.key.updatedBy)}</span></span>;
  };
  return <Combobox label="Model" choices={choices} value={value} onChange={onChange} free placeholder="provider/model" help={help()} error={error} disabled={why !== undefined} />;
}

const levels = [
  { value: "", label: "Not at all" },
  { value: "low", label: "Low" },
  { value: "medium", label: "Medium" },
  { value: "high", label: "High" },
];

function Reasoning({ value, onChange, why }: { value: Definition["reasoning"]; onChange: (reasoning: Definition["reasoning"]) => void; why?: string | undefined }): ReactNode {
  return (
    <Labelled label="Reasoning" help="How hard the model thinks first.">
      {({ id, describedBy }) => (
        <select id={id} className="select" value={value ?? ""} disabled={why !== undefined} title={why} aria-describedby={describedBy} onChange={(event) => onChange((event.target.value || null) as Definition["reasoning"])}>
          {levels.map((level) => <option key={level.value} value={level.value}>{level.label}</option>)}
        </select>
      )}
    </Labelled>
  );
}

/** Exposed lets API keys reach the agent, and says where. */
function Exposed({ name, on, onChange, why }: { name: string; on: boolean; onChange: (on: boolean) => void; why?: string | undefined }): ReactNode {
  const workspace = useWorkspace();
  const address = `${apiOf(workspace)}/agents/${name}/{conversation}`;
  return (
    <div className="field">
      <Switch label="Exposed" help="API keys and MCP clients reach it, beside the people of the workspace." on={on} onChange={onChange} why={why} />
      {on && (
        <div className="copyline">
          <Icon name="globe" small className="faint" />
          <span className="mono trunc grow">{address}</span>
          <CopyButton text={address} label="Copy the address" />
        </div>
      )}
    </div>
  );
}
