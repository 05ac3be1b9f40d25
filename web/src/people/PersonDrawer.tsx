import type { KeyboardEvent, ReactNode } from "react";
import { Link } from "@tanstack/react-router";
import { Avatar } from "../kit/Avatar";
import { Button } from "../kit/Button";
import { Icon } from "../kit/Icon";
import { Refusal, Trouble } from "../kit/Refusal";
import { Tag } from "../kit/StatusTag";
import { exact, Time } from "../kit/Time";
import { useRead } from "../server/read";
import { addressOf, nameOf } from "../server/session";
import { namesOf } from "../server/workspace";
import { baseOf } from "../shell/where";
import { Impersonate } from "./Impersonate";
import { PersonActs } from "./PersonActs";
import { PersonSessions } from "./PersonSessions";
import { standingOf, waysOf, type Acquaintance } from "./person";

/** isOfDialog reports whether a key was pressed in a dialog of the drawer: Escape closes that first. */
const isOfDialog = ({ target }: KeyboardEvent): boolean => target instanceof Element && target.closest("dialog") !== null;

/** PersonDrawer is somebody, beside the list; on a phone it takes the page. */
export function PersonDrawer({ id, onClose }: { id: string; onClose: () => void }): ReactNode {
  const { data: person, error, refetch } = useRead("/api/admin/people/{id}", { path: { id } });
  return (
    <aside className="drawer person-drawer" aria-label={person ? nameOf(person) : "Person"} onKeyDown={(event) => event.key === "Escape" && !isOfDialog(event) && onClose()}>
      {error && !person && <Refusal error={error} onRetry={() => void refetch()} />}
      {error && person && <Trouble error={error} stale onRetry={() => void refetch()} />}
      {person ? <Person person={person} onClose={onClose} /> : !error && <Shape />}
      {error && !person && (
        <div className="row pad">
          <Button onClick={onClose}>Back to the list</Button>
        </div>
      )}
    </aside>
  );
}

function Person({ person, onClose }: { person: Acquaintance; onClose: () => void }): ReactNode {
  return (
    <>
      <section className="row person-head">
        <Avatar name={nameOf(person)} />
        <span className="grow">
          <h2 className="trunc">{nameOf(person)}</h2>
          <span className="faint t13">
            {person.username} · joined <time dateTime={person.createdAt} title={exact(new Date(person.createdAt))}>{day(person.createdAt)}</time>
          </span>
        </span>
        <Button look="ghost" icon="x" label="Close" onClick={onClose} />
      </section>
      <section>
        <Facts person={person} />
      </section>
      <PersonSessions person={person} />
      <Impersonate person={person} />
      <PersonActs person={person} />
    </>
  );
}

function Facts({ person }: { person: Acquaintance }): ReactNode {
  const standing = standingOf(person);
  return (
    <dl className="kv">
      <dt>Status</dt>
      <dd>
        <Tag tone={standing.tone}>{standing.word}</Tag>
      </dd>
      {person.suspended && person.suspendReason && <><dt>Because</dt><dd>{person.suspendReason}</dd></>}
      {person.eraseAt && <><dt>Erased</dt><dd><Time at={person.eraseAt} /></dd></>}
      <dt>E-mail</dt>
      <dd>
        {person.email ?? "none"} {person.email && person.emailVerified && <span className="ok" title="Verified"><Icon name="check" small /><span className="sr">verified</span></span>}
      </dd>
      <dt>Signs in by</dt>
      <dd>{waysOf(person.methods)}</dd>
      <dt>Workspaces</dt>
      <dd>
        {person.workspaces.length === 0 && "none"}
        {person.workspaces.map((each, i) => {
          const at = addressOf(each.scope);
          return (
            <span key={each.scope}>
              {i > 0 && ", "}
              {at && <Link className="link" to={baseOf(at)} title={each.role}>{namesOf(at)}</Link>}
            </span>
          );
        })}
      </dd>
    </dl>
  );
}

/** Shape is the drawer as it will stand. */
function Shape(): ReactNode {
  return (
    <div className="wait" role="status" aria-label="Loading the person">
      {[180, 120, 90].map((height) => (
        <section key={height}>
          <span className="skeleton" style={{ width: "62%" }} />
          <span className="skeleton" style={{ width: "80%", height: height - 60 }} />
        </section>
      ))}
    </div>
  );
}

const days = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });

function day(at: string): string {
  return days.format(new Date(at));
}
