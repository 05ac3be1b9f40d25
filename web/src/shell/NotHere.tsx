import { useEffect, type ReactNode } from "react";
import type { ErrorComponentProps } from "@tanstack/react-router";
import { SvcError } from "@svc/sdk";
import { Button } from "../kit/Button";
import { Empty } from "../kit/Empty";
import { isUnreached, Refusal } from "../kit/Refusal";
import { Page } from "./Page";

/** NotHere is for an address that leads nowhere, where there is no frame. */
export function NotHere(): ReactNode {
  return (
    <main id="main">
      <h1 className="sr">Not found</h1>
      <Nothing />
    </main>
  );
}

/** NoPage is for an address that leads nowhere below a workspace, or on Admin: the frame around it stays. */
export function NoPage(): ReactNode {
  return (
    <Page title="Not found">
      <Nothing />
    </Page>
  );
}

function Nothing(): ReactNode {
  return <Empty icon="search" title="Not here, or not yours." act={<a className="btn" href="/">Go to the start</a>} />;
}

/** Broken is for a frame that failed by itself. */
export function Broken({ error, reset }: ErrorComponentProps): ReactNode {
  return (
    <main id="main">
      <h1 className="sr">Something broke</h1>
      <What error={error} reset={reset} />
    </main>
  );
}

/** BrokenPage is for a page that failed by itself, or whose code did not come: the frame stays, and what was typed elsewhere. */
export function BrokenPage({ title, error, reset }: ErrorComponentProps & { title: string }): ReactNode {
  return (
    <Page title={title}>
      <What error={error} reset={reset} />
    </Page>
  );
}

function What({ error, reset }: Pick<ErrorComponentProps, "error" | "reset">): ReactNode {
  const told = error instanceof SvcError ? error : undefined;
  useReturn(told !== undefined && isUnreached(told), reset);
  if (told && isUnreached(told)) return <Refusal error={told} onRetry={reset} />;
  return (
    <Empty
      icon="warn"
      title="This page broke"
      act={
        <>
          <Button onClick={reset}>Try again</Button>
          <Button look="primary" onClick={() => location.reload()}>Reload</Button>
        </>
      }
    >
      {told?.message ?? "It may be of an older version than the server. Reload it, or go on elsewhere."}
    </Empty>
  );
}

/** useReturn goes on by itself when the connection is back. */
function useReturn(waiting: boolean, then: () => void): void {
  useEffect(() => {
    if (!waiting) return;
    addEventListener("online", then);
    return () => removeEventListener("online", then);
  }, [waiting, then]);
}
