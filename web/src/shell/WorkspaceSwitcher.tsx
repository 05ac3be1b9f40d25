import type { ReactNode } from "react";
import { useNavigate } from "@tanstack/react-router";
import { Icon } from "../kit/Icon";
import { Menu, type MenuItem } from "../kit/Menu";
import { place } from "../server/place";
import { useHere } from "../server/role";
import { addressOf, useSession } from "../server/session";
import { useWorkspace } from "../server/workspace";
import { pagesOn } from "../routes";
import { baseOf, samePage, usePage } from "./where";

/** WorkspaceSwitcher says whose things these are, and leads to those of another. */
export function WorkspaceSwitcher(): ReactNode {
  const workspace = useWorkspace();
  const { facts } = useHere();
  const session = useSession().data;
  const navigate = useNavigate();
  const here = usePage();
  if (place.surface === "admin") return <AdminMark />;
  if (!workspace) return null;

  const name = facts?.name || workspace.business;
  const own = (session?.workspaces ?? []).flatMap(({ scope, business, role }): MenuItem[] => {
    const at = addressOf(scope);
    if (!at) return [];
    const current = at.username === workspace.username && at.business === workspace.business;
    const go = (): void => void navigate({ to: `${baseOf(at)}/${samePage(here, pagesOn(place.surface))}` });
    return [{ label: business, note: `${at.username} / ${at.business} · ${role}`, ticked: current, onSelect: go }];
  });
  const others: MenuItem[] = [
    { label: "All workspaces", icon: "globe", href: `${place.platform}/workspaces` },
    { label: "New workspace", icon: "plus", href: `${place.platform}/workspaces/new` },
  ];
  if (place.surface === "platform") others.unshift({ label: "Open in Agents", icon: "chat", href: `${place.agents}${baseOf(workspace)}/chat` });
  return (
    <Menu
      label="Workspace"
      className="switch"
      groups={[{ heading: "Workspaces", items: own }, { items: others }]}
      button={
        <>
          <span className="mark" aria-hidden="true">{name.slice(0, 1).toUpperCase()}</span>
          <span className="grow">
            <b className="trunc">{name}</b>
            <small className="trunc">{place.surface === "platform" ? "Configuration" : `${workspace.username} / ${workspace.business}`}</small>
          </span>
          <Icon name="updown" small />
        </>
      }
    />
  );
}

function AdminMark(): ReactNode {
  return (
    <div className="switch">
      <span className="mark" aria-hidden="true">A</span>
      <span className="grow">
        <b>Admin</b>
        <small>Service-wide authority</small>
      </span>
    </div>
  );
}
