import type { ReactNode } from "react";
import { Avatar } from "../kit/Avatar";
import { Icon } from "../kit/Icon";
import { Menu, type MenuItem } from "../kit/Menu";
import { useToast } from "../kit/Toast";
import { useHeard } from "../server/hearing";
import { place } from "../server/place";
import { nameOf, useSession } from "../server/session";
import { useStaff } from "../server/staff";
import { useServer } from "../server/workspace";
import { Countdown } from "./Countdown";
import { openKeys } from "./palette";
import { schemes, useScheme } from "./scheme";

/** AccountMenu is who is here: their account, how the pages look, and the way out. */
export function AccountMenu(): ReactNode {
  const session = useSession().data;
  const client = useServer();
  const toast = useToast();
  const { impersonation } = useHeard();
  const staff = useStaff();
  const [scheme, setScheme] = useScheme();
  const account = session?.account;
  if (!account) return null;

  const leave = async (): Promise<void> => {
    try {
      await client.api.post("/api/auth/logout");
      location.assign(`${place.platform}/login?notice=signed_out`);
    } catch {
      toast({ tone: "bad", text: "Signing out did not work. Try again." });
    }
  };
  const lower = async (): Promise<void> => {
    try {
      await client.api.delete("/api/auth/elevate");
      location.assign(`${place.platform}/account`);
    } catch {
      toast({ tone: "bad", text: "Leaving Admin did not work. Try again." });
    }
  };
  const name = nameOf(account);
  const own: MenuItem[] = [
    { label: "Your account", icon: "team", note: account.email ?? account.username, href: `${place.platform}/account` },
    { label: "Keyboard", icon: "hash", onSelect: openKeys },
  ];
  if (staff.until) own.push({ label: "Leave Admin", icon: "lock", note: "Lay the authority down; you stay signed in", onSelect: () => void lower() });
  const looks = schemes.map((each): MenuItem => ({ label: each.label, ticked: scheme === each.id, onSelect: () => setScheme(each.id) }));
  return (
    <Menu
      label={`Account of ${name}`}
      className="me-menu"
      groups={[{ items: own }, { heading: "Scheme", items: looks }, { items: [{ label: "Sign out", icon: "move", onSelect: () => void leave() }] }]}
      button={
        <>
          <Avatar name={name} />
          <span className="grow trunc">{place.surface === "admin" ? `${name} · ${staff.role ?? "staff"}` : name}</span>
          {place.surface === "admin" && <Countdown until={staff.until} />}
          {impersonation && <span className="tag rust">staff</span>}
          {!staff.until && <Icon name="more" />}
        </>
      }
    />
  );
}
