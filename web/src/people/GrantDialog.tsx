import { useState, type ReactNode } from "react";
import { Button } from "../kit/Button";
import { Dialog } from "../kit/Dialog";
import { Trouble } from "../kit/Refusal";
import { useToast } from "../kit/Toast";
import { useAct } from "../server/act";
import { nameOf } from "../server/session";
import type { Acquaintance } from "./person";

const roles = [
  { id: "none", word: "None", about: "A customer, with what their workspaces give them." },
  { id: "support", word: "Support", about: "Reads everything and may look as a customer. Changes nothing." },
  { id: "admin", word: "Admin", about: "Does everything on Admin, also to other staff." },
] as const;

/** GrantDialog gives somebody a role over the whole service, or takes it. */
export function GrantDialog({ person, onClose }: { person: Acquaintance; onClose: () => void }): ReactNode {
  const grant = useAct("post", "/api/admin/people/{id}/grant");
  const [role, setRole] = useState<string>(person.serviceRole);
  const toast = useToast();
  const send = async (): Promise<void> => {
    if (!(await grant.run({ path: { id: person.id }, body: { role } }))) return;
    toast({ tone: "ok", text: role === "none" ? `${nameOf(person)} is no longer staff.` : `${nameOf(person)} is ${role} now.` });
    onClose();
  };
  return (
    <Dialog
      title={`Staff role of ${nameOf(person)}`}
      onClose={onClose}
      onSubmit={() => role !== person.serviceRole && void send()}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={grant.busy} why={role === person.serviceRole ? "That is the role they have" : undefined}>Set role</Button>
        </>
      }
    >
      {grant.error && <Trouble error={grant.error} />}
      <fieldset className="roles">
        <legend className="sr">Role over the service</legend>
        {roles.map((each) => (
          <label key={each.id}>
            <input type="radio" name="role" value={each.id} checked={role === each.id} onChange={() => setRole(each.id)} />
            <span>
              <b>{each.word}</b>
              <small>{each.about}</small>
            </span>
          </label>
        ))}
      </fieldset>
      <p className="dim">Changing it ends what they have taken up on Admin. Their own audit log tells it.</p>
    </Dialog>
  );
}
