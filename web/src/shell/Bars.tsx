import { useState, type ReactNode } from "react";
import { Link } from "@tanstack/react-router";
import { Button } from "../kit/Button";
import { Icon, type IconName } from "../kit/Icon";
import { useOnline } from "../kit/online";
import { useNow } from "../kit/Time";
import { useHeard } from "../server/hearing";
import { place } from "../server/place";
import { nameOf, useSession, type Session } from "../server/session";
import { useStaff } from "../server/staff";
import { useWorkspace } from "../server/workspace";

/** Bars are what is true of every page until it is solved. */
export function Bars(): ReactNode {
  const session = useSession().data;
  const { impersonation, newBuild } = useHeard();
  const online = useOnline();
  return (
    <div className="bars" role="region" aria-label="Notices">
      {impersonation && session && <Impersonation id={impersonation} session={session} />}
      {place.surface === "admin" && <ActingOn />}
      {!online && <Bar icon="warn" tone="warn">You are offline. What you read stays; what you send waits for the connection.</Bar>}
      {newBuild && (
        <Bar icon="redo" act={<Button small onClick={() => location.reload()}>Reload</Button>}>
          There is a new version. What you typed is kept.
        </Bar>
      )}
      {!impersonation && <Unverified session={session} />}
      {!impersonation && session?.warnings?.map((warning) => (
        <Bar key={warning.type} icon="warn" tone="warn" act={<a className="btn sm" href={`${place.platform}/account/connections`}>Look</a>}>
          {warning.message}
        </Bar>
      ))}
    </div>
  );
}

function Bar({ icon, tone = "", act, children }: { icon: IconName; tone?: "" | "warn" | "rust"; act?: ReactNode; children: ReactNode }): ReactNode {
  return (
    <div className={`bar-line ${tone}`} role="status">
      <Icon name={icon} />
      <p>{children}</p>
      {act}
    </div>
  );
}

/** ActingOn says on whose things staff act, as long as they do. */
function ActingOn(): ReactNode {
  const workspace = useWorkspace();
  const { role } = useStaff();
  if (!workspace) return null;
  return (
    <Bar icon="audit" tone="rust" act={<Link className="btn sm" to="/customers">All customers</Link>}>
      Acting on <b>{`${workspace.username}/${workspace.business}`}</b> as {role ?? "staff"}, audited.
    </Bar>
  );
}

/** Impersonation never lets staff forget whose eyes they look with. */
function Impersonation({ id, session }: { id: string; session: Session }): ReactNode {
  const now = useNow();
  const left = Math.max(0, Math.round((Date.parse(session.session?.expiresAt ?? "") - now.getTime()) / 60_000));
  const name = session.account ? nameOf(session.account) : "the customer";
  const act = <a className="btn sm" href={`${place.admin}/impersonations/${id}/end`}>End</a>;
  return (
    <Bar icon="eye" tone="rust" act={act}>
      You see what {name} sees, and change nothing. {Number.isFinite(left) && `${left} min left.`}
    </Bar>
  );
}

function Unverified({ session }: { session: Session | undefined }): ReactNode {
  const [hidden, setHidden] = useState(false);
  const account = session?.account;
  if (hidden || !account?.email || account.emailVerified) return null;
  const act = (
    <>
      <a className="btn sm" href={`${place.platform}/account`}>Verify it</a>
      <Button small look="ghost" icon="x" label="Hide until the next visit" onClick={() => setHidden(true)} />
    </>
  );
  return <Bar icon="mail" act={act}>{account.email} is not verified yet.</Bar>;
}
