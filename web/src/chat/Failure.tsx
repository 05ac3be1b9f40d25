import { useState, type ReactNode } from "react";
import { Link } from "@tanstack/react-router";
import type { SettlementError } from "@svc/sdk";
import { Button } from "../kit/Button";
import { Icon } from "../kit/Icon";
import { JsonView } from "../kit/JsonView";
import { usePath } from "../shell/where";
import { fixOf } from "./fix";

export interface FailureProps {
  agent: string;
  submissionId: string | undefined;
  error: SettlementError | undefined;
  /** It happened just now, so that it is spoken. */
  live: boolean;
  /** Asks again; undefined: it cannot be asked again here. */
  onAgain: (() => void) | undefined;
  why: string | undefined;
}

/** Failure names the cause, what to set, and the way to it. */
export function Failure({ agent, submissionId, error, live, onAgain, why }: FailureProps): ReactNode {
  const [open, setOpen] = useState(false);
  const path = usePath();
  const fix = fixOf(error, agent);
  return (
    <section className="failure" aria-label="This failed" role={live ? "alert" : undefined}>
      <Icon name="warn" />
      <div>
        <b>{error?.message ?? "This failed, and nobody knows why."}</b>
        {error?.details && <p>{error.details}</p>}
        <p className="dim">{fix.says}</p>
        <div className="acts">
          {onAgain && <Button small icon="redo" why={why} onClick={onAgain}>Ask again</Button>}
          {fix.page && <Link className="btn sm" to={path(fix.page)}>{fix.label}</Link>}
          <button type="button" className="link bare t12" aria-expanded={open} onClick={() => setOpen(!open)}>Diagnostics</button>
        </div>
        {open && <JsonView label="Diagnostics" value={{ submissionId, type: error?.type, message: error?.message, details: error?.details, meta: error?.meta }} />}
      </div>
    </section>
  );
}
