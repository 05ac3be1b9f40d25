import { useEffect, useRef, useState, type ReactNode } from "react";
import { useNavigate } from "@tanstack/react-router";
import { Dialog } from "../kit/Dialog";
import { useKept } from "../kit/kept";
import { Switch } from "../kit/Switch";
import { Palette } from "./Palette";
import { onOpen, openPalette } from "./palette";
import { toRow } from "./rows";
import { isApple, usePages } from "./Sidebar";
import type { PageRow } from "../routes";
import { usePath } from "./where";

/** How long `g` waits for the key behind it, in milliseconds. */
const waitsFor = 1_200;

/** KeyMap is the keyboard of every page: the palette, `g` and a letter, `c`, `j` and `k`, `/` and `?`. Single keys can be switched off. */
export function KeyMap(): ReactNode {
  const [shown, setShown] = useState<"palette" | "keys">();
  const [single, setSingle] = useKept("keys", "on");
  const pages = usePages();
  const path = usePath();
  const navigate = useNavigate();

  useEffect(() => onOpen(setShown), []);

  // When `g` was pressed: it is remembered while the page is drawn anew.
  const wentAt = useRef(-Infinity);
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        return openPalette();
      }
      if (single !== "on" || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isTyping(event.composedPath()[0] ?? null)) return;
      if (event.timeStamp - wentAt.current < waitsFor) {
        wentAt.current = -Infinity;
        const page = pages.find((each) => each.nav?.key === event.key);
        if (!page) return;
        event.preventDefault();
        return void navigate({ to: path(page.path) });
      }
      if (event.key === "g") wentAt.current = event.timeStamp;
      if (event.key === "?") setShown("keys");
      if (event.key === "/") focusFilter(event);
      if (event.key === "c" && pages.some((page) => page.path === "chat")) beginConversation(event, () => void navigate({ to: path("chat") }));
      if ((event.key === "j" || event.key === "k") && toRow(event.key)) event.preventDefault();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [single, pages, path, navigate]);

  if (shown === "palette") return <Palette onClose={() => setShown(undefined)} />;
  if (shown !== "keys") return null;
  return (
    <Dialog title="Keyboard" onClose={() => setShown(undefined)}>
      <Keys pages={pages} />
      <Switch label="Single keys" help="Keys without Ctrl or ⌘, such as j and ?" on={single === "on"} onChange={(on) => setSingle(on ? "on" : "off")} />
    </Dialog>
  );
}

/** Keys are all keys, by where they work. */
function Keys({ pages }: { pages: readonly PageRow[] }): ReactNode {
  const command = isApple() ? "⌘" : "Ctrl";
  const has = (path: string): boolean => pages.some((page) => page.path === path);
  const groups: Record<string, readonly (readonly string[])[]> = {
    Everywhere: [["Jump to anything", command, "K"], ...pages.flatMap((page) => (page.nav?.key ? [[page.title, "g", page.nav.key]] : [])), ...(has("chat") ? [["New conversation", "c"]] : []), ["This list", "?"]],
    "In a list": [["Filter it", "/"], ["Next row, row before", "j", "k"], ["Open the row", "Enter"], ...(has("runs") ? [["Select a run", "x"]] : []), ["Close, or select none", "Esc"]],
    ...(has("chat") && { "In a conversation": [["Find in it", command, "F"], ["Question before, next question", "[", "]"], ["Last message", "Alt", "↓"], ["Stop the reply", "Esc"]] }),
    ...(has("runs") && { "On a timeline": [["Next failure", "n"], ["Closer, further", "+", "−"], ["The whole run", "0"]] }),
  };
  return (
    <>
      {Object.entries(groups).map(([where, rows]) => (
        <section key={where} aria-label={where}>
          <h3 className="keys-of">{where}</h3>
          <dl className="keys">
            {rows.map(([what, ...keys]) => (
              <div key={what} className="bare-group">
                <dt>{what}</dt>
                <dd>{keys.map((key) => <kbd key={key}>{key}</kbd>)}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </>
  );
}

/**
 * isTyping reports whether a key belongs to what is typed. A dialog has its own keys, which only what stands in it hears. Ask of the
 * innermost target: an editor is in a shadow.
 */
export function isTyping(target: EventTarget | null, hears: Element | null = null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || target.closest("input, textarea, select, [role=menu]") !== null || target.closest("dialog") !== (hears?.closest("dialog") ?? null);
}

/** beginConversation presses the button of the page that begins one, with the agent that is shown; elsewhere it goes to the chat. */
function beginConversation(event: KeyboardEvent, go: () => void): void {
  event.preventDefault();
  const button = document.querySelector<HTMLElement>("[aria-keyshortcuts=c]");
  if (button) button.click();
  else go();
}

/** focusFilter leads to the filter of the page, if it has one: the input with data-filter. */
function focusFilter(event: KeyboardEvent): void {
  const filter = document.querySelector<HTMLElement>("[data-filter]");
  if (!filter) return;
  event.preventDefault();
  filter.focus();
}
