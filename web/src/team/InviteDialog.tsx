import { useState, type ReactNode } from "react";
import { Button } from "../kit/Button";
import { CopyButton } from "../kit/CodeSample";
import { Dialog } from "../kit/Dialog";
import { Field } from "../kit/Field";
import { Icon } from "../kit/Icon";
import { Trouble } from "../kit/Refusal";
import { useToast } from "../kit/Toast";
import { useAct } from "../server/act";
import { place } from "../server/place";
import { fieldErrors } from "../server/refusal";
import { useHere } from "../server/role";
import { purposes, roleName, roles, whyNotGive, type MemberRole } from "./role";

/** InviteDialog asks somebody to come, as what. Without a mailer the inviter hands the address over. */
export function InviteDialog({ email: begun, onClose }: { email: string; onClose: () => void }): ReactNode {
  const [email, setEmail] = useState(begun);
  const [role, setRole] = useState<MemberRole>("builder");
  const [address, setAddress] = useState<string>();
  const { facts } = useHere();
  const invite = useAct("post", "/api/workspaces/{username}/{business}/invitations");
  const toast = useToast();
  const problem = /^\S+@\S+$/.test(email.trim()) ? undefined : "Write an e-mail address first";
  const send = async (): Promise<void> => {
    if (problem) return;
    const done = await invite.run({ body: { email: email.trim(), role } });
    if (!done) return;
    if (done.answer.acceptUrl) return setAddress(done.answer.acceptUrl);
    toast({ tone: "ok", text: `${email.trim()} is invited.` });
    onClose();
  };
  if (address) return <HandOver email={email.trim()} address={address} onClose={onClose} />;
  const errors = fieldErrors(invite.error);
  return (
    <Dialog
      title="Invite somebody"
      onClose={onClose}
      onSubmit={() => void send()}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={invite.busy} why={problem}>Invite</Button>
        </>
      }
    >
      {invite.error && Object.keys(errors).length === 0 && <Trouble error={invite.error} />}
      <Field label="E-mail" type="email" value={email} onChange={(event) => setEmail(event.target.value)} error={errors["email"]} autoFocus autoComplete="off" help="Only an account with this address can accept." />
      <fieldset className="invite-roles">
        <legend>Role</legend>
        {roles.map((each) => {
          const why = whyNotGive(facts?.role, each, place.surface === "admin");
          return (
            <label key={each} className="choice" title={why}>
              <input type="radio" name="role" className="dotted" checked={role === each} disabled={why !== undefined} onChange={() => setRole(each)} />
              <span>
                {roleName(each)}
                <small>{why ?? purposes[each]}</small>
              </span>
            </label>
          );
        })}
      </fieldset>
    </Dialog>
  );
}

/** HandOver shows the address of an invitation, once: this service sends no mail. */
export function HandOver({ email, address, onClose }: { email: string; address: string; onClose: () => void }): ReactNode {
  return (
    <Dialog title={`Hand this to ${email}`} wide onClose={onClose} footer={<Button look="primary" onClick={onClose}>Done</Button>}>
      <p className="help warn">
        <Icon name="mail" small /> <span>This service sends no mail, so the address is for you to hand over. It is shown once and is good for 7 days.</span>
      </p>
      <div className="copyline hand-over">
        <code className="mono grow">{address}</code>
        <CopyButton text={address} label="Copy the address">Copy</CopyButton>
      </div>
    </Dialog>
  );
}
