import { useCallback } from "react";
import { useLocation } from "@tanstack/react-router";
import { namesOf, staffs, useWorkspace, type Workspace } from "../server/workspace";

/** baseOf is where the pages of a workspace begin; without one, those of the service. */
export function baseOf(workspace: Workspace | undefined): string {
  return workspace ? `/w/${namesOf(workspace)}` : "";
}

/** usePath makes addresses of pages beside this one: `path("runs/run_1")`. */
export function usePath(): (page: string) => string {
  const base = baseOf(useWorkspace());
  return useCallback((page) => `${base}/${page}`, [base]);
}

/** usePage is the page that is shown, as its row names it: what follows the workspace in the address. */
export function usePage(): string {
  const { pathname } = useLocation();
  return pageIn(pathname);
}

/** Where the pages of a workspace begin, by its one name or its two. */
const workspaces = new RegExp(`^/w/(${staffs.username}|[^/]+/[^/]+)(?=/|$)`);

export function pageIn(pathname: string): string {
  return pathname.replace(workspaces, "").replace(/^\//, "");
}

/** samePage is the page to show elsewhere in the place of this one: the list, not the thing, for that is in one workspace alone. */
export function samePage(here: string, pages: readonly { readonly path: string }[]): string {
  const above = pages.map((page) => page.path).filter((path) => !path.includes("$") && (here === path || here.startsWith(`${path}/`)));
  return above.reduce((longest, path) => (path.length > longest.length ? path : longest), "");
}
