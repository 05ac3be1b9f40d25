import { useCallback, useEffect, useImperativeHandle, useLayoutEffect, useMemo, useRef, useState, type ReactNode, type Ref } from "react";
import { flushSync } from "react-dom";
import { Button } from "../kit/Button";
import { Following } from "./following";
import { Heights } from "./heights";
import type { Place } from "./place";

/** From so many rows on, only those are drawn that are near to the view. */
const windowedFrom = 80;
/** How far beyond the view rows are drawn, in pixels. */
const beyond = 1_000;

/** TranscriptHandle is what others may do with a transcript. */
export interface TranscriptHandle {
  readonly latest: () => void;
  /** toLast goes to the end, and has the last message read out. */
  readonly toLast: () => void;
  /** show brings a row to the top of the view. */
  readonly show: (key: string) => void;
  /** The row at the top of the view. */
  readonly top: () => string | undefined;
  readonly view: () => HTMLElement | null;
}

export interface TranscriptProps {
  label: string;
  /** The rows, by their keys. */
  keys: readonly string[];
  row: (key: string, index: number) => ReactNode;
  /** The row that has the rest of the view for itself, so that its question stands at the top. It is the last. */
  reserved: string | undefined;
  /** Where it is read first. Default: at its end. */
  begins?: Place | undefined;
  /** Told where it was read last. */
  onLeave?: (place: Place) => void;
  /** What stands above all rows. */
  children?: ReactNode;
  ref?: Ref<TranscriptHandle>;
}

/** Transcript shows rows that grow downwards, and holds what is read still. */
export function Transcript({ label, keys, row, reserved, begins = "end", onLeave, children, ref }: TranscriptProps): ReactNode {
  const view = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const follow = useRef<Following>(undefined);
  const [heights] = useState(() => new Heights());
  const [following, setFollowing] = useState(true);
  const [leftAt, setLeftAt] = useState(0);
  // Only this component moves what it shows: the router, which puts back what was scrolled by its place in the page, does not find it.
  const [scrollId] = useState(() => crypto.randomUUID());
  const windowed = keys.length >= windowedFrom;
  const [range, setRange] = useState<readonly [number, number]>([Math.max(0, keys.length - 20), keys.length]);
  const count = useRef(keys);
  count.current = keys;

  /** place draws the rows that are near to the view. */
  const place = useCallback((): void => {
    const element = view.current;
    if (!element || count.current.length < windowedFrom) return;
    const [from, to] = heights.within(count.current, element.scrollTop - beyond, element.scrollTop + element.clientHeight + beyond);
    setRange((before) => (before[0] === from && before[1] === to ? before : [from, to]));
  }, [heights]);

  useLayoutEffect(() => {
    const element = view.current;
    if (!element) return;
    const own = new Following(element, (on) => {
      setFollowing(on);
      if (!on) setLeftAt(count.current.length);
    });
    follow.current = own;
    const release = own.listen();
    own.settle();
    return release;
  }, []);

  useLayoutEffect(() => {
    const element = view.current;
    const inside = content.current;
    if (!element || !inside) return;
    const sizes = new ResizeObserver(() => {
      element.style.setProperty("--view", `${element.clientHeight}px`);
      follow.current?.settle();
      place();
    });
    sizes.observe(element);
    sizes.observe(inside);
    element.addEventListener("scroll", place, { passive: true });
    return () => {
      sizes.disconnect();
      element.removeEventListener("scroll", place);
    };
  }, [place]);

  // A row that was sent goes to the top: the reader wants to see what comes of it.
  useLayoutEffect(() => {
    if (reserved !== undefined) follow.current?.latest();
  }, [reserved]);
  useLayoutEffect(() => {
    follow.current?.settle();
    place();
  }, [keys, place]);

  const rows = useMeasured(view, heights, follow, count);
  const bring = useCallback(
    (key: string, above: number): void => {
      const index = count.current.indexOf(key);
      const element = view.current;
      if (index < 0 || !element) return;
      follow.current?.leave();
      const go = (): void => {
        const drawn = element.querySelector<HTMLElement>(`[data-row="${CSS.escape(key)}"]`);
        follow.current?.moveTo((drawn ? drawn.offsetTop : (heights.tops(count.current)[index] ?? 0)) + above);
        flushSync(place);
      };
      go();
      // The rows around it are measured when they are drawn, which moves what is in view.
      go();
      requestAnimationFrame(() => {
        go();
        requestAnimationFrame(go);
      });
    },
    [heights, place],
  );
  useBeginning(begins, keys, bring, follow);
  useLeaving(onLeave, view, count, follow);
  const show = useCallback((key: string) => bring(key, -12), [bring]);
  const toLast = useCallback(() => {
    follow.current?.latest();
    focusLast(view.current);
  }, []);
  useImperativeHandle(ref, () => ({
    latest: () => follow.current?.latest(),
    toLast,
    show,
    top: () => topOf(view.current),
    view: () => view.current,
  }), [show, toLast]);

  // A fold that is opened keeps its header where it is.
  const folded = (event: React.MouseEvent): void => {
    if (!(event.target instanceof Element) || !event.target.closest("[aria-expanded]")) return;
    follow.current?.leave();
    requestAnimationFrame(() => follow.current?.look());
  };
  const news = following ? 0 : Math.max(0, keys.length - leftAt);
  return (
    <>
      <div ref={view} className="scroll" onClickCapture={folded} data-scroll-restoration-id={scrollId}>
        <div ref={content} className="turns" role="log" aria-live="off" aria-label={label}>
          {children}
          <Rows keys={keys} range={windowed ? range : undefined} heights={heights} row={row} reserved={reserved} measure={rows} view={view} />
        </div>
      </div>
      {!following && keys.length > 0 && (
        <Button className="jump" icon="down" onClick={toLast}>
          {news > 0 ? `${news} new` : "Latest"}
        </Button>
      )}
    </>
  );
}

/** useBeginning goes to where the transcript is read first, when its rows are there. */
function useBeginning(begins: Place, keys: readonly string[], bring: (key: string, above: number) => void, follow: React.RefObject<Following | undefined>): void {
  const begun = useRef(begins === "end");
  useLayoutEffect(() => {
    if (begun.current || begins === "end" || keys.length === 0) return;
    begun.current = true;
    bring(keys[Math.min(begins.index, keys.length - 1)]!, begins.above);
    follow.current?.look(); // all of it may be in view
  }, [begins, keys, bring, follow]);
}

/** useLeaving tells where the transcript was read when it goes, or the page does. */
function useLeaving(onLeave: ((place: Place) => void) | undefined, view: React.RefObject<HTMLElement | null>, keys: React.RefObject<readonly string[]>, follow: React.RefObject<Following | undefined>): void {
  const told = useRef(onLeave);
  told.current = onLeave;
  useLayoutEffect(() => {
    const tell = (): void => {
      if (keys.current.length > 0) told.current?.(follow.current?.on ? "end" : placeIn(view.current, keys.current));
    };
    addEventListener("pagehide", tell);
    return () => {
      removeEventListener("pagehide", tell);
      tell();
    };
  }, [view, keys, follow]);
}

function placeIn(view: HTMLElement | null, keys: readonly string[]): Place {
  for (const row of view?.querySelectorAll<HTMLElement>("[data-row]") ?? []) {
    const index = keys.indexOf(row.dataset["row"] ?? "");
    if (view && index >= 0 && row.offsetTop + row.offsetHeight > view.scrollTop) return { index, above: view.scrollTop - row.offsetTop };
  }
  return "end";
}

interface RowsProps extends Pick<TranscriptProps, "keys" | "row" | "reserved"> {
  /** Undefined: all of them. */
  range: readonly [number, number] | undefined;
  heights: Heights;
  measure: (element: HTMLElement | null) => (() => void) | undefined;
  view: React.RefObject<HTMLElement | null>;
}

/** Rows draws those in the range, and those that have the focus or a selection: they must not vanish from under the reader. */
function Rows({ keys, range, heights, row, reserved, measure, view }: RowsProps): ReactNode {
  const pinned = range ? pinnedIn(view.current) : undefined;
  const all: ReactNode[] = [];
  const tops = range ? heights.tops(keys) : undefined;
  let space = 0;
  const gap = (at: number): void => {
    if (space > 0) all.push(<div key={`space-${at}`} style={{ height: space, flex: "none" }} />);
    space = 0;
  };
  const drawn = range ? new Set([...indexes(keys, pinned), ...between(range, keys.length)]) : undefined;
  const wanted = drawn ? [...drawn].sort((a, b) => a - b) : keys.map((_, i) => i);
  let next = 0;
  for (const index of wanted) {
    if (tops) space += tops[index]! - tops[next]!;
    gap(index);
    const key = keys[index]!;
    all.push(
      <div key={key} data-row={key} ref={measure} className={key === reserved ? "row-of reserve" : "row-of"}>
        {row(key, index)}
      </div>,
    );
    next = index + 1;
  }
  if (tops) space += tops[keys.length]! - tops[next]!;
  gap(keys.length);
  return all;
}

function between([from, to]: readonly [number, number], length: number): number[] {
  const all: number[] = [];
  for (let i = Math.min(from, Math.max(0, length - 1)); i < Math.min(to, length); i++) all.push(i);
  if (length > 0) all.push(length - 1); // the one that grows
  return all;
}

function indexes(keys: readonly string[], pinned: ReadonlySet<string> | undefined): number[] {
  return [...(pinned ?? [])].map((key) => keys.indexOf(key)).filter((index) => index >= 0);
}

/** pinnedIn are the rows with the focus or a selection in them. */
function pinnedIn(view: HTMLElement | null): ReadonlySet<string> {
  const selection = document.getSelection();
  const nodes = [document.activeElement, ...(selection && !selection.isCollapsed ? [selection.anchorNode, selection.focusNode] : [])];
  const keys = nodes.flatMap((node) => {
    const element = node instanceof Element ? node : node?.parentElement;
    const key = view?.contains(element ?? null) ? element?.closest<HTMLElement>("[data-row]")?.dataset["row"] : undefined;
    return key === undefined ? [] : [key];
  });
  return new Set(keys);
}

/** useMeasured keeps the heights of rows. What changes above the view must not move what is in it. */
function useMeasured(view: React.RefObject<HTMLDivElement | null>, heights: Heights, follow: React.RefObject<Following | undefined>, keys: React.RefObject<readonly string[]>): RowsProps["measure"] {
  const observer = useMemo(
    () =>
      new ResizeObserver((entries) => {
        const element = view.current;
        if (!element) return;
        let moved = 0;
        for (const { target, borderBoxSize } of entries) {
          if (!(target instanceof HTMLElement) || !target.isConnected) continue;
          const height = borderBoxSize[0]?.blockSize ?? target.offsetHeight;
          // Where all rows are drawn, one that was never measured has stood for no other height.
          const stood = keys.current.length >= windowedFrom || heights.has(target.dataset["row"] ?? "");
          const differs = heights.set(target.dataset["row"] ?? "", height);
          if (stood && differs !== 0 && target.offsetTop + height - differs <= element.scrollTop + 1) moved += differs;
        }
        if (moved !== 0 && !follow.current?.on) follow.current?.moveTo(element.scrollTop + moved);
      }),
    [view, heights, follow, keys],
  );
  useEffect(() => () => observer.disconnect(), [observer]);
  return useCallback(
    (element) => {
      if (!element) return undefined;
      observer.observe(element);
      return () => observer.unobserve(element);
    },
    [observer],
  );
}

function focusLast(view: HTMLElement | null): void {
  const articles = view?.querySelectorAll<HTMLElement>("article");
  const last = articles?.[articles.length - 1];
  if (!last) return;
  last.tabIndex = -1;
  last.focus({ preventScroll: true });
}

function topOf(view: HTMLElement | null): string | undefined {
  if (!view) return undefined;
  for (const row of view.querySelectorAll<HTMLElement>("[data-row]")) {
    if (row.offsetTop + row.offsetHeight > view.scrollTop + 16) return row.dataset["row"];
  }
  return undefined;
}
