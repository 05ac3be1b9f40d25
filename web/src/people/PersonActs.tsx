import { useState, type ReactNode } from "react";
import { Button } from "../kit/Button";
import { Trouble } from "../kit/Refusal";
import { useToast } from "../kit/Toast";
import { useAct } from "../server/act";
import { nameOf, useSession } from "../server/session";
import { useStaff } from "../server/staff";
import { SuspendDialog } from "../customers/SuspendDialog";
import { GrantDialog } from "./GrantDialog";
import type { Acquaintance } from "./person";

/** PersonActs are what an administrator does to somebody. Nobody does it to themselves. */
export function PersonActs({ person }: { person: Acquaintance }): ReactNode {
  const staff = useStaff();
  const own = useSession().data?.account?.id === person.id ? "Nobody may do this to themselves. Another administrator can." : undefined;
  const [asking, setAsking] = useState<"suspend" | "grant">();
  const suspend = useAct("post", "/api/admin/people/{id}/suspend");
  const restore = useAct("post", "/api/admin/people/{id}/restore");
  const reset = useAct("post", "/api/admin/people/{id}/send-reset");
  const toast = useToast();
  const name = nameOf(person);
  const gone = person.eraseAt ? "The account is deleted" : undefined;
  const at = { path: { id: person.id } };

  const keepOut = async (reason: string): Promise<void> => {
    if (!(await suspend.run({ ...at, body: { reason } }))) return;
    toast({ tone: "ok", text: `${name} is suspended.` });
    setAsking(undefined);
  };
  const letIn = async (): Promise<void> => {
    if (await restore.run(at)) toast({ tone: "ok", text: `${name} can sign in again.` });
  };
  const send = async (): Promise<void> => {
    if (await reset.run(at)) toast({ tone: "ok", text: "The mail is on its way." });
  };
  const wrong = restore.error ?? reset.error;
  return (
    <section className="danger-zone">
      <h3>Danger zone</h3>
      {wrong && <Trouble error={wrong} />}
      <div className="row wrap">
        {person.suspended || person.eraseAt ? (
          <Button busy={restore.busy} why={staff.why} onClick={() => void letIn()}>Restore account</Button>
        ) : (
          <Button look="danger" why={staff.why ?? own} onClick={() => setAsking("suspend")}>Suspend account…</Button>
        )}
        <Button busy={reset.busy} why={staff.why ?? gone ?? (person.email ? undefined : "There is no e-mail address")} onClick={() => void send()}>Send password reset</Button>
        <Button why={staff.why ?? own ?? gone} onClick={() => setAsking("grant")}>Staff role…</Button>
      </div>
      {asking === "suspend" && (
        <SuspendDialog act="Suspend account" name={person.username} busy={suspend.busy} error={suspend.error} onConfirm={(reason) => void keepOut(reason)} onClose={() => setAsking(undefined)}>
          {name} is signed out at once and cannot come back until somebody restores the account. Nothing is deleted; work that was begun in their name stops at its next step.
        </SuspendDialog>
      )}
      {asking === "grant" && <GrantDialog person={person} onClose={() => setAsking(undefined)} />}
    </section>
  );
}
