import { useId, useState, type InputHTMLAttributes, type ReactNode, type Ref, type TextareaHTMLAttributes } from "react";
import { Icon } from "./Icon";

interface About {
  label: string;
  /** What stands behind the label: "optional", "at least 10 characters". */
  hint?: string;
  /** What is below the field as long as nothing is wrong. */
  help?: ReactNode;
  /** What is wrong. The first field with an error is focused by `focusInvalid`. */
  error?: string | undefined;
}

/** Labelled is a label, a field of any kind, and what is said of it. */
export function Labelled({ label, hint, help, error, children }: About & { children: (ids: { id: string; describedBy: string | undefined }) => ReactNode }): ReactNode {
  const id = useId();
  const told = error ?? help;
  return (
    <div className="field">
      <label htmlFor={id}>
        {label} {hint && <span className="faint w4 t12">{hint}</span>}
      </label>
      {children({ id, describedBy: told ? `${id}-told` : undefined })}
      {told && (
        <p id={`${id}-told`} className={error ? "help bad" : "help"}>
          {error && <Icon name="warn" small />} <span>{told}</span>
        </p>
      )}
    </div>
  );
}

export type FieldProps = About & InputHTMLAttributes<HTMLInputElement> & { ref?: Ref<HTMLInputElement> };

/** Field is one line of text. */
export function Field({ label, hint, help, error, className = "", ...input }: FieldProps): ReactNode {
  return (
    <Labelled label={label} {...given({ hint, help, error })}>
      {({ id, describedBy }) => (
        <input {...input} id={id} className={`input sm ${error ? "invalid" : ""} ${className}`} aria-invalid={error ? true : undefined} aria-describedby={describedBy} />
      )}
    </Labelled>
  );
}

/** TextField is text of several lines. */
export function TextField({ label, hint, help, error, className = "", ...area }: About & TextareaHTMLAttributes<HTMLTextAreaElement>): ReactNode {
  return (
    <Labelled label={label} {...given({ hint, help, error })}>
      {({ id, describedBy }) => <textarea {...area} id={id} className={`area ${error ? "invalid" : ""} ${className}`} aria-invalid={error ? true : undefined} aria-describedby={describedBy} />}
    </Labelled>
  );
}

/** PasswordField hides what is typed until it is asked to show it. */
export function PasswordField({ label, hint, help, error, ...input }: FieldProps): ReactNode {
  const [shown, setShown] = useState(false);
  return (
    <Labelled label={label} {...given({ hint, help, error })}>
      {({ id, describedBy }) => (
        <div className="affix">
          <input {...input} id={id} type={shown ? "text" : "password"} className={`input sm ${error ? "invalid" : ""}`} aria-invalid={error ? true : undefined} aria-describedby={describedBy} autoCapitalize="off" spellCheck={false} />
          <button type="button" aria-pressed={shown} aria-label={`Show ${label.toLowerCase()}`} onClick={() => setShown(!shown)}>
            {shown ? "Hide" : "Show"}
          </button>
        </div>
      )}
    </Labelled>
  );
}

/** focusInvalid leads to the first field that is wrong. Call it when a form was refused. */
export function focusInvalid(form: HTMLElement | null): void {
  form?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
}

/** given leaves out what is undefined, so that it is absent. */
function given<T extends object>(all: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as { [K in keyof T]: Exclude<T[K], undefined> };
}
