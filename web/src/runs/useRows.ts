import { useCallback, useEffect, useLayoutEffect, useRef, useState, type RefObject } from "react";
import { recall } from "../kit/kept";
import { isTyping } from "../shell/KeyMap";
import type { Row } from "./rows";
import type { Span } from "./span";

/** moved is the row that a key leads to. */
export function moved(key: string, rows: readonly Row[], at: number): number | undefined {
  const row = rows[at];
  switch (key) {
    case "ArrowDown": case "j": return Math.min(rows.length - 1, at + 1);
    case "ArrowUp": case "k": return Math.max(0, at - 1);
    case "Home": return 0;
    case "End": return rows.length - 1;
    case "ArrowRight": return row?.open && row.span.children.length > 0 ? at + 1 : undefined;
    case "ArrowLeft": {
      const parent = row && !(row.open && row.span.children.length > 0) ? row.span.parent : undefined;
      return parent ? rows.findIndex((each) => each.span === parent) : undefined;
    }
  }
  return undefined;
}

/** opened is a set of folds in which a span can be seen. */
export function opened(folded: ReadonlySet<string>, span: Span): ReadonlySet<string> {
  const open = new Set(folded);
  for (let above = span.parent; above; above = above.parent) open.delete(above.id);
  return open.size === folded.size ? folded : open;
}

/** useReveal scrolls to a row, and focuses it if asked to. The row may be drawn only after the scroll. */
export function useReveal(scroller: RefObject<HTMLDivElement | null>, rows: readonly Row[], rowHeight: number): (id: string, focus?: boolean) => void {
  const all = useRef(rows);
  all.current = rows;
  return useCallback(
    (id, focus = false) => {
      requestAnimationFrame(() => {
        const index = all.current.findIndex((row) => row.span.id === id);
        const element = scroller.current;
        if (!element || index < 0) return;
        const top = index * rowHeight;
        if (top < element.scrollTop) element.scrollTop = Math.max(0, top - rowHeight);
        else if (top + 2 * rowHeight > element.scrollTop + element.clientHeight - 28) element.scrollTop = top - element.clientHeight + 3 * rowHeight + 28;
        if (focus) requestAnimationFrame(() => element.querySelector<HTMLElement>(`[data-span="${CSS.escape(id)}"]`)?.focus({ preventScroll: true }));
      });
    },
    [scroller, rowHeight],
  );
}

/** useHeld keeps the row at the top where it is when others come above it. At the very top the first row is what is read. */
export function useHeld(scroller: RefObject<HTMLDivElement | null>, rows: readonly Row[], rowHeight: number): void {
  const before = useRef<readonly Row[]>(rows);
  useLayoutEffect(() => {
    const element = scroller.current;
    const was = before.current;
    before.current = rows;
    if (!element || element.scrollTop === 0 || was === rows) return;
    const index = Math.floor(element.scrollTop / rowHeight);
    const id = was[index]?.span.id;
    // Rows are added at the end as a run goes on: only a row that is no longer in its place has been moved.
    if (id === undefined || rows[index]?.span.id === id) return;
    const now = rows.findIndex((row) => row.span.id === id);
    if (now > index) element.scrollTop += (now - index) * rowHeight;
  }, [scroller, rows, rowHeight]);
}

/** useFailureFocus opens an errored run on its first failure, once: a reader who closes it is not led back. */
export function useFailureFocus(failed: boolean, failures: readonly Span[], span: string | undefined, onFocus: (span: Span) => void): void {
  const done = useRef(span !== undefined);
  const first = failures[0];
  const focus = useRef(onFocus);
  focus.current = onFocus;
  useEffect(() => {
    if (!failed || !first || done.current) return;
    done.current = true;
    focus.current(first);
  }, [failed, first]);
}

/** useOpening brings the span that the address names into view, once it is there. */
export function useOpening(selected: Span | undefined, reveal: (id: string) => void): void {
  const shown = useRef<string>(undefined);
  useEffect(() => {
    if (!selected || shown.current === selected.id) return;
    shown.current = selected.id;
    reveal(selected.id);
  }, [selected, reveal]);
}

/** useKeys hears single keys anywhere on the page, or in the dialog that it stands in, unless the reader has switched them off. */
export function useKeys(acts: Readonly<Record<string, () => void>>, within: RefObject<HTMLElement | null>): void {
  const now = useRef(acts);
  now.current = acts;
  useEffect(() => {
    const press = (event: globalThis.KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isTyping(event.target, within.current) || recall("keys") === "off") return;
      const act = now.current[event.key];
      if (!act) return;
      event.preventDefault();
      act();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [within]);
}

/** useLaneWidth is how wide the bars' side is, in pixels. */
export function useLaneWidth(scroller: RefObject<HTMLElement | null>, narrow: boolean): number {
  const [width, setWidth] = useState(600);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const measure = (): void => setWidth(Math.max(100, element.querySelector<HTMLElement>(".ruler .x")?.clientWidth ?? element.clientWidth));
    measure();
    const sizes = new ResizeObserver(measure);
    sizes.observe(element);
    return () => sizes.disconnect();
  }, [scroller, narrow]);
  return width;
}
