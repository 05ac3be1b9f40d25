import { useList } from "../server/read";

/** usePeopleNames names the accounts of a workspace. One that has left it is known by its id alone. */
export function usePeopleNames(): (account: string) => string {
  const people = useList("/api/workspaces/{username}/{business}/people", { query: { limit: 200 } });
  return (account) => {
    const person = people.items?.find((each) => each.account === account);
    return person ? person.displayName || person.username : account;
  };
}
