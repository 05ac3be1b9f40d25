import { useEffect, useState, type ReactNode } from "react";
import { Icon } from "./Icon";

/** How long a person pauses before the list is asked for what they typed, in milliseconds. */
const pause = 200;

/** SearchBar filters a list by a text that stands in the address. `/` leads to it, Escape empties it. */
export function SearchBar({ label, value, onChange, children }: { label: string; value: string; onChange: (text: string) => void; children?: ReactNode }): ReactNode {
  return (
    <div className="tlbar filters" role="search">
      <SearchField label={label} value={value} onChange={onChange} />
      {children}
    </div>
  );
}

/** SearchField is the field alone, where it stands among others. */
export function SearchField({ label, value, onChange }: { label: string; value: string; onChange: (text: string) => void }): ReactNode {
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  useEffect(() => {
    if (typed === value) return;
    const timer = setTimeout(() => onChange(typed), pause);
    return () => clearTimeout(timer);
  }, [typed, value, onChange]);
  return (
    <span className="find-in">
      <Icon name="search" small />
      <input className="input sm" type="search" data-filter aria-label={label} placeholder={label} value={typed} spellCheck={false} onChange={(event) => setTyped(event.target.value)} onKeyDown={(event) => event.key === "Escape" && setTyped("")} />
    </span>
  );
}
