import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { Button } from "../kit/Button";
import { recall } from "../kit/kept";
import { Empty } from "../kit/Empty";
import { Icon } from "../kit/Icon";
import { Segments } from "../kit/Tabs";
import { isTyping } from "../shell/KeyMap";
import { Grid } from "./Grid";
import { Inspector, RunCause } from "./Inspector";
import { LogTail } from "./LogTail";
import { Minimap } from "./Minimap";
import { useNarrow } from "./narrow";
import { failuresOf, rowsOf, type Row, type Show } from "./rows";
import type { Looked } from "./RunPage";
import { Ruler } from "./Ruler";
import { SpanRow } from "./SpanRow";
import type { Span } from "./span";
import { useGrowth } from "./useGrowth";
import { useView } from "./useView";
import type { Told } from "./useRunEvents";
import { useWheel } from "./useWheel";
import { useWindow } from "./window";

export interface TimelineProps {
  told: Told;
  live: boolean;
  failed: boolean;
  loading: boolean;
  looked: Looked;
  onLook: (next: Looked) => void;
}

/** More rows than this have a map of all of them. */
const manyRows = 200;

/** Timeline is what a run did, and when: a tree of spans beside their bars. */
export function Timeline({ told, live, failed, loading, looked, onLook }: TimelineProps): ReactNode {
  const { fold } = told;
  const narrow = useNarrow();
  const rowHeight = narrow ? 52 : 32;
  const show: Show = looked.show === "slow" || looked.show === "failed" ? looked.show : "all";
  const [folded, setFolded] = useState<ReadonlySet<string>>(new Set());
  const rows = useMemo(() => rowsOf(fold, { show, find: looked.find ?? "", folded }), [fold, told, show, looked.find, folded]);
  const failures = useMemo(() => failuresOf(fold), [fold, told]);
  const selected = looked.span ? fold.spans.get(looked.span) : undefined;
  const looking = useView(told, told, live);
  const scroller = useRef<HTMLDivElement>(null);
  const seen = useWindow(scroller, rows.length, rowHeight);
  const width = useLaneWidth(scroller, narrow);
  useWheel(scroller, looking, narrow);
  useGrowth(scroller, looking, live, width);

  const [at, setAt] = useState<string>();
  const active = Math.max(0, rows.findIndex((row) => row.span.id === (at ?? looked.span)));
  const reveal = useReveal(scroller, rows, rowHeight);
  const choose = useCallback(
    (span: Span | undefined, keepFocus = false) => {
      if (span) setFolded((before) => opened(before, span));
      setAt(span?.id);
      onLook({ span: span?.id });
      if (span) reveal(span.id, !keepFocus);
    },
    [onLook, reveal],
  );
  useFailureFocus(failed, failures, looked.span, (span) => choose(span, true));
  useOpening(selected, reveal);

  const turn = (by: 1 | -1): void => {
    if (failures.length === 0) return;
    const now = failures.findIndex((span) => span.id === looked.span);
    choose(failures[(now + by + failures.length + (now < 0 && by < 0 ? 1 : 0)) % failures.length]);
  };
  useKeys({ n: () => turn(1), N: () => turn(-1), "+": () => looking.zoom(0.6), "=": () => looking.zoom(0.6), "-": () => looking.zoom(1 / 0.6), "0": looking.fit });

  const fold_ = (span: Span, open: boolean): void => setFolded((before) => (open ? new Set([...before].filter((id) => id !== span.id)) : new Set([...before, span.id])));
  const key = (event: KeyboardEvent): void => {
    const row = rows[active];
    if (!row || !(event.target instanceof HTMLElement) || event.target.getAttribute("role") !== "row") return;
    const to = moved(event.key, rows, active);
    if (to !== undefined) {
      event.preventDefault();
      const next = rows[to];
      setAt(next?.span.id);
      if (next) reveal(next.span.id, true);
      if (selected && next) onLook({ span: next.span.id });
    } else if (event.key === "ArrowRight" && row.span.children.length > 0 && !row.open) fold_(row.span, true);
    else if (event.key === "ArrowLeft" && row.span.children.length > 0 && row.open) fold_(row.span, false);
    else if (event.key === "Enter") choose(row.span, true);
    else if (event.key === "Escape" && selected) choose(undefined);
    else return;
    event.preventDefault();
  };

  const inspector = selected ? <Inspector key={selected.id} span={selected} told={told} now={looking.now} onClose={() => choose(undefined)} onChoose={choose} /> : failed && failures.length === 0 && fold.cause ? <RunCause cause={fold.cause} /> : null;
  return (
    <div className={inspector && !narrow ? "run with-insp" : "run"} role="tabpanel" aria-label="Timeline">
      <div className="tl">
        <div className="tlbar filters">
          <span className="find-in">
            <Icon name="search" small />
            <input className="input sm" data-filter aria-label="Find a span" placeholder="Find a span" spellCheck={false} value={looked.find ?? ""} onChange={(event) => onLook({ find: event.target.value })} />
          </span>
          {failures.length > 0 && (
            <Button look="ghost" className="danger" icon="warn" title="Next failure" onClick={() => turn(1)}>
              {failures.length} {failures.length === 1 ? "failure" : "failures"} <kbd className="desk">N</kbd>
            </Button>
          )}
          <span className="grow desk" />
          <Segments label="Show" value={show} onChange={(id) => onLook({ show: id === "all" ? undefined : (id as "slow" | "failed") })} tabs={[{ id: "all", label: "All" }, { id: "slow", label: "Slow path" }, { id: "failed", label: "Failed" }]} />
          <Button look="ghost" icon="zoomin" label="Fit the whole run" className="desk" onClick={looking.fit} />
          {live && (
            <Button aria-pressed={looking.following} className="desk" onClick={looking.follow}>
              <span className={looking.following ? "dot live" : "dot faint"} /> {looking.following ? "Following" : "Follow"}
            </Button>
          )}
        </div>
        {rows.length > manyRows && <Minimap rows={rows} looking={looking} seen={seen} onRow={(i) => scroller.current?.scrollTo({ top: i * rowHeight - 100 })} version={told} />}
        <div ref={scroller} className="tlgrid" role="treegrid" aria-label="Timeline" aria-rowcount={rows.length + 1} onKeyDown={key} data-scroll-restoration-id="timeline">
          <Ruler looking={looking} logs={fold.logs} width={width} />
          <div className="tlrows" role="rowgroup" style={{ height: rows.length * rowHeight }}>
            <Grid looking={looking} bands={fold.bands} live={live} width={width} />
            {rows.slice(seen.from, seen.to).map((row, i) => (
              <SpanRow
                key={row.span.id}
                row={row}
                index={seen.from + i}
                top={(seen.from + i) * rowHeight}
                looking={looking}
                told={told}
                width={width}
                selected={row.span === selected}
                tabbable={seen.from + i === active || (i === 0 && (active < seen.from || active >= seen.to))}
                onChoose={choose}
                onFold={fold_}
              />
            ))}
          </div>
          {rows.length === 0 && <NoRows loading={loading} live={live} filtered={show !== "all" || Boolean(looked.find)} onClear={() => onLook({ show: undefined, find: undefined })} />}
        </div>
        <LogTail logs={fold.logs} live={live} />
      </div>
      {inspector}
    </div>
  );
}

function NoRows({ loading, live, filtered, onClear }: { loading: boolean; live: boolean; filtered: boolean; onClear: () => void }): ReactNode {
  if (loading) return <div className="wait spinner tl-wait" role="status" aria-label="Loading the timeline"><span className="spin" /></div>;
  if (filtered) return <Empty icon="search" title="Nothing matches" act={<Button onClick={onClear}>Clear the filter</Button>} />;
  return <Empty icon="runs" title={live ? "Nothing to show yet" : "No steps"}>{live ? "Steps, turns and tools appear here as they begin." : "This run ended without a step, a prompt or a tool."}</Empty>;
}

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
function opened(folded: ReadonlySet<string>, span: Span): ReadonlySet<string> {
  const open = new Set(folded);
  for (let above = span.parent; above; above = above.parent) open.delete(above.id);
  return open.size === folded.size ? folded : open;
}

/** useReveal scrolls to a row, and focuses it if asked to. The row may be drawn only after the scroll. */
function useReveal(scroller: React.RefObject<HTMLDivElement | null>, rows: readonly Row[], rowHeight: number): (id: string, focus?: boolean) => void {
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

/** useFailureFocus opens an errored run on its first failure, once: a reader who closes it is not led back. */
function useFailureFocus(failed: boolean, failures: readonly Span[], span: string | undefined, onFocus: (span: Span) => void): void {
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
function useOpening(selected: Span | undefined, reveal: (id: string) => void): void {
  const shown = useRef<string>(undefined);
  useEffect(() => {
    if (!selected || shown.current === selected.id) return;
    shown.current = selected.id;
    reveal(selected.id);
  }, [selected, reveal]);
}

/** useKeys hears single keys anywhere on the page, unless the reader has switched them off. */
function useKeys(acts: Readonly<Record<string, () => void>>): void {
  const now = useRef(acts);
  now.current = acts;
  useEffect(() => {
    const press = (event: globalThis.KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isTyping(event.target) || recall("keys") === "off") return;
      const act = now.current[event.key];
      if (!act) return;
      event.preventDefault();
      act();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
}

/** useLaneWidth is how wide the bars' side is, in pixels. */
function useLaneWidth(scroller: React.RefObject<HTMLElement | null>, narrow: boolean): number {
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
