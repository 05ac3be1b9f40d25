import { useQuery, type UseQueryResult } from "@tanstack/react-query";
import type { AnswerOf, Client, SvcError } from "@svc/sdk";
import { place } from "./place";
import { staffs, useServer, type Workspace } from "./workspace";

/** Session is who is signed in, and where they work. */
export type Session = AnswerOf<"/api/auth/session", "get">;

export type Account = NonNullable<Session["account"]>;

export const sessionKey = ["session"] as const;

export function readSession(client: Client, signal?: AbortSignal): Promise<Session> {
  return client.api.get("/api/auth/session", { signal });
}

/** useSession asks again whenever the page is looked at again: a session may have ended meanwhile. */
export function useSession(): UseQueryResult<Session, SvcError> {
  const client = useServer();
  return useQuery<Session, SvcError>({ queryKey: sessionKey, queryFn: ({ signal }) => readSession(client, signal), staleTime: 30_000, refetchOnWindowFocus: "always", refetchInterval: place.surface === "admin" ? 60_000 : false });
}

/** nameOf is what a person is called. */
export function nameOf(account: Pick<Account, "displayName" | "username">): string {
  return account.displayName || account.username;
}

/** addressOf is the workspace of a scope. */
export function addressOf(scope: string): Workspace | undefined {
  if (scope === staffs.username) return staffs;
  const [, username, business] = scope.split("/");
  return username && business ? { username, business } : undefined;
}

/** signInAddress leads to the sign-in, and back here. */
export function signInAddress(back = location.href): string {
  return `${place.platform}/login?returnTo=${encodeURIComponent(back)}`;
}
