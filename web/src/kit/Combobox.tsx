import { useId, useMemo, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { Labelled } from "./Field";
import { Icon } from "./Icon";
import { putBelow } from "./Menu";

export interface Choice {
  value: string;
  label: string;
  note?: string;
}

export interface ComboboxProps {
  label: string;
  choices: readonly Choice[];
  value: string;
  onChange: (value: string) => void;
  hint?: string;
  help?: ReactNode;
  error?: string | undefined;
  placeholder?: string;
  disabled?: boolean;
  /** Whether what is typed may be a value of its own. Default: one of the choices. */
  free?: boolean;
}

/** Combobox finds one of many by typing. */
export function Combobox({ label, choices, value, onChange, free = false, placeholder, disabled, ...about }: ComboboxProps): ReactNode {
  const list = useId();
  const input = useRef<HTMLInputElement>(null);
  const options = useRef<HTMLDivElement>(null);
  const [typed, setTyped] = useState<string>();
  const [at, setAt] = useState(0);
  const open = typed !== undefined;
  const found = useMemo(() => matching(choices, typed ?? ""), [choices, typed]);
  const chosen = choices.find((choice) => choice.value === value)?.label ?? value;

  const show = (text: string): void => {
    setTyped(text);
    setAt(0);
    if (!options.current || !input.current) return;
    options.current.showPopover();
    putBelow(options.current, input.current);
  };
  const hide = (): void => {
    setTyped(undefined);
    options.current?.hidePopover();
  };
  const choose = (next: string): void => {
    onChange(next);
    hide();
  };
  const key = (event: KeyboardEvent): void => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (!open) return show("");
      const last = Math.max(0, found.length - 1);
      setAt(event.key === "ArrowDown" ? Math.min(last, at + 1) : Math.max(0, at - 1));
    } else if (event.key === "Enter" && open) {
      event.preventDefault();
      const choice = found[at];
      if (choice) choose(choice.value);
      else if (free && typed) choose(typed);
    } else if (event.key === "Escape" && open) {
      // The dialog around it stays open.
      event.preventDefault();
      event.stopPropagation();
      hide();
    }
  };
  const leave = (): void => {
    if (free && typed) onChange(typed);
    hide();
  };
  return (
    <Labelled label={label} {...about}>
      {({ id, describedBy }) => (
        <span className="combo">
          <input
            ref={input}
            id={id}
            className={`input sm ${about.error ? "invalid" : ""}`}
            role="combobox"
            aria-expanded={open}
            aria-controls={list}
            aria-autocomplete="list"
            aria-activedescendant={open && found[at] ? `${list}-${at}` : undefined}
            aria-describedby={describedBy}
            aria-invalid={about.error ? true : undefined}
            autoComplete="off"
            spellCheck={false}
            disabled={disabled}
            placeholder={placeholder}
            value={typed ?? chosen}
            onChange={(event) => show(event.target.value)}
            onClick={() => !open && show("")}
            onKeyDown={key}
            onBlur={leave}
          />
          <Icon name="updown" small />
          <div ref={options} id={list} popover="manual" role="listbox" aria-label={label} className="menu">
            {found.map((choice, i) => (
              // A press would take the focus, and the list with it.
              <div key={choice.value} id={`${list}-${i}`} role="option" aria-selected={i === at} onMouseDown={(event) => event.preventDefault()} onClick={() => choose(choice.value)}>
                <span className="grow">
                  {choice.label}
                  {choice.note && <small>{choice.note}</small>}
                </span>
              </div>
            ))}
            {found.length === 0 && <div role="option" aria-selected="false" aria-disabled="true">{free ? "Press Enter to take what you typed" : "Nothing of that name"}</div>}
          </div>
        </span>
      )}
    </Labelled>
  );
}

/** So many are shown at once: who needs more types another letter. */
const most = 60;

/** matching are the choices that hold every typed word, those that begin with it first. */
export function matching(choices: readonly Choice[], typed: string): Choice[] {
  const wanted = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const text = (choice: Choice): string => `${choice.label} ${choice.note ?? ""} ${choice.value}`.toLowerCase();
  const found = choices.filter((choice) => wanted.every((word) => text(choice).includes(word)));
  const begins = (choice: Choice): number => (choice.label.toLowerCase().startsWith(typed.toLowerCase()) ? 0 : 1);
  return [...found].sort((a, b) => begins(a) - begins(b)).slice(0, most);
}
