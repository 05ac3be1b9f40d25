import { useLocation } from "@tanstack/react-router";
import { place } from "../server/place";
import { useMay } from "../server/role";
import { isStaffs, namesOf, useWorkspace } from "../server/workspace";

/** Install is where an administrator of this workspace has GitHub's app installed for it, on Platform, and why somebody else has not. */
export interface Install {
  readonly address: string;
  readonly why: string | undefined;
}

export function useInstall(): Install {
  const workspace = useWorkspace();
  const manage = useMay("manage");
  const back = useLocation().href;
  const asked = new URLSearchParams({ workspace: namesOf(workspace), returnTo: place.agents + back });
  const address = `${place.platform}/api/auth/oauth/github/install?${asked}`;
  if (isStaffs(workspace)) return { address, why: "The staff's own projects follow no repository." };
  if (place.surface === "admin") return { address, why: "The people of a workspace connect GitHub themselves, with their accounts there." };
  return { address, why: manage.may ? undefined : (manage.why ?? "Your role is not known yet.") };
}
