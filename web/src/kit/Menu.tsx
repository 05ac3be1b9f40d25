import { useId, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { Icon, type IconName } from "./Icon";

export interface MenuItem {
  label: string;
  icon?: IconName;
  /** A second line. */
  note?: string;
  /** Where it leads, on another surface for instance; else what it does. */
  href?: string;
  /** The link is to a file, which is kept under this name. */
  download?: string;
  onSelect?: () => void;
  danger?: boolean;
  /** One of several, and this is it. */
  ticked?: boolean;
  why?: string | undefined;
}

export interface MenuProps {
  /** The name of the menu for those who do not see it; also that of its button, where that shows an icon alone (`bare`). */
  label: string;
  /** What is inside the button that opens it. */
  button: ReactNode;
  bare?: boolean;
  className?: string;
  title?: string;
  /** Items in groups, with a line between. A group may have a heading. */
  groups: readonly { heading?: string; items: readonly MenuItem[] }[];
}

/** Menu opens below its button, in the top layer of the browser: nothing clips it, and a click elsewhere or Escape closes it. */
export function Menu({ label, button, bare = false, className = "btn", title, groups }: MenuProps): ReactNode {
  const id = useId();
  const opener = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const [open, setOpen] = useState(false);

  const items = (): HTMLElement[] => [...(list.current?.querySelectorAll<HTMLElement>("[role^=menuitem]") ?? [])];
  const toggled = (shown: boolean): void => {
    setOpen(shown);
    if (!shown || !list.current || !opener.current) return;
    putBelow(list.current, opener.current);
    items()[0]?.focus();
  };
  const choose = (item: MenuItem): void => {
    if (item.why !== undefined) return;
    list.current?.hidePopover();
    opener.current?.focus();
    item.onSelect?.();
  };
  const move = (event: KeyboardEvent): void => {
    const all = items();
    const at = all.indexOf(document.activeElement as HTMLElement);
    const to = step(event.key, at, all);
    if (to === undefined) return;
    event.preventDefault();
    all[to]?.focus();
  };
  return (
    <>
      <button ref={opener} type="button" className={className} title={title} aria-haspopup="menu" aria-expanded={open} aria-label={bare ? label : undefined} popoverTarget={id}>
        {button}
      </button>
      <div ref={list} id={id} popover="auto" role="menu" aria-label={label} className="menu" onKeyDown={move} onToggle={(event) => toggled(event.newState === "open")}>
        {groups.map((group, i) => (
          <div key={group.heading ?? i} role="group" aria-label={group.heading}>
            {i > 0 && <hr role="separator" />}
            {group.heading && <h3 aria-hidden="true">{group.heading}</h3>}
            {group.items.map((item) => (
              <Entry key={item.label + (item.href ?? "")} item={item} onChoose={() => choose(item)} />
            ))}
          </div>
        ))}
      </div>
    </>
  );
}

function Entry({ item, onChoose }: { item: MenuItem; onChoose: () => void }): ReactNode {
  const inside = (
    <>
      {item.icon && <Icon name={item.icon} />}
      <span className="grow">
        {item.label}
        {(item.why ?? item.note) && <small>{item.why ?? item.note}</small>}
      </span>
      {item.ticked && <Icon name="check" className="ticked" />}
    </>
  );
  const looks = item.danger ? "danger" : "";
  if (item.href) return <a role="menuitem" tabIndex={-1} href={item.href} download={item.download} className={looks}>{inside}</a>;
  const role = item.ticked === undefined ? "menuitem" : "menuitemradio";
  return (
    <button type="button" role={role} aria-checked={item.ticked} aria-disabled={item.why !== undefined || undefined} tabIndex={-1} className={looks} onClick={onChoose}>
      {inside}
    </button>
  );
}

/** step is the item that a key leads to; undefined: the key is none of the menu's. */
export function step(key: string, at: number, all: readonly { textContent: string | null }[]): number | undefined {
  const last = all.length - 1;
  switch (key) {
    case "ArrowDown": return at >= last ? 0 : at + 1;
    case "ArrowUp": return at <= 0 ? last : at - 1;
    case "Home": return 0;
    case "End": return last;
  }
  if (key.length !== 1 || key === " ") return undefined;
  const begins = (i: number): boolean => (all[i]?.textContent ?? "").trim().toLowerCase().startsWith(key.toLowerCase());
  for (let i = 1; i <= all.length; i++) if (begins((at + i) % all.length)) return (at + i) % all.length;
  return undefined;
}

/** putBelow places what is open below its button, or above where there is no room, and inside the window. */
export function putBelow(open: HTMLElement, button: HTMLElement): void {
  const at = button.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = open;
  const below = at.bottom + 4 + height <= innerHeight || at.top < height + 12;
  open.style.top = `${Math.max(8, below ? at.bottom + 4 : at.top - height - 4)}px`;
  open.style.left = `${Math.max(8, Math.min(at.left, innerWidth - width - 8))}px`;
  open.style.minWidth = `${Math.max(200, at.width)}px`;
}
