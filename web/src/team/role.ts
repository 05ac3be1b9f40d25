import type { ItemOf } from "../server/path";
import { allows, type Right, type Role } from "../server/role";

export type Member = ItemOf<"/api/workspaces/{username}/{business}/people">;
export type Invitation = ItemOf<"/api/workspaces/{username}/{business}/invitations">;
export type Team = ItemOf<"/api/workspaces/{username}/{business}/teams">;

/** MemberRole is a role that a member can have, as the API names it. */
export type MemberRole = "viewer" | "builder" | "admin" | "owner" | "billing";

/** roles are all that a member can have, the least first, and billing beside them. */
export const roles: readonly MemberRole[] = ["viewer", "builder", "admin", "owner", "billing"];

/** What a team can give in a project. */
export const teamRoles: readonly MemberRole[] = ["viewer", "builder", "admin"];

/** what each role is for, in a line. */
export const purposes: Record<MemberRole, string> = {
  viewer: "reads agents, runs and projects",
  builder: "prompts, runs, edits projects and agents",
  admin: "sets up keys, secrets, models, people and teams",
  owner: "everything, also ending the workspace",
  billing: "plan, usage and invoices, and nothing else",
};

/** roleName is a role with a capital letter. */
export function roleName(role: string): string {
  return role.slice(0, 1).toUpperCase() + role.slice(1);
}

/** rows are what the table of roles tells, each with the right behind it. */
export const rows: readonly { what: string; right: Right; read?: Right }[] = [
  { what: "Read agents, runs, projects", right: "read" },
  { what: "Prompt, run, edit projects and agents", right: "work" },
  { what: "Models, keys, secrets, MCPs", right: "manage" },
  { what: "People and teams", right: "manage" },
  { what: "Read the audit log", right: "review" },
  { what: "Owners, delete workspace", right: "own" },
  { what: "Billing", right: "billing.write", read: "billing.read" },
];

/** mayOf is a cell of that table. */
export function mayOf(role: Role, row: { right: Right; read?: Right }): "yes" | "no" | "read" {
  if (allows(role, row.right, "agents")) return "yes";
  return row.read && allows(role, row.read, "agents") ? "read" : "no";
}

const order: readonly Right[] = ["enter", "read", "work", "review", "manage", "own", "billing.read", "billing.write"];

/** atMost reports whether a role may do nothing that the other may not: then who has the other may give it and take it. */
export function atMost(role: string, other: string): boolean {
  return order.every((right) => !allows(role, right, "agents") || allows(other, right, "agents"));
}

/** whyNotGive is why somebody with a role cannot give or take another; undefined: they can. On Admin staff can give all. */
export function whyNotGive(own: string | undefined, role: string, staff: boolean): string | undefined {
  if (own === undefined) return undefined;
  if (!staff && !allows(own, "manage", "agents")) return "You need the admin role.";
  return staff || atMost(role, own) ? undefined : "Only owners give this role.";
}

/** because names the teams by which somebody does more in some projects than their own role: "builder in ops and docs". */
export function because(member: Pick<Member, "role" | "teams">, teams: readonly Pick<Team, "id" | "projects">[]): string | undefined {
  const given = new Map<string, string[]>();
  for (const { id } of member.teams) {
    for (const { slug, role } of teams.find((team) => team.id === id)?.projects ?? []) {
      if (!atMost(role, member.role)) given.set(role, [...(given.get(role) ?? []).filter((each) => each !== slug), slug]);
    }
  }
  const told = [...given].map(([role, slugs]) => `${role} in ${listed(slugs.sort())}`);
  return told.length > 0 ? told.join(", ") : undefined;
}

/** listed joins names as people do. */
export function listed(names: readonly string[]): string {
  if (names.length < 2) return names.join("");
  return `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

/** leftOf is how long an invitation is good for. */
export function leftOf(expiresAt: string, now: Date): { expired: boolean; told: string } {
  const left = new Date(expiresAt).getTime() - now.getTime();
  const days = Math.abs(left) < 86_400_000 ? 0 : Math.round(Math.abs(left) / 86_400_000);
  const told = days > 0 ? `${days} d` : `${Math.max(1, Math.floor(Math.abs(left) / 3_600_000))} h`;
  return left <= 0 ? { expired: true, told: `${told} ago` } : { expired: false, told: `${told} left` };
}
