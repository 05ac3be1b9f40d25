import { useQuery, useQueryClient } from "@tanstack/react-query";
import type { AnswerOf, SvcError } from "@svc/sdk";
import { place } from "./place";
import { keyOf } from "./read";
import { lookedAt, useLooking } from "./staff";
import { call } from "./call";
import { useServer, useWorkspace } from "./workspace";

/** Right is something that a role may do, by the names that the service gives them. */
export type Right = "enter" | "read" | "work" | "review" | "manage" | "own" | "billing.read" | "billing.write";

/** Role is what a person is in a workspace; staff on Admin are admin or support. */
export type Role = "owner" | "admin" | "builder" | "viewer" | "billing" | "support";

const rights: Record<Role, readonly Right[]> = {
  viewer: ["enter", "read"],
  builder: ["enter", "read", "work"],
  admin: ["enter", "read", "work", "review", "manage", "billing.read"],
  owner: ["enter", "read", "work", "review", "manage", "own", "billing.read", "billing.write"],
  billing: ["enter", "billing.read", "billing.write"],
  support: ["enter", "read", "review", "billing.read"],
};

/** The least role that has a right, which a reason names. */
const least: Record<Right, string> = {
  enter: "member", read: "viewer", work: "builder", review: "admin", manage: "admin", own: "owner", "billing.read": "billing", "billing.write": "billing",
};

/** The rights that nobody has who looks in a customer's name. */
const changes: readonly Right[] = ["work", "manage", "own", "billing.write"];

/** allows says what to show. The service refuses anyway, so a page that is wrong here opens no door. */
export function allows(role: string | undefined, right: Right, surface = place.surface): boolean {
  if (surface === "admin" && role === "admin") return true; // of the whole service
  return (rights[role as Role] ?? []).includes(right);
}

/** reasonFor is why somebody may not, as a disabled control says it. */
export function reasonFor(right: Right): string {
  const role = least[right];
  return `You need the ${role} role.`;
}

export type WorkspaceFacts = AnswerOf<"/api/workspaces/{username}/{business}", "get">;

const path = "/api/workspaces/{username}/{business}";

/** useHere is the workspace that is shown, with one's role in it. */
export function useHere(): { facts: WorkspaceFacts | undefined; error: SvcError | undefined; retry: () => void } {
  const client = useServer();
  const workspace = useWorkspace();
  const { data, error, refetch } = useQuery<WorkspaceFacts, SvcError>({
    queryKey: keyOf(workspace, path),
    queryFn: ({ signal }) => call(client, workspace, "get", path, { signal }),
    enabled: workspace !== undefined,
    staleTime: 60_000,
  });
  return { facts: data, error: error ?? undefined, retry: () => void refetch() };
}

/** useSavedHere takes over what a change of the workspace answered: a form must not go by what it was until it is read again. */
export function useSavedHere(): (facts: WorkspaceFacts) => void {
  const queries = useQueryClient();
  const workspace = useWorkspace();
  return (facts) => queries.setQueryData(keyOf(workspace, path), facts);
}

/** useMay says whether the person may, and why not. While nobody knows their role yet, they may not. */
export function useMay(right: Right): { may: boolean; why: string | undefined } {
  const { facts } = useHere();
  const looking = useLooking() && changes.includes(right);
  const may = allows(facts?.role, right) && !looking;
  return { may, why: may || !facts ? undefined : looking ? lookedAt : reasonFor(right) };
}
