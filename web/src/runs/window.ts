import { useLayoutEffect, useState, type RefObject } from "react";

/** Seen are the rows that are drawn, the last one not included. */
export interface Seen {
  readonly from: number;
  readonly to: number;
}

/** So many rows beyond the edge are drawn too: a scroll does not run into nothing. */
const beyond = 12;

/** seenOf are the rows of a scrolled list. */
export function seenOf(top: number, height: number, rows: number, rowHeight: number): Seen {
  const from = Math.max(0, Math.floor(top / rowHeight) - beyond);
  const to = Math.min(rows, Math.ceil((top + height) / rowHeight) + beyond);
  return { from: Math.min(from, Math.max(0, rows)), to: Math.max(to, 0) };
}

/** useWindow draws the rows of a long list that can be seen. All rows are of one height. */
export function useWindow(scroller: RefObject<HTMLElement | null>, rows: number, rowHeight: number): Seen {
  const [at, setAt] = useState({ top: 0, height: 800 });
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return;
    // A step of a few rows is one rendering, not one for each pixel.
    const look = (): void => setAt((before) => {
      const top = Math.floor(element.scrollTop / rowHeight / 4) * rowHeight * 4;
      return before.top === top && before.height === element.clientHeight ? before : { top, height: element.clientHeight };
    });
    look();
    const sizes = new ResizeObserver(look);
    sizes.observe(element);
    element.addEventListener("scroll", look, { passive: true });
    return () => {
      sizes.disconnect();
      element.removeEventListener("scroll", look);
    };
  }, [scroller, rowHeight]);
  return seenOf(at.top, at.height + 4 * rowHeight, rows, rowHeight);
}
