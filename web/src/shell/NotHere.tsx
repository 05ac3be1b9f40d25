import type { ReactNode } from "react";
import type { ErrorComponentProps } from "@tanstack/react-router";
import { Button } from "../kit/Button";
import { Empty } from "../kit/Empty";

/** NotHere is for an address that leads nowhere. Inside a workspace the frame around it stays. */
export function NotHere(): ReactNode {
  return (
    <main id="main">
      <h1 className="sr">Not found</h1>
      <Empty icon="search" title="Not here, or not yours." act={<a className="btn" href="/">Go to the start</a>} />
    </main>
  );
}

/** Broken is for a page that failed by itself: it says so, and what was typed elsewhere stays. */
export function Broken({ error, reset }: ErrorComponentProps): ReactNode {
  return (
    <main id="main">
      <h1 className="sr">Something broke</h1>
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
        It may be of an older version than the server. {error instanceof Error && error.message}
      </Empty>
    </main>
  );
}
