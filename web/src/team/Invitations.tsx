import { useState, type ReactNode } from "react";
import { Button } from "../kit/Button";
import { Icon } from "../kit/Icon";
import { Trouble } from "../kit/Refusal";
import { Tag } from "../kit/StatusTag";
import { Time, useNow } from "../kit/Time";
import { useToast } from "../kit/Toast";
import { useAct } from "../server/act";
import { useList } from "../server/read";
import { useMay } from "../server/role";
import { nameOf } from "../server/session";
import { HandOver } from "./InviteDialog";
import { leftOf, roleName, type Invitation } from "./role";

/** Invitations are those who are asked to come, and whose asking has run out. */
export function Invitations({ onInvite }: { onInvite: (email: string) => void }): ReactNode {
  const list = useList("/api/workspaces/{username}/{business}/invitations", { query: { limit: 200 } });
  const now = useNow();
  if (list.error && !list.items) return <Trouble error={list.error} onRetry={list.retry} />;
  if (!list.items || list.items.length === 0) return null;
  const expired = list.items.filter((each) => leftOf(each.expiresAt, now).expired).length;
  const told = [list.items.length - expired > 0 && `${list.items.length - expired} pending`, expired > 0 && `${expired} expired`].filter(Boolean).join(", ");
  return (
    <>
      <h2 className="sec" id="invitations">Invitations <span>{told}</span></h2>
      <table className="rows invitations" aria-labelledby="invitations">
        <colgroup><col /><col /><col /><col /></colgroup>
        <thead className="sr"><tr><th scope="col">E-mail</th><th scope="col">Role</th><th scope="col">State</th><th scope="col">Acts</th></tr></thead>
        <tbody>
          {list.items.map((each) => (
            <Row key={each.id} of={each} now={now} onAgain={() => onInvite(each.email)} />
          ))}
        </tbody>
      </table>
    </>
  );
}

function Row({ of, now, onAgain }: { of: Invitation; now: Date; onAgain: () => void }): ReactNode {
  const { why } = useMay("manage");
  const toast = useToast();
  const [address, setAddress] = useState<string>();
  const resend = useAct("post", "/api/workspaces/{username}/{business}/invitations/{invitation}/resend");
  const revoke = useAct("delete", "/api/workspaces/{username}/{business}/invitations/{invitation}");
  const left = leftOf(of.expiresAt, now);
  const again = async (): Promise<void> => {
    const done = await resend.run({ path: { invitation: of.id } });
    if (!done) return;
    if (done.answer.acceptUrl) setAddress(done.answer.acceptUrl);
    else toast({ tone: "ok", text: `Sent to ${of.email} again.` });
  };
  const back = async (): Promise<void> => {
    if (await revoke.run({ path: { invitation: of.id } })) toast({ tone: "ok", text: `The invitation of ${of.email} is taken back.` });
  };
  const error = resend.error ?? revoke.error;
  return (
    <tr>
      <td>
        <div className="row member">
          <span className="face g" aria-hidden="true"><Icon name="mail" small /></span>
          <span className="grow trunc">
            {of.email}
            <small>by {nameOf(of.invitedBy) || "staff"}, <Time at={of.createdAt} quiet /></small>
            {error && <small className="bad" role="alert">{error.message}</small>}
          </span>
        </div>
      </td>
      <td data-phone="end">{roleName(of.role)}</td>
      <td><Tag tone={left.expired ? "warn" : ""}>{left.expired ? "Expired" : "Invited"}</Tag> <span className="dim num t12">{left.told}</span></td>
      <td className="acts" data-phone="end">
        <span className="row end tight">
          {left.expired ? (
            <Button small look="ghost" why={why} onClick={onAgain}>Invite again</Button>
          ) : (
            <Button small look="ghost" why={why} busy={resend.busy} label={`Resend to ${of.email}`} onClick={() => void again()}>Resend</Button>
          )}
          <Button small look="ghost" className="danger" why={why} busy={revoke.busy} label={`Revoke the invitation of ${of.email}`} onClick={() => void back()}>Revoke</Button>
        </span>
        {address && <HandOver email={of.email} address={address} onClose={() => setAddress(undefined)} />}
      </td>
    </tr>
  );
}
