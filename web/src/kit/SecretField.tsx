import { useState, type ReactNode } from "react";
import { Button } from "./Button";
import { PasswordField } from "./Field";
import { Time } from "./Time";

export interface SecretFieldProps {
  label: string;
  /** Whether the service has one. It never says which. */
  stored: boolean;
  storedAt?: string | undefined;
  storedBy?: string | undefined;
  value: string;
  onChange: (value: string) => void;
  error?: string | undefined;
  why?: string | undefined;
}

/** SecretField takes a secret and never shows one that is stored: only that it is, since when and by whom. */
export function SecretField({ label, stored, storedAt, storedBy, value, onChange, error, why }: SecretFieldProps): ReactNode {
  const [replacing, setReplacing] = useState(false);
  if (!stored || replacing) {
    return <PasswordField label={label} value={value} onChange={(event) => onChange(event.target.value)} error={error} autoComplete="off" placeholder="Paste it here" />;
  }
  return (
    <div className="field">
      <span className="label">{label}</span>
      <div className="row">
        <span className="t13 dim grow trunc">
          stored {storedAt && <Time at={storedAt} />} {storedBy && `by ${storedBy}`}
        </span>
        <Button small why={why} onClick={() => setReplacing(true)}>
          Replace
        </Button>
      </div>
    </div>
  );
}
