import { useState, type ReactNode } from "react";
import { Button } from "../kit/Button";
import { ConfirmByName } from "../kit/ConfirmByName";
import { Dialog } from "../kit/Dialog";
import { Trouble } from "../kit/Refusal";
import { Segments } from "../kit/Tabs";
import { useToast } from "../kit/Toast";
import { useAct } from "../server/act";
import type { KeyItem } from "./key";
import type { Made } from "./KeyMade";

const graces = [
  { id: "0", label: "At once" },
  { id: "3600", label: "1 hour" },
  { id: "86400", label: "1 day" },
];

/** RotateKey makes another key with the same rights, and lets the old one live on until programs have the new one. */
export function RotateKey({ of, onClose, onMade }: { of: KeyItem; onClose: () => void; onMade: (made: Made) => void }): ReactNode {
  const [grace, setGrace] = useState("3600");
  const rotate = useAct("post", "/api/workspaces/{username}/{business}/keys/{key}/rotate");
  const send = async (): Promise<void> => {
    const done = await rotate.run({ path: { key: of.id }, body: { graceSeconds: Number(grace) } });
    if (done) onMade(done.answer);
  };
  return (
    <Dialog
      title={`Rotate ${of.name}`}
      onClose={onClose}
      onSubmit={() => void send()}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={rotate.busy}>Rotate</Button>
        </>
      }
    >
      {rotate.error && <Trouble error={rotate.error} />}
      <p className="dim">A new key with the same name, scopes and life takes its place. It is shown once.</p>
      <div className="field">
        <span className="label">The old key ends</span>
        <Segments label="The old key ends" tabs={graces} value={grace} onChange={setGrace} />
      </div>
    </Dialog>
  );
}

/** RevokeKey ends a key at once. */
export function RevokeKey({ of, onClose, onRevoked }: { of: KeyItem; onClose: () => void; onRevoked: () => void }): ReactNode {
  const revoke = useAct("delete", "/api/workspaces/{username}/{business}/keys/{key}");
  const toast = useToast();
  const send = async (): Promise<void> => {
    if (!(await revoke.run({ path: { key: of.id } }))) return;
    onRevoked();
    onClose();
    toast({ tone: "ok", text: `${of.name} is revoked.` });
  };
  return (
    <ConfirmByName act="Revoke key" name={of.name} busy={revoke.busy} error={revoke.error} onClose={onClose} onConfirm={() => void send()}>
      Programs that use it are refused within a second. It cannot be brought back.
    </ConfirmByName>
  );
}
