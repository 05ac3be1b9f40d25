import { useEffect, useState, type ReactNode } from "react";
import { Icon } from "../kit/Icon";

/** FindBy narrows a list by what is typed, a moment after the last key. The address keeps it. */
export function FindBy({ label, placeholder, value, onFind }: { label: string; placeholder: string; value: string; onFind: (text: string) => void }): ReactNode {
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  useEffect(() => {
    if (typed.trim() === value) return;
    const timer = setTimeout(() => onFind(typed.trim()), 250);
    return () => clearTimeout(timer);
  }, [typed, value, onFind]);
  return (
    <form
      className="tlbar filters"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        onFind(typed.trim());
      }}
    >
      <span className="find-in">
        <Icon name="search" small />
        <input className="input sm" type="search" data-filter aria-label={label} placeholder={placeholder} value={typed} onChange={(event) => setTyped(event.target.value)} spellCheck={false} />
      </span>
    </form>
  );
}
