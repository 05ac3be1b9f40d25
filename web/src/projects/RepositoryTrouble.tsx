import type { ReactNode } from "react";
import type { SvcError } from "@svc/sdk";
import { Button } from "../kit/Button";
import { Icon } from "../kit/Icon";
import { Trouble } from "../kit/Refusal";
import { useInstall } from "./install";
import { refusedFor } from "./room";

/** RepositoryTrouble says what is missing for a repository, and leads to where that is mended. */
export function RepositoryTrouble({ error, onRetry }: { error: SvcError; onRetry?: () => void }): ReactNode {
  const { address, why } = useInstall();
  if (error.type === "provider_connection_required") {
    return (
      <div className="trouble stale" role="alert">
        <Icon name="plug" />
        <p>{error.message} {why ?? error.details}</p>
        {!why && <a className="btn sm primary" href={address}>Connect</a>}
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
