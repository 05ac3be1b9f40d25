import { useState, type ReactNode } from "react";
import type { SvcError } from "@svc/sdk";
import { Button } from "./Button";
import { Dialog } from "./Dialog";
import { Field } from "./Field";
import { Trouble } from "./Refusal";

export interface ConfirmByNameProps {
  /** What is done, as the button says it: "Delete agent". */
  act: string;
  /** The name that must be typed. */
  name: string;
  /** What is lost. */
  children: ReactNode;
  onConfirm: () => void;
  onClose: () => void;
  busy?: boolean;
  error?: SvcError | undefined;
}

/** ConfirmByName asks for the name of what is destroyed: nobody types it by accident. */
export function ConfirmByName({ act, name, children, onConfirm, onClose, busy = false, error }: ConfirmByNameProps): ReactNode {
  const [typed, setTyped] = useState("");
  const matches = typed === name;
  return (
    <Dialog
      title={act}
      onClose={onClose}
      onSubmit={() => matches && !busy && onConfirm()}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="danger" className="primary" busy={busy} why={matches ? undefined : `Type ${name} first`}>
            {act}
          </Button>
        </>
      }
    >
      {error && <Trouble error={error} />}
      <div className="dim">{children}</div>
      <Field label={`Type ${name} to confirm`} value={typed} onChange={(event) => setTyped(event.target.value)} autoComplete="off" autoCapitalize="off" spellCheck={false} autoFocus />
    </Dialog>
  );
}
