import { useState, type ReactNode } from "react";
import { ConfirmByName } from "../kit/ConfirmByName";
import { Icon } from "../kit/Icon";
import { Menu, type MenuItem } from "../kit/Menu";
import { sentenceOf } from "../kit/Refusal";
import { useToast } from "../kit/Toast";
import { useAct } from "../server/act";
import { place } from "../server/place";
import { useHere } from "../server/role";
import { nameOf, useSession } from "../server/session";
import { purposes, roleName, roles, whyNotGive, type Member } from "./role";

const path = "/api/workspaces/{username}/{business}/people/{account}";
const teams = "/api/workspaces/{username}/{business}/teams";

/** stays is why somebody stays an owner: the workspace has their name in its address. */
const stays = "The workspace carries this person's name in its address, so they always stay an owner.";

/** RoleMenu is what somebody is here, and who may changes it. */
export function RoleMenu({ member, always }: { member: Member; always: boolean }): ReactNode {
  const { facts } = useHere();
  const change = useAct("patch", path, { refreshes: ["/api/workspaces/{username}/{business}"] });
  const removal = useRemoval(member);
  const toast = useToast();
  const staff = place.surface === "admin";
  const own = facts?.role;
  const fixed = always || !own || whyNotGive(own, member.role, staff) !== undefined;
  if (fixed) return <span title={always ? stays : whyNotGive(own, member.role, staff)}>{roleName(member.role)}</span>;
  const give = async (role: string): Promise<void> => {
    const done = await change.run({ path: { account: member.account }, body: { role }, version: member.version });
    if (done) toast({ tone: "ok", text: `${nameOf(member)} is ${role} from the next request on.` });
  };
  const items = roles.map((role) => ({
    label: roleName(role),
    note: purposes[role],
    ticked: role === member.role,
    why: whyNotGive(own, role, staff),
    onSelect: () => void (role !== member.role && give(role)),
  }));
  return (
    <>
      <Menu
        bare
        label={`Role of ${nameOf(member)}: ${member.role}`}
        className="btn ghost sm role"
        groups={[{ items }, { items: [removal.item] }]}
        button={<>{roleName(member.role)} {change.busy ? <span className="spin" /> : <Icon name="down" small />}</>}
      />
      {change.error && <small className="bad" role="alert">{sentenceOf(change.error)}</small>}
      {removal.dialog}
    </>
  );
}

/** PersonMenu is what can be done to somebody beside their role. */
export function PersonMenu({ member, always }: { member: Member; always: boolean }): ReactNode {
  const removal = useRemoval(member);
  if (always) return null;
  return (
    <>
      <Menu bare label={`More of ${nameOf(member)}`} className="btn ghost sm icon" button={<Icon name="more" />} groups={[{ items: [removal.item] }]} />
      {removal.dialog}
    </>
  );
}

/** useRemoval takes somebody out, or oneself: an item of a menu, and the dialog that it opens. */
function useRemoval(member: Member): { item: MenuItem; dialog: ReactNode } {
  const [asking, setAsking] = useState(false);
  const { facts } = useHere();
  const self = useSession().data?.account?.id === member.account && place.surface !== "admin";
  const drop = useAct("delete", path, { refreshes: [teams] });
  const toast = useToast();
  const run = async (): Promise<void> => {
    if (!(await drop.run({ path: { account: member.account }, version: self ? undefined : member.version }))) return;
    if (self) return location.assign(`${place.platform}/workspaces`);
    setAsking(false);
    toast({ tone: "ok", text: `${nameOf(member)} is no longer here.` });
  };
  const act = self ? "Leave workspace" : `Remove ${nameOf(member)}`;
  const who = self ? "you" : "they";
  const why = self ? undefined : whyNotGive(facts?.role, member.role, place.surface === "admin");
  return {
    item: { label: act, icon: self ? "move" : "trash", danger: true, why, onSelect: () => setAsking(true) },
    dialog: asking && (
      <ConfirmByName act={act} name={member.username} busy={drop.busy} error={drop.error} onClose={() => setAsking(false)} onConfirm={() => void run()}>
        {self ? "You" : "They"} lose sight of this workspace at once, and the keys that {who} made stop working. What {who} wrote stays.
      </ConfirmByName>
    ),
  };
}
