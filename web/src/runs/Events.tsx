import { useMemo, useRef, useState, type ReactNode } from "react";
import type { RunEvent } from "@svc/sdk";
import { Button } from "../kit/Button";
import { Empty } from "../kit/Empty";
import { Icon } from "../kit/Icon";
import { JsonView } from "../kit/JsonView";
import { Menu } from "../kit/Menu";
import { Clock } from "../kit/Time";
import { useWindow } from "./window";

const rowHeight = 28;

/** Events are a run as it was recorded, to filter, open and save. */
export function Events({ runId, events }: { runId: string; events: readonly RunEvent[] }): ReactNode {
  const [find, setFind] = useState("");
  const [type, setType] = useState<string>();
  const [open, setOpen] = useState<RunEvent>();
  const types = useMemo(() => [...new Set(events.map((event) => event.type))].sort(), [events]);
  const shown = useMemo(() => matching(events, type, find), [events, type, find]);
  const body = useRef<HTMLDivElement>(null);
  const seen = useWindow(body, shown.length, rowHeight);
  return (
    <div className="events" role="tabpanel" aria-label="Events">
      <div className="tlbar filters">
        <span className="find-in">
          <Icon name="search" small />
          <input className="input sm" data-filter aria-label="Find in events" placeholder="Find in events" spellCheck={false} value={find} onChange={(event) => setFind(event.target.value)} />
        </span>
        <Menu label="Type" className="btn ghost" button={<>{type ?? "Every type"} <Icon name="down" small /></>} groups={[{ items: [{ label: "Every type", ticked: !type, onSelect: () => setType(undefined) }, ...types.map((each) => ({ label: each, ticked: each === type, onSelect: () => setType(each) }))] }]} />
        <span className="faint num t12">{shown.length === events.length ? `${events.length} events` : `${shown.length} of ${events.length}`}</span>
        <span className="grow" />
        <Button icon="dl" onClick={() => save(`${runId}.ndjson`, shown)}>Save NDJSON</Button>
      </div>
      <div className="events-split">
        <div ref={body} className="events-list" tabIndex={0} role="region" aria-label="Events of the run">
          {shown.length === 0 && <Empty icon="search" title={events.length === 0 ? "No events yet" : "Nothing matches"} act={events.length > 0 && <Button onClick={() => { setFind(""); setType(undefined); }}>Clear the filter</Button>} />}
          <div style={{ height: shown.length * rowHeight, position: "relative" }}>
            {shown.slice(seen.from, seen.to).map((event, i) => (
              <button key={event.eventIndex} type="button" className="event-row" style={{ top: (seen.from + i) * rowHeight }} aria-pressed={event === open} onClick={() => setOpen(event === open ? undefined : event)}>
                <span className="faint num">{event.eventIndex}</span>
                <span className="faint num"><Clock at={event.timestamp} /></span>
                <b>{event.type}</b>
                <span className="faint trunc">{gist(event)}</span>
              </button>
            ))}
          </div>
        </div>
        {open && (
          <aside className="event-open" aria-label={`Event ${open.eventIndex}`}>
            <header>
              <b className="grow">{open.type}</b>
              <Button small look="ghost" icon="x" label="Close" onClick={() => setOpen(undefined)} />
            </header>
            <JsonView value={open} label="Event" />
          </aside>
        )}
      </div>
    </div>
  );
}

function matching(events: readonly RunEvent[], type: string | undefined, find: string): readonly RunEvent[] {
  const wanted = find.trim().toLowerCase();
  if (!type && !wanted) return events;
  return events.filter((event) => (!type || event.type === type) && (!wanted || JSON.stringify(event).toLowerCase().includes(wanted)));
}

/** gist is what an event is about, in a line. */
function gist(event: RunEvent): string {
  switch (event.type) {
    case "log": return event.message;
    case "text_delta": return event.text;
    case "thinking_delta": return event.delta;
    case "tool_start": case "tool": return event.toolName;
    case "operation_start": case "operation": return event.operationKind;
    case "run_end": return event.error?.message ?? "";
  }
  return event.turnId ?? event.operationId ?? "";
}

/** save hands the browser a file, made of what the page has read. */
function save(name: string, events: readonly RunEvent[]): void {
  const address = URL.createObjectURL(new Blob([events.map((event) => JSON.stringify(event) + "\n").join("")], { type: "application/x-ndjson" }));
  const link = Object.assign(document.createElement("a"), { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
