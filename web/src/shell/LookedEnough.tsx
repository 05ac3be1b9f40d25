import { useEffect, type ReactNode } from "react";
import { Empty } from "../kit/Empty";
import { place } from "../server/place";
import { titleOf } from "./Page";

/** LookedEnough takes the place of the customer's page when the time is over in which staff looked at it: what it showed is not theirs. */
export function LookedEnough(): ReactNode {
  useEffect(() => {
    document.title = titleOf({ title: "The read-only session has ended", admin: false });
  }, []);
  return (
    <main id="main">
      <h1 className="sr">The read-only session has ended</h1>
      <Empty
        icon="eye"
        title="The read-only session has ended"
        act={
          <>
            <a className="btn primary" href={`${place.admin}/people`}>Back to Admin</a>
            <a className="btn" href={`${place.agents}/`}>Your own workspaces</a>
          </>
        }
      >
        You are yourself again. The customer's log keeps what was read, and why.
      </Empty>
    </main>
  );
}
