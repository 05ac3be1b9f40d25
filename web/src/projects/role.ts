import { place } from "../server/place";
import { allows, reasonFor, useHere, useMay } from "../server/role";
import { useList } from "../server/read";
import { useSession } from "../server/session";

/** useMayWork says whether the person may change a project: by their role in the workspace, or by one that a team of theirs has here. */
export function useMayWork(slug: string): { may: boolean; why: string | undefined } {
  const own = useMay("work");
  const { facts } = useHere();
  // On Admin the authority is the service's, which no team adds to.
  const mightByTeam = place.surface !== "admin" && facts !== undefined && !own.may && allows(facts.role, "read");
  const teams = useList("/api/workspaces/{username}/{business}/teams", { when: mightByTeam });
  const me = useSession().data?.account?.id;
  if (own.may || !mightByTeam) return own;
  const mine = (teams.items ?? []).filter((team) => team.members.some((member) => member.account === me));
  const roles = mine.flatMap((team) => team.projects.filter((project) => project.slug === slug).map((project) => project.role));
  const may = roles.some((role) => allows(role, "work", "agents"));
  return { may, why: may || teams.items === undefined ? undefined : reasonFor("work") };
}
