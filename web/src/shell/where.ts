import { useCallback } from "react";
import { useLocation } from "@tanstack/react-router";
import { useWorkspace, type Workspace } from "../server/workspace";

/** baseOf is where the pages of a workspace begin; without one, those of the service. */
export function baseOf(workspace: Workspace | undefined): string {
  return workspace ? `/w/${workspace.username}/${workspace.business}` : "";
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

export function pageIn(pathname: string): string {
  return pathname.replace(/^\/w\/[^/]+\/[^/]+/, "").replace(/^\//, "");
}
