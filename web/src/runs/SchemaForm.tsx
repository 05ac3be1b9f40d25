import type { ReactNode } from "react";
import { Combobox } from "../kit/Combobox";
import { Field, TextField } from "../kit/Field";
import { Switch } from "../kit/Switch";
import type { Input, Typed } from "./schema";

export interface SchemaFormProps {
  inputs: readonly Input[];
  typed: Typed;
  wrong: Readonly<Record<string, string>>;
  onChange: (typed: Typed) => void;
}

/** SchemaForm is a field for each property of a schema. */
export function SchemaForm({ inputs, typed, wrong, onChange }: SchemaFormProps): ReactNode {
  return inputs.map((input) => (
    <OneInput key={input.name} input={input} text={typed[input.name] ?? ""} error={wrong[input.name]} onChange={(text) => onChange({ ...typed, [input.name]: text })} />
  ));
}

function OneInput({ input, text, error, onChange }: { input: Input; text: string; error: string | undefined; onChange: (text: string) => void }): ReactNode {
  const about = { label: input.label, hint: hintOf(input), error, ...(input.help && { help: input.help }) };
  switch (input.kind) {
    case "switch": return <Switch label={input.label} {...(input.help && { help: input.help })} on={text === "true"} onChange={(on) => onChange(String(on))} />;
    case "choice": return <Combobox {...about} choices={input.choices.map((value) => ({ value, label: value }))} value={text} onChange={onChange} />;
    case "long": case "list": return <TextField {...about} rows={3} value={text} onChange={(event) => onChange(event.target.value)} />;
    case "json": return <TextField {...about} rows={4} className="mono" spellCheck={false} value={text} onChange={(event) => onChange(event.target.value)} />;
    case "integer": case "number": return <Field {...about} className="num" inputMode={input.kind === "integer" ? "numeric" : "decimal"} value={text} onChange={(event) => onChange(event.target.value)} />;
    case "text": return <Field {...about} value={text} onChange={(event) => onChange(event.target.value)} />;
  }
}

/** hintOf says what kind of thing is asked for. */
function hintOf(input: Input): string {
  const kind = input.kind === "list" ? "one to a line" : input.kind === "json" ? "JSON" : bounds(input);
  return [input.required ? "required" : "", kind].filter(Boolean).join(", ");
}

function bounds({ kind, least, most }: Input): string {
  if (kind === "text" || kind === "long") return most === undefined ? "" : `up to ${most} characters`;
  if (kind !== "integer" && kind !== "number") return "";
  if (least !== undefined && most !== undefined) return `${least} to ${most}`;
  return least !== undefined ? `at least ${least}` : most !== undefined ? `at most ${most}` : "";
}
