import type { ReactNode } from "react";
import { Field, TextField } from "../kit/Field";
import { envIn, variablesOf, type Program } from "./program";

export interface ProgramFieldsProps {
  value: Program;
  onChange: (value: Program) => void;
  errors: Record<string, string>;
  /** The variables that the service has already; undefined: the program is new. */
  stored?: readonly string[] | undefined;
}

/** ProgramFields are how a server is started on the machines of the service. */
export function ProgramFields({ value, onChange, errors, stored }: ProgramFieldsProps): ReactNode {
  const odd = envIn(value.env) === undefined ? "One variable a line, as NAME=value." : undefined;
  return (
    <>
      <Field label="Command" className="mono" placeholder="/usr/local/bin/mcp-server" value={value.command} maxLength={1024} autoFocus autoComplete="off" spellCheck={false} error={errors["command"] ?? errors["transport"]} help="It is started by each process of the service that connects it, with that process's rights." onChange={(event) => onChange({ ...value, command: event.target.value })} />
      <TextField label="Arguments" hint="one a line" className="mono" rows={2} value={value.args} autoComplete="off" spellCheck={false} error={errors["args"]} onChange={(event) => onChange({ ...value, args: event.target.value })} />
      <TextField label="Variables" hint="one a line" className="mono" rows={2} placeholder={stored ? "Leave it empty to keep what is stored" : "TOKEN=…"} value={value.env} autoComplete="off" spellCheck={false} error={odd ?? errors["env"]} help={stored ? `${variablesOf(stored)}. What you write takes their place.` : "They are sealed; only their names are shown again. It is given nothing else of the service's own."} onChange={(event) => onChange({ ...value, env: event.target.value })} />
    </>
  );
}
