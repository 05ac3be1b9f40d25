import type { ReactNode } from "react";
import type { SvcError } from "@svc/sdk";
import { signInAddress } from "../server/session";
import { Button } from "./Button";
import { Empty } from "./Empty";
import { Icon } from "./Icon";

/** unreached are the errors of a question that no server has answered. A run or a submission that failed has no status either. */
const unreached = ["network_error", "stalled"];

/** isUnreached reports whether no server has answered: asking again may help, and another connection will. */
export function isUnreached(error: SvcError): boolean {
  return unreached.includes(error.type);
}

/** sentenceOf is what a person is told of an error: the service's own sentence, or ours where no answer came. */
export function sentenceOf(error: SvcError): string {
  if (isUnreached(error)) return "The server cannot be reached. Check the connection and try again.";
  if (error.type === "forbidden") return needed(error);
  if (error.status === 503) return "The server is restarting. Try again in a moment.";
  return [error.message, error.details].filter(Boolean).join(" ");
}

/** Refusal stands where a page cannot be shown. The frame around it stays. */
export function Refusal({ error, onRetry }: { error: SvcError; onRetry?: (() => void) | undefined }): ReactNode {
  const retry = onRetry && <Button onClick={onRetry}>Try again</Button>;
  if (error.status === 401) {
    return <Empty icon="lock" title="Your session has ended" act={<a className="btn primary" href={signInAddress()}>Sign in</a>} />;
  }
  if (error.status === 404) return <Empty icon="search" title="Not here, or not yours." />;
  if (error.type === "forbidden") return <Empty icon="lock" title={needed(error)}>Somebody with that role can do this, or give it to you.</Empty>;
  if (error.type === "impersonation_forbidden") return <Empty icon="eye" title="Nobody sees this in a customer's name." />;
  if (error.status === 403) return <Empty icon="lock" title={error.message} act={retry}>{error.details}</Empty>;
  return (
    <Empty icon="warn" title="This could not be read" act={retry}>
      {sentenceOf(error)} <RequestId error={error} />
    </Empty>
  );
}

/** needed names the role that a refusal asks for. */
function needed(error: SvcError): string {
  const role = error.meta?.["role"];
  return typeof role === "string" ? `You need the ${role} role.` : error.message;
}

/** Trouble is a line above what is still there: an act was refused, or the newest could not be read. */
export function Trouble({ error, stale = false, onRetry }: { error: SvcError; stale?: boolean; onRetry?: (() => void) | undefined }): ReactNode {
  return (
    <div className={stale ? "trouble stale" : "trouble"} role="alert">
      <Icon name="warn" />
      <p>
        {sentenceOf(error)} {stale && "What you see is from before."} <RequestId error={error} />
      </p>
      {onRetry && <Button small onClick={onRetry}>Try again</Button>}
    </div>
  );
}

function RequestId({ error }: { error: SvcError }): ReactNode {
  return error.requestId ? <span className="mono faint">{error.requestId}</span> : null;
}
