import { useState, type ReactNode } from "react";
import type { SvcError } from "@svc/sdk";
import { Button } from "../kit/Button";
import { Dialog } from "../kit/Dialog";
import { Field } from "../kit/Field";
import { Trouble } from "../kit/Refusal";
import { fieldErrors } from "../server/refusal";

export interface SuspendDialogProps {
  /** What is done, as the button says it. */
  act: string;
  /** The name that must be typed. */
  name: string;
  /** What it means for them. */
  children: ReactNode;
  busy: boolean;
  error: SvcError | undefined;
  onConfirm: (reason: string) => void;
  onClose: () => void;
}

/** SuspendDialog asks for the reason, which stands beside the suspension, and for the name, which nobody types by accident. */
export function SuspendDialog({ act, name, children, busy, error, onConfirm, onClose }: SuspendDialogProps): ReactNode {
  const [reason, setReason] = useState("");
  const [typed, setTyped] = useState("");
  const missing = reason.trim() === "" ? "Say why first" : typed !== name ? `Type ${name} first` : undefined;
  return (
    <Dialog
      title={act}
      onClose={onClose}
      onSubmit={() => !missing && !busy && onConfirm(reason.trim())}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="danger" className="primary" busy={busy} why={missing}>{act}</Button>
        </>
      }
    >
      {error && <Trouble error={error} />}
      <p className="dim">{children}</p>
      <Field label="Reason" hint="staff see it" value={reason} maxLength={500} onChange={(event) => setReason(event.target.value)} error={fieldErrors(error)["reason"]} autoComplete="off" autoFocus />
      <Field label={`Type ${name} to confirm`} value={typed} onChange={(event) => setTyped(event.target.value)} autoComplete="off" autoCapitalize="off" spellCheck={false} />
    </Dialog>
  );
}
