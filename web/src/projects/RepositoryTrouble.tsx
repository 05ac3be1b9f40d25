import type { ReactNode } from "react";
import type { SvcError } from "@svc/sdk";
import { Button } from "../kit/Button";
import { Icon } from "../kit/Icon";
import { Trouble } from "../kit/Refusal";
import { useMay } from "../server/role";
import { refusedFor } from "./room";

/** RepositoryTrouble says what is missing for a repository, and leads to where that is mended. */
export function RepositoryTrouble({ error, onRetry }: { error: SvcError; onRetry?: () => void }): ReactNode {
  const manage = useMay("manage");
  const connect = error.meta?.["connectUrl"];
  if (error.type === "provider_connection_required" && typeof connect === "string") {
    return (
      <div className="trouble stale" role="alert">
        <Icon name="plug" />
        <p>{error.message} {manage.may ? error.details : `${manage.why ?? ""} Ask somebody with that role to connect it.`}</p>
        {manage.may && <a className="btn sm primary" href={connect}>Connect</a>}
      </div>
    );
  }
  if (error.type === "already_running") {
    return (
      <div className="trouble stale" role="status">
        <Icon name="pull" />
        <p>Somebody else is pulling this project. Wait for it to end.</p>
        {onRetry && <Button small onClick={onRetry}>Try again</Button>}
      </div>
    );
  }
  if (error.status === 507) {
    return (
      <div className="trouble" role="alert">
        <Icon name="warn" />
        <p>{refusedFor(error)} Nothing was changed.</p>
      </div>
    );
  }
  return <Trouble error={error} onRetry={onRetry} />;
}
