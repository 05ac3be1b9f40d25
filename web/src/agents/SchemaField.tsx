import { useState, type ReactNode } from "react";
import { TextField } from "../kit/Field";
import { Switch } from "../kit/Switch";

/** SchemaField is the JSON Schema of an agent's answers; without one they are text. */
export function SchemaField({ value, onChange, error, why }: { value: unknown; onChange: (schema: unknown) => void; error?: string | undefined; why?: string | undefined }): ReactNode {
  const [typed, setTyped] = useState(() => shownAs(value));
  const read = readSchema(typed);
  // What is typed stays as it is as long as it is no schema yet, or means what is kept.
  const text = read.schema === undefined || JSON.stringify(read.schema) === JSON.stringify(value) ? typed : shownAs(value);
  const on = value !== null && value !== undefined;
  const switchOn = (wanted: boolean): void => {
    const schema = wanted ? { type: "object", properties: {}, required: [] } : null;
    setTyped(shownAs(schema));
    onChange(schema);
  };
  const change = (next: string): void => {
    setTyped(next);
    const { schema } = readSchema(next);
    if (schema !== undefined) onChange(schema);
  };
  return (
    <div className="field">
      <Switch label="Answers by a schema" help={on ? "JSON that the schema holds." : "Text, as it is written."} on={on} onChange={switchOn} why={why} />
      {on && <TextField label="Output schema" className="mono" rows={6} value={text} readOnly={why !== undefined} error={(text === typed ? read.wrong : undefined) ?? error} onChange={(event) => change(event.target.value)} spellCheck={false} />}
    </div>
  );
}

function shownAs(schema: unknown): string {
  return schema === null || schema === undefined ? "" : JSON.stringify(schema, undefined, 2);
}

/** readSchema is the schema of a text, or what is wrong with it. */
export function readSchema(text: string): { schema?: object; wrong?: string } {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return { schema: value };
    return { wrong: "A schema is a JSON object." };
  } catch {
    return { wrong: "This is not JSON yet, so the schema before it counts." };
  }
}
