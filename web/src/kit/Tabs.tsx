import type { KeyboardEvent, ReactNode } from "react";
import { step } from "./Menu";

export interface TabsProps {
  label: string;
  tabs: readonly { id: string; label: string; count?: number }[];
  value: string;
  /** Put it into the address, so that it can be shared and gone back from. */
  onChange: (id: string) => void;
}

/** Tabs choose one of a few views. The arrows move, and what they reach is shown. */
export function Tabs({ label, tabs, value, onChange }: TabsProps): ReactNode {
  const move = (event: KeyboardEvent<HTMLDivElement>): void => {
    const key = event.key === "ArrowRight" ? "ArrowDown" : event.key === "ArrowLeft" ? "ArrowUp" : event.key;
    if (key.length === 1) return;
    const all = [...event.currentTarget.querySelectorAll<HTMLElement>("[role=tab]")];
    const to = step(key, tabs.findIndex((tab) => tab.id === value), all);
    const next = to === undefined ? undefined : tabs[to];
    if (to === undefined || !next) return;
    event.preventDefault();
    all[to]?.focus();
    onChange(next.id);
  };
  return (
    <div className="tabs" role="tablist" aria-label={label} onKeyDown={move}>
      {tabs.map((tab) => (
        <button key={tab.id} type="button" role="tab" aria-selected={tab.id === value} tabIndex={tab.id === value ? 0 : -1} onClick={() => onChange(tab.id)}>
          {tab.label} {tab.count !== undefined && <span className="faint num">{tab.count}</span>}
        </button>
      ))}
    </div>
  );
}

/** Segments choose one of a few filters. */
export function Segments({ label, tabs, value, onChange }: TabsProps): ReactNode {
  return (
    <div className="seg" role="group" aria-label={label}>
      {tabs.map((tab) => (
        <button key={tab.id} type="button" aria-pressed={tab.id === value} onClick={() => onChange(tab.id)}>
          {tab.count === undefined ? tab.label : `${tab.label} ${tab.count}`}
        </button>
      ))}
    </div>
  );
}
