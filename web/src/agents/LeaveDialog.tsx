import type { ReactNode } from "react";
import { useBlocker } from "@tanstack/react-router";
import { Button } from "../kit/Button";
import { Dialog } from "../kit/Dialog";
import { pageIn } from "../shell/where";

/** LeaveDialog asks before a page with unsaved changes is left for another. Between the parts of the agent nobody is asked. */
export function LeaveDialog({ name, dirty, onDiscard }: { name: string; dirty: boolean; onDiscard: () => void }): ReactNode {
  const own = `agents/${name}`;
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: ({ next }) => dirty && !staysAt(own, next.pathname),
    enableBeforeUnload: false, // a reload loses nothing: the draft is kept
    withResolver: true,
  });
  if (status !== "blocked") return null;
  const leave = (): void => {
    onDiscard();
    proceed();
  };
  return (
    <Dialog
      title={`Leave ${name} unsaved?`}
      onClose={reset}
      footer={
        <>
          <Button look="ghost" className="danger" onClick={leave}>Discard and leave</Button>
          <span className="grow" />
          <Button onClick={reset}>Stay</Button>
          <Button look="primary" onClick={proceed}>Leave, keep the draft</Button>
        </>
      }
    >
      <p className="dim">Your changes are not saved. They are kept in this browser until you save or discard them.</p>
    </Dialog>
  );
}

export function staysAt(own: string, pathname: string): boolean {
  const page = pageIn(pathname);
  return page === own || page.startsWith(`${own}/`);
}
