import { useMemo } from "react";
import { place } from "../server/place";
import { useRead } from "../server/read";
import { allows, useHere } from "../server/role";
import { nameOf, useSession } from "../server/session";

/** Naming is what to call an account; undefined: nobody here knows it. */
export type Naming = (account: string | null | undefined) => string | undefined;

/** useNames knows the people of this workspace. Platform has none of them, so there it knows only who is looking. */
export function useNames(): Naming {
  const { facts } = useHere();
  const self = useSession().data?.account;
  const readable = place.surface !== "platform" && allows(facts?.role, "read");
  const people = useRead("/api/workspaces/{username}/{business}/people", { query: { limit: 200 }, when: readable }).data?.items;
  return useMemo(() => {
    const known = new Map((people ?? []).map((person) => [person.account, nameOf(person)]));
    return (account) => (account && account === self?.id ? "you" : known.get(account ?? ""));
  }, [people, self?.id]);
}
