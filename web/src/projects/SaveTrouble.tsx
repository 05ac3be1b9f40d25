import type { ReactNode } from "react";
import type { SvcError } from "@svc/sdk";
import { Button } from "../kit/Button";
import { Icon } from "../kit/Icon";
import { Trouble } from "../kit/Refusal";
import { refusedFor } from "./room";

/** SaveTrouble is why a text could not be saved. What was typed is still there. */
export function SaveTrouble({ error, onRetry }: { error: SvcError; onRetry: () => void }): ReactNode {
  if (error.status !== 507 && error.status !== 413) return <Trouble error={error} onRetry={onRetry} />;
  return (
    <div className="trouble" role="alert">
      <Icon name="warn" />
      <p>{refusedFor(error)} What you typed stays here.</p>
      <Button small onClick={onRetry}>Try again</Button>
    </div>
  );
}
