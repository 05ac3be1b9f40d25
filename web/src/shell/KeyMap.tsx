import { useEffect, useState, type ReactNode } from "react";
import { useNavigate } from "@tanstack/react-router";
import { Dialog } from "../kit/Dialog";
import { useKept } from "../kit/kept";
import { Switch } from "../kit/Switch";
import { Palette } from "./Palette";
import { onPalette, openPalette } from "./palette";
import { isApple, usePages } from "./Sidebar";
import { usePath } from "./where";

/** How long `g` waits for the key behind it, in milliseconds. */
const waitsFor = 1_200;
const opening = "svc:keys";

/** openKeys shows the list of keys. */
export function openKeys(): void {
  dispatchEvent(new Event(opening));
}

/** KeyMap is the keyboard of every page: the palette, `g` and a letter, `/` and `?`. Single keys can be switched off. */
export function KeyMap(): ReactNode {
  const [shown, setShown] = useState<"palette" | "keys">();
  const [single, setSingle] = useKept("keys", "on");
  const pages = usePages();
  const path = usePath();
  const navigate = useNavigate();

  useEffect(() => onPalette(() => setShown("palette")), []);
  useEffect(() => {
    const open = (): void => setShown("keys");
    addEventListener(opening, open);
    return () => removeEventListener(opening, open);
  }, []);

  useEffect(() => {
    let wentAt = 0;
    const press = (event: KeyboardEvent): void => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        return openPalette();
      }
      if (single !== "on" || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isTyping(event.composedPath()[0] ?? null)) return;
      if (event.timeStamp - wentAt < waitsFor) {
        wentAt = 0;
        const page = pages.find((each) => each.nav?.key === event.key);
        if (!page) return;
        event.preventDefault();
        return void navigate({ to: path(page.path) });
      }
      if (event.key === "g") wentAt = event.timeStamp;
      if (event.key === "?") setShown("keys");
      if (event.key === "/") focusFilter(event);
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [single, pages, path, navigate]);

  if (shown === "palette") return <Palette onClose={() => setShown(undefined)} />;
  if (shown !== "keys") return null;
  const going = pages.flatMap((page) => (page.nav?.key ? [[page.title, "g", page.nav.key]] : []));
  const rows = [["Jump to anything", isApple() ? "⌘" : "Ctrl", "K"], ...going, ["Filter this list", "/"], ["Next, previous row", "j", "k"], ["Open the row", "Enter"], ["Close", "Esc"], ["This list", "?"]];
  return (
    <Dialog title="Keyboard" onClose={() => setShown(undefined)}>
      <dl className="keys">
        {rows.map(([what, ...keys]) => (
          <div key={what} style={{ display: "contents" }}>
            <dt>{what}</dt>
            <dd>
              {keys.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dd>
          </div>
        ))}
      </dl>
      <Switch label="Single keys" help="Keys without Ctrl or ⌘, such as j and ?" on={single === "on"} onChange={(on) => setSingle(on ? "on" : "off")} />
    </Dialog>
  );
}

/** isTyping reports whether a key belongs to what is typed. A dialog has its own keys. Ask of the innermost target: an editor is in a shadow. */
export function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || target.closest("input, textarea, select, dialog, [role=menu]") !== null);
}

/** focusFilter leads to the filter of the page, if it has one: the input with data-filter. */
function focusFilter(event: KeyboardEvent): void {
  const filter = document.querySelector<HTMLElement>("[data-filter]");
  if (!filter) return;
  event.preventDefault();
  filter.focus();
}
