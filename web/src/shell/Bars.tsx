import { useEffect, useState, type ReactNode } from "react";
import { Link } from "@tanstack/react-router";
import { Button } from "../kit/Button";
import { Icon, type IconName } from "../kit/Icon";
import { useOnline } from "../kit/online";
import { useNow } from "../kit/Time";
import { useHeard } from "../server/hearing";
import { place } from "../server/place";
import { nameOf, useSession, type Session } from "../server/session";
import { useStaff } from "../server/staff";
import { minutesLeft } from "./Countdown";
import { isStaffs, namesOf, useWorkspace } from "../server/workspace";

/** Bars are what is true of every page until it is solved. */
export function Bars(): ReactNode {
  const session = useSession().data;
  const { impersonation, newBuild } = useHeard();
  const online = useOnline();
  return (
    <div className="bars" role="region" aria-label="Notices">
      {impersonation && session && <Impersonation id={impersonation} session={session} />}
      {place.surface === "admin" && <ActingOn />}
      {!online && <Bar icon="warn" tone="warn">You are offline. What you read and type stays here.</Bar>}
      {newBuild && (
        <Bar icon="redo" act={<Button small onClick={() => location.reload()}>Reload</Button>}>
          There is a new version. What you typed is kept.
        </Bar>
      )}
      {!impersonation && <Unsolved session={session} />}
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
  if (!workspace || isStaffs(workspace)) return null;
  return (
    <Bar icon="audit" tone="rust" act={<Link className="btn sm" to="/customers">All customers</Link>}>
      Acting on <b>{namesOf(workspace)}</b> as {role ?? "staff"}, audited.
    </Bar>
  );
}

/** Impersonation never lets staff forget whose eyes they look with. */
function Impersonation({ id, session }: { id: string; session: Session }): ReactNode {
  const now = useNow();
  const { refetch } = useSession();
  const left = minutesLeft(session.session?.expiresAt ?? "", now);
  useEffect(() => {
    // The answer tells that it is over, and the page goes.
    if (left === 0) void refetch();
  }, [left, refetch]);
  const name = session.account ? nameOf(session.account) : "the customer";
  const act = <a className="btn sm" href={`${place.admin}/impersonations/${id}/end`}>End</a>;
  return (
    <Bar icon="eye" tone="rust" act={act}>
      You see what {name} sees, and change nothing. {Number.isFinite(left) && `${left} min left.`}
    </Bar>
  );
}

/** Unsolved is what is wrong with the person's own account, in one bar, until it is solved. */
function Unsolved({ session }: { session: Session | undefined }): ReactNode {
  const [hidden, setHidden] = useState(false);
  const account = session?.account;
  const unverified = account?.email && !account.emailVerified ? `${account.email} is not verified yet.` : undefined;
  const warnings = (session?.warnings ?? []).map((warning) => warning.message);
  if (hidden || (!unverified && warnings.length === 0)) return null;
  const act = (
    <>
      {unverified && <a className="btn sm" href={`${place.platform}/account`}>Verify it</a>}
      {warnings.length > 0 && <a className="btn sm" href={`${place.platform}/account/connections`}>Look</a>}
      <Button small look="ghost" icon="x" label="Hide until the next visit" onClick={() => setHidden(true)} />
    </>
  );
  return <Bar icon={warnings.length > 0 ? "warn" : "mail"} tone={warnings.length > 0 ? "warn" : ""} act={act}>{[unverified, ...warnings].filter(Boolean).join(" ")}</Bar>;
}
