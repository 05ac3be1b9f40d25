import { useId, type ReactNode } from "react";

export interface SwitchProps {
  label: string;
  help?: string;
  on: boolean;
  onChange: (on: boolean) => void;
  /** The change is on its way. */
  busy?: boolean;
  why?: string | undefined;
  /** The label is for those who do not see it: it stands in the row already. */
  bare?: boolean;
}

/** Switch is on or off, at once. */
export function Switch({ label, help, on, onChange, busy = false, why, bare = false }: SwitchProps): ReactNode {
  const id = useId();
  const off = busy || why !== undefined;
  const toggle = (
    <button
      type="button"
      role="switch"
      className="toggle"
      aria-checked={on}
      aria-label={bare ? label : undefined}
      aria-labelledby={bare ? undefined : id}
      aria-disabled={off || undefined}
      title={why}
      onClick={() => !off && onChange(!on)}
    />
  );
  if (bare) return toggle;
  return (
    <div className="row">
      <div className="grow">
        <div className="label" id={id}>{label}</div>
        {(why ?? help) && <p className="help">{why ?? help}</p>}
      </div>
      {toggle}
    </div>
  );
}

/** Checkbox is one of several that may be chosen. */
export function Checkbox({ label, on, onChange, why, children }: Omit<SwitchProps, "help" | "bare" | "busy"> & { children?: ReactNode }): ReactNode {
  return (
    <label className="row" title={why}>
      <input type="checkbox" className="tick" checked={on} disabled={why !== undefined} onChange={(event) => onChange(event.target.checked)} />
      <span className="grow">{label}</span>
      {children}
    </label>
  );
}
