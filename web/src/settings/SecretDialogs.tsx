import { useState, type ReactNode } from "react";
import { Button } from "../kit/Button";
import { ConfirmByName } from "../kit/ConfirmByName";
import { Dialog } from "../kit/Dialog";
import { Field, TextField } from "../kit/Field";
import { Trouble } from "../kit/Refusal";
import { useToast } from "../kit/Toast";
import { useAct } from "../server/act";
import type { ItemOf } from "../server/path";

export type SecretItem = ItemOf<"/api/workspaces/{username}/{business}/secrets">;

const path = "/api/workspaces/{username}/{business}/secrets/{secret}";
const models = "/api/workspaces/{username}/{business}/models";

/** nameProblem is what is wrong with the name of a secret; undefined: nothing. */
export function nameProblem(name: string): string | undefined {
  if (name === "" || /^[A-Z][A-Z0-9_]{0,63}$/.test(name)) return undefined;
  if (name.length > 64) return "At most 64 characters.";
  return "Capital letters, digits and _, and a letter first: MAIL_PASSWORD.";
}

/** PutSecret keeps a value: a new one, or one in the place of another. */
export function PutSecret({ secret, onClose }: { secret: SecretItem | undefined; onClose: () => void }): ReactNode {
  const [name, setName] = useState(secret?.name ?? "");
  const [value, setValue] = useState("");
  const put = useAct("put", path, { refreshes: [models] });
  const toast = useToast();
  const problem = nameProblem(name);
  const why = !name ? "Give it a name first" : (problem ?? (value ? undefined : "Write the value first"));
  const send = async (): Promise<void> => {
    if (why || !(await put.run({ path: { secret: name }, body: { value }, version: secret?.version }))) return;
    onClose();
    toast({ tone: "ok", text: `${name} is stored.` });
  };
  return (
    <Dialog
      title={secret ? `Replace ${secret.name}` : "New secret"}
      onClose={onClose}
      onSubmit={() => void send()}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={put.busy} why={why}>{secret ? "Replace" : "Store"}</Button>
        </>
      }
    >
      {put.error && <Trouble error={put.error} />}
      {!secret && (
        <Field label="Name" value={name} onChange={(event) => setName(event.target.value.toUpperCase().replaceAll(/[\s-]/g, "_"))} error={problem} className="mono" autoFocus autoComplete="off" spellCheck={false} placeholder="MAIL_PASSWORD" help="What agents and tools call it." />
      )}
      <TextField label="Value" value={value} onChange={(event) => setValue(event.target.value)} className="mono" autoFocus={secret !== undefined} autoComplete="off" spellCheck={false} rows={3} help="At most 48 KiB. It is sealed and cannot be read back, not even by you." />
    </Dialog>
  );
}

/** DeleteSecret destroys a value. */
export function DeleteSecret({ secret, onClose }: { secret: SecretItem; onClose: () => void }): ReactNode {
  const drop = useAct("delete", path, { refreshes: [models] });
  const toast = useToast();
  const send = async (): Promise<void> => {
    if (!(await drop.run({ path: { secret: secret.name }, version: secret.version }))) return;
    onClose();
    toast({ tone: "ok", text: `${secret.name} is destroyed.` });
  };
  return (
    <ConfirmByName act="Delete secret" name={secret.name} busy={drop.busy} error={drop.error} onClose={onClose} onConfirm={() => void send()}>
      The value is destroyed and cannot be brought back.
      {secret.usedBy.length > 0 && ` ${secret.usedBy.join(", ")} uses it and will fail.`}
    </ConfirmByName>
  );
}
