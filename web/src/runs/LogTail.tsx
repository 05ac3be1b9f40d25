import { useLayoutEffect, useMemo, useRef, useState, type ReactNode } from "react";
import { useKept } from "../kit/kept";
import { Segments } from "../kit/Tabs";
import { Clock } from "../kit/Time";
import type { LogLine } from "./fold";

/** So many lines are kept on the page: all of them are among the events. */
const most = 500;

const weight = { info: 0, warn: 1, error: 2 } as const;

/** LogTail is what the workflow wrote, the newest last. It follows until the reader scrolls up. */
export function LogTail({ logs, live }: { logs: readonly LogLine[]; live: boolean }): ReactNode {
  const [level, setLevel] = useKept("log", "info");
  const least = level === "warn" || level === "all" ? level : "info";
  const lines = useMemo(() => linesOf(logs, least), [logs, logs.length, least]);
  const body = useRef<HTMLDivElement>(null);
  const [follows, setFollows] = useState(true);
  useLayoutEffect(() => {
    if (follows && body.current) body.current.scrollTop = body.current.scrollHeight;
  }, [lines, follows]);
  return (
    <section className="logs" aria-label="Log">
      <header>
        Log <span className="faint w4">{lines.length === 1 ? "1 line" : `${lines.length} lines`}</span>
        <span className="grow" />
        <Segments label="Lines" value={least} onChange={setLevel} tabs={[{ id: "all", label: "With steps" }, { id: "info", label: "Info" }, { id: "warn", label: "Warnings" }]} />
      </header>
      <div ref={body} className="log-lines" tabIndex={0} role="log" aria-live="off" aria-label="Lines" onScroll={({ currentTarget }) => setFollows(currentTarget.scrollTop + currentTarget.clientHeight >= currentTarget.scrollHeight - 24)}>
        {lines.slice(-most).map((line) => (
          <div key={line.index} className="log-line">
            <span className="faint"><Clock at={line.stamp} /></span> <span className={line.level === "warn" ? "warn" : line.level === "error" ? "bad" : "dim"}>{line.level.padEnd(5)}</span> <span>{line.message}</span>
            {extrasOf(line) && <span className="faint"> {extrasOf(line)}</span>}
          </div>
        ))}
        {lines.length === 0 && <p className="faint">{live ? "Nothing has been written yet." : "Nothing was written."}</p>}
      </div>
    </section>
  );
}

function linesOf(logs: readonly LogLine[], least: "all" | "info" | "warn"): readonly LogLine[] {
  if (least === "all") return [...logs];
  return logs.filter((line) => weight[line.level] >= weight[least] && !(line.ofStep && line.level === "info"));
}

/** extrasOf are the attributes of a line that are no step. */
function extrasOf(line: LogLine): string {
  const { step: _, ...others } = line.attributes ?? {};
  return Object.entries(others).map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`).join(" ");
}
