import type { ButtonHTMLAttributes, ReactNode, Ref } from "react";
import { Icon, type IconName } from "./Icon";

export interface ButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, "disabled"> {
  /** Ink for the one act of a page; ghost beside others. Default: a line around it. */
  look?: "primary" | "ghost" | "danger" | "plain";
  small?: boolean;
  icon?: IconName;
  /** It works: the button stays where it is and cannot be pressed again. */
  busy?: boolean;
  /** Why it cannot be pressed, which a person can find out by keyboard too. */
  why?: string | undefined;
  /** The name of a button that shows its icon alone. */
  label?: string;
  ref?: Ref<HTMLButtonElement>;
}

/** Button does something. One that may not be pressed keeps its place in the order of tabs and says why. */
export function Button({ look = "plain", small = false, icon, busy = false, why, label, className = "", children, onClick, type = "button", title, ...rest }: ButtonProps): ReactNode {
  const off = busy || why !== undefined;
  const looks = ["btn", look === "plain" ? "" : look, small ? "sm" : "", children === undefined && icon ? "icon" : "", className].filter(Boolean).join(" ");
  return (
    <button
      {...rest}
      // Off, it still takes the Enter of its form: without a button to press the form would be sent.
      type={type}
      className={looks}
      aria-label={label}
      aria-disabled={off || undefined}
      aria-busy={busy || undefined}
      title={why ?? title ?? (children === undefined ? label : undefined)}
      onClick={off ? (event) => event.preventDefault() : onClick}
    >
      {busy ? <span className="spin" /> : icon && <Icon name={icon} small={children !== undefined} />}
      {children}
    </button>
  );
}
