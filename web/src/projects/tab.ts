/** tabIn is the tab of a project that an address names, and what follows it. */
export function tabIn(splat: string): { tab: "files" | "repository" | "access" | undefined; rest: string } {
  const [tab = "", ...rest] = splat.split("/");
  if (tab === "" || tab === "files") return { tab: "files", rest: rest.join("/") };
  if ((tab === "repository" || tab === "access") && rest.join("") === "") return { tab, rest: "" };
  return { tab: undefined, rest: "" };
}
