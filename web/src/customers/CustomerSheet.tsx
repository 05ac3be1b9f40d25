import { useState, type ReactNode } from "react";
import { Link } from "@tanstack/react-router";
import { Button } from "../kit/Button";
import { Sheet } from "../kit/Dialog";
import { Trouble } from "../kit/Refusal";
import { Tag } from "../kit/StatusTag";
import { exact, Time } from "../kit/Time";
import { useToast } from "../kit/Toast";
import { useAct } from "../server/act";
import { addressOf } from "../server/session";
import { useStaff } from "../server/staff";
import { namesOf } from "../server/workspace";
import { baseOf } from "../shell/where";
import { stateOf, type Customer } from "./CustomersPage";
import { SuspendDialog } from "./SuspendDialog";

/** CustomerSheet is one workspace as the staff see it, and what they can do to it. */
export function CustomerSheet({ customer, onClose }: { customer: Customer; onClose: () => void }): ReactNode {
  const at = addressOf(customer.scope);
  const state = stateOf(customer);
  return (
    <Sheet title={customer.name} onClose={onClose}>
      <section>
        <dl className="kv">
          <dt>State</dt>
          <dd>
            <Tag tone={state.tone}>{state.word}</Tag>
          </dd>
          {customer.suspended && customer.suspendReason && <><dt>Because</dt><dd>{customer.suspendReason}</dd></>}
          {customer.eraseAt && <><dt>Erased</dt><dd>{exact(new Date(customer.eraseAt))}</dd></>}
          <dt>Address</dt>
          <dd>{customer.scope.replace(/^users\//, "")}</dd>
          <dt>Owner</dt>
          <dd>
            <Link className="link" to="/people" search={{ person: customer.owner.id } as never}>{customer.owner.username}</Link>
          </dd>
          <dt>Made</dt>
          <dd>
            <Time at={customer.createdAt} />
          </dd>
        </dl>
      </section>
      {at && !customer.eraseAt && (
        <section>
          <h3>Work in it</h3>
          <p className="dim t13">You act with the authority of the service. The customer's audit log tells it.</p>
          <Link className="btn" to={baseOf(at)}>{`Open ${namesOf(at)}`}</Link>
        </section>
      )}
      <Standing customer={customer} />
    </Sheet>
  );
}

function Standing({ customer }: { customer: Customer }): ReactNode {
  const { why } = useStaff();
  const suspend = useAct("post", "/api/admin/workspaces/{id}/suspend");
  const restore = useAct("post", "/api/admin/workspaces/{id}/restore");
  const [asking, setAsking] = useState(false);
  const toast = useToast();
  const at = { path: { id: customer.id } };
  const keepOut = async (reason: string): Promise<void> => {
    if (!(await suspend.run({ ...at, body: { reason } }))) return;
    toast({ tone: "ok", text: `${customer.name} is suspended.` });
    setAsking(false);
  };
  const letIn = async (): Promise<void> => {
    if (await restore.run(at)) toast({ tone: "ok", text: `${customer.name} is open again.` });
  };
  return (
    <section className="danger-zone">
      <h3>Danger zone</h3>
      {restore.error && <Trouble error={restore.error} />}
      <div className="row wrap">
        {customer.suspended || customer.eraseAt ? (
          <Button busy={restore.busy} why={why} onClick={() => void letIn()}>Restore workspace</Button>
        ) : (
          <Button look="danger" why={why} onClick={() => setAsking(true)}>Suspend workspace…</Button>
        )}
      </div>
      {asking && (
        <SuspendDialog act="Suspend workspace" name={customer.business} busy={suspend.busy} error={suspend.error} onConfirm={(reason) => void keepOut(reason)} onClose={() => setAsking(false)}>
          Its people cannot come in, its keys are refused and its work stops at the next step. Nothing is deleted.
        </SuspendDialog>
      )}
    </section>
  );
}
