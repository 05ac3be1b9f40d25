import { useCallback, useMemo, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { Button } from "../kit/Button";
import { Empty } from "../kit/Empty";
import { Grid } from "./Grid";
import { Inspector, RunCause } from "./Inspector";
import { LogTail } from "./LogTail";
import { Minimap } from "./Minimap";
import { useNarrow } from "./narrow";
import { failuresOf, rowsOf, type Show } from "./rows";
import type { Looked } from "./RunPage";
import { Ruler } from "./Ruler";
import { SpanRow } from "./SpanRow";
import type { Span } from "./span";
import { TimelineBar } from "./TimelineBar";
import { useGrowth } from "./useGrowth";
import { moved, opened, useFailureFocus, useHeld, useKeys, useLaneWidth, useOpening, useReveal } from "./useRows";
import { useView } from "./useView";
import type { Folded } from "./fold";
import type { Told } from "./useRunEvents";
import { useWheel } from "./useWheel";
import { useWindow } from "./window";

export interface TimelineProps {
  told: Told<Folded>;
  live: boolean;
  failed: boolean;
  loading: boolean;
  looked: Looked;
  onLook: (next: Looked) => void;
  /** Whether what it draws writes lines. Default true. */
  logs?: boolean;
}

/** More rows than this have a map of all of them. */
const manyRows = 200;

/** Timeline is what a run did, and when: a tree of spans beside their bars. */
export function Timeline({ told, live, failed, loading, looked, onLook, logs = true }: TimelineProps): ReactNode {
  const { fold } = told;
  const narrow = useNarrow();
  const rowHeight = narrow ? 52 : 32;
  const show: Show = looked.show === "slow" || looked.show === "failed" ? looked.show : "all";
  const [folded, setFolded] = useState<ReadonlySet<string>>(new Set());
  const rows = useMemo(() => rowsOf(fold, { show, find: looked.find ?? "", folded }), [fold, told, show, looked.find, folded]);
  const failures = useMemo(() => failuresOf(fold), [fold, told]);
  const selected = looked.span ? fold.spans.get(looked.span) : undefined;
  const looking = useView(told, live);
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
  useHeld(scroller, rows, rowHeight);
  useFailureFocus(failed, failures, looked.span, (span) => choose(span, true));
  useOpening(selected, reveal);

  const turn = (by: 1 | -1): void => {
    if (failures.length === 0) return;
    const now = failures.findIndex((span) => span.id === looked.span);
    choose(failures[(now + by + failures.length + (now < 0 && by < 0 ? 1 : 0)) % failures.length]);
  };
  useKeys({ n: () => turn(1), N: () => turn(-1), "+": () => looking.zoom(0.6), "=": () => looking.zoom(0.6), "-": () => looking.zoom(1 / 0.6), "0": looking.fit }, scroller);

  const setOpen = (span: Span, open: boolean): void => setFolded((before) => (open ? new Set([...before].filter((id) => id !== span.id)) : new Set([...before, span.id])));
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
    } else if (event.key === "ArrowRight" && row.span.children.length > 0 && !row.open) setOpen(row.span, true);
    else if (event.key === "ArrowLeft" && row.span.children.length > 0 && row.open) setOpen(row.span, false);
    else if (event.key === "Enter") choose(row.span, true);
    else if (event.key === "Escape" && selected) choose(undefined);
    else return;
    event.preventDefault();
  };

  /** leave closes the inspector, and has the focus where it was: at the row of its span. */
  const leave = (span: Span): void => {
    setAt(span.id);
    choose(undefined);
    reveal(span.id, true);
  };
  const inspector = selected ? <Inspector key={selected.id} span={selected} told={told} now={looking.now} onClose={() => leave(selected)} onChoose={choose} /> : failed && failures.length === 0 && fold.cause ? <RunCause cause={fold.cause} /> : null;
  return (
    <div className={inspector && !narrow ? "run with-insp" : "run"} role="tabpanel" aria-label="Timeline">
      <div className="tl">
        <TimelineBar looking={looking} looked={looked} show={show} live={live} failures={failures.length} onLook={onLook} onFailure={() => turn(1)} />
        {rows.length > manyRows && <Minimap rows={rows} looking={looking} seen={seen} onRow={(i) => scroller.current?.scrollTo({ top: i * rowHeight - 100 })} version={told} />}
        <div ref={scroller} className="tlgrid" onKeyDown={key} data-scroll-restoration-id="timeline">
          <div className="tltree" role="treegrid" aria-label="Timeline" aria-rowcount={rows.length + 1}>
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
                  onFold={setOpen}
                />
              ))}
            </div>
          </div>
          {rows.length === 0 && <NoRows loading={loading} live={live} filtered={show !== "all" || Boolean(looked.find)} onClear={() => onLook({ show: undefined, find: undefined })} />}
        </div>
        {logs && <LogTail logs={fold.logs} live={live} />}
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
