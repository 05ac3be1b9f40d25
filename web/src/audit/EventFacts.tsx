import type { ReactNode } from "react";
import { JsonView } from "../kit/JsonView";
import { Tag } from "../kit/StatusTag";
import { exact } from "../kit/Time";
import { actorName, outcomeOf, targetName, type AuditEvent } from "./event";

/** EventFacts is all that is known of one event. */
export function EventFacts({ event }: { event: AuditEvent }): ReactNode {
  const facts: [string, ReactNode][] = [
    ["Outcome", <Tag tone={outcomeOf(event).tone}>{outcomeOf(event).word}</Tag>],
    ["Who", actorName(event)],
    ["What", targetName(event)],
    ["When", exact(new Date(event.ts))],
    ["Changed", event.changes?.join(", ")],
    ["Surface", event.surface],
    ["Address", event.ip],
    ["Browser", event.userAgent],
    ["Request", event.requestId && <span className="event-id">{event.requestId}</span>],
    ["Number", <span className="num">{event.seq}</span>],
    ["Hash", <span className="event-id">{event.hash}</span>],
  ];
  return (
    <>
      <section>
        <dl className="kv">
          {facts.map(([name, value]) => value && <Fact key={name} name={name} value={value} />)}
        </dl>
      </section>
      <section>
        <h3>As it is exported</h3>
        <JsonView value={event} label="Event" />
      </section>
    </>
  );
}

function Fact({ name, value }: { name: string; value: ReactNode }): ReactNode {
  return (
    <>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </>
  );
}
