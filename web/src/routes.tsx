import { lazy, type LazyExoticComponent, type ReactNode } from "react";
import { createRootRoute, createRoute, createRouter, Outlet, type AnyRoute } from "@tanstack/react-router";
import type { IconName } from "./kit/Icon";
import { missBuild } from "./server/hearing";
import type { Surface } from "./server/place";
import type { Right } from "./server/role";
import { First } from "./shell/First";
import { Allowed } from "./shell/Allowed";
import { ServiceFrame, WorkspaceFrame } from "./shell/Frame";
import { Broken, NotHere } from "./shell/NotHere";
import { Start } from "./shell/Start";

/** PageRow is a page: where it is, who may see it, how the navigation names it, and where its code is. */
export interface PageRow {
  /** Below the workspace, or below the root of Admin. `$name` is a parameter, a last `$` all that follows. */
  readonly path: string;
  readonly title: string;
  readonly load: () => Promise<() => ReactNode>;
  /** Absent: the page is reached from another, and stands in no navigation. */
  readonly nav?: { readonly icon: IconName; readonly group: Group; /** The key behind `g`. */ readonly key?: string };
  /** The surfaces of a workspace's page. Default: Agents and Admin. */
  readonly on?: readonly Surface[];
  /** What one must be allowed to see it. Default: read. */
  readonly right?: Right;
}

export type Group = "" | "Connect" | "Workspace" | "Service" | "Operate";

/** Configuration is on Platform too. */
export const everywhere: readonly Surface[] = ["platform", "agents", "admin"];

/** The pages of a workspace, in the order of the navigation. A new page is a line here. */
export const workspacePages: readonly PageRow[] = [
  { path: "chat", title: "Chat", nav: { icon: "chat", group: "", key: "c" }, load: () => import("./chat/ChatPage").then((of) => of.NewChatPage) },
  { path: "chat/$instance", title: "Chat", load: () => import("./chat/ChatPage").then((of) => of.ChatPage) },
  { path: "agents/$name/conversations/$instance", title: "Conversation", load: () => import("./chat/ChatPage").then((of) => of.AgentChatPage) },
  { path: "agents", title: "Agents", nav: { icon: "agents", group: "", key: "a" }, load: () => import("./agents/AgentsPage").then((of) => of.AgentsPage) },
  { path: "agents/$", title: "Agents", load: () => import("./agents/AgentsPage").then((of) => of.AgentsPage) },
  { path: "projects", title: "Projects", nav: { icon: "folder", group: "", key: "p" }, load: () => import("./projects/ProjectsPage").then((of) => of.ProjectsPage) },
  { path: "projects/$slug", title: "Project", load: () => import("./projects/ProjectPage").then((of) => of.ProjectPage) },
  { path: "projects/$slug/$", title: "Project", load: () => import("./projects/ProjectPage").then((of) => of.ProjectPage) },
  { path: "runs", title: "Runs", nav: { icon: "runs", group: "", key: "r" }, load: () => import("./runs/RunsPage").then((of) => of.RunsPage) },
  { path: "runs/$runId", title: "Run", load: () => import("./runs/RunPage").then((of) => of.RunPage) },
  { path: "mcps", title: "MCPs", nav: { icon: "mcp", group: "Connect" }, on: everywhere, load: () => import("./mcps/McpsPage").then((of) => of.McpsPage) },
  { path: "mcps/$id", title: "MCPs", on: everywhere, load: () => import("./mcps/McpsPage").then((of) => of.McpsPage) },
  { path: "api", title: "API", nav: { icon: "key", group: "Connect" }, on: everywhere, right: "review", load: () => import("./api/ApiPage").then((of) => of.ApiPage) },
  { path: "team", title: "Team", nav: { icon: "team", group: "Workspace" }, load: () => import("./team/TeamPage").then((of) => of.TeamPage) },
  { path: "storage", title: "Storage", nav: { icon: "disk", group: "Workspace" }, on: everywhere, right: "enter", load: () => import("./storage/StoragePage").then((of) => of.StoragePage) },
  { path: "audit", title: "Audit", nav: { icon: "audit", group: "Workspace" }, right: "review", load: () => import("./audit/AuditPage").then((of) => of.AuditPage) },
  { path: "settings", title: "Settings", nav: { icon: "gear", group: "Workspace" }, on: everywhere, right: "enter", load: () => import("./settings/Settings").then((of) => of.SettingsPage) },
  { path: "settings/models", title: "Models", on: everywhere, load: () => import("./settings/ModelsPage").then((of) => of.ModelsPage) },
  { path: "settings/secrets", title: "Secrets", on: everywhere, right: "review", load: () => import("./settings/SecretsPage").then((of) => of.SecretsPage) },
  { path: "settings/general", title: "General", right: "enter", load: () => import("./settings/GeneralPage").then((of) => of.GeneralPage) },
];

/** The pages of the service as a whole, on Admin. */
export const servicePages: readonly PageRow[] = [
  { path: "people", title: "People", nav: { icon: "team", group: "Service" }, load: () => import("./people/PeoplePage").then((of) => of.PeoplePage) },
  { path: "customers", title: "Customers", nav: { icon: "globe", group: "Service" }, load: () => import("./customers/CustomersPage").then((of) => of.CustomersPage) },
  { path: "runs", title: "Runs", nav: { icon: "runs", group: "Service", key: "r" }, load: () => import("./runs/RunsPage").then((of) => of.RunsPage) },
  { path: "agents", title: "Agents", nav: { icon: "agents", group: "Service", key: "a" }, load: () => import("./agents/AllAgentsPage").then((of) => of.AllAgentsPage) },
  { path: "projects", title: "Projects", nav: { icon: "folder", group: "Service", key: "p" }, load: () => import("./projects/AllProjectsPage").then((of) => of.AllProjectsPage) },
  { path: "mcps", title: "MCPs", nav: { icon: "mcp", group: "Connect" }, load: () => import("./mcps/AllMcpsPage").then((of) => of.AllMcpsPage) },
  { path: "api", title: "API keys", nav: { icon: "key", group: "Connect" }, load: () => import("./keys/AllKeysPage").then((of) => of.AllKeysPage) },
  { path: "settings/providers", title: "Provider set-up", nav: { icon: "lock", group: "Connect" }, right: "manage", load: () => import("./providers/ProvidersPage").then((of) => of.ProvidersPage) },
  { path: "health", title: "Service health", nav: { icon: "heart", group: "Operate" }, load: () => import("./health/HealthPage").then((of) => of.HealthPage) },
  { path: "settings/secret-store", title: "Secret-store keys", nav: { icon: "key", group: "Operate" }, load: () => import("./secretstore/SecretStorePage").then((of) => of.SecretStorePage) },
  { path: "storage", title: "Storage", nav: { icon: "disk", group: "Operate" }, load: () => import("./storage/AllStoragePage").then((of) => of.AllStoragePage) },
  { path: "audit", title: "Audit", nav: { icon: "audit", group: "Operate" }, load: () => import("./audit/AuditPage").then((of) => of.AllAuditPage) },
  { path: "impersonations/$id/end", title: "End the read-only session", load: () => import("./shell/EndViewPage").then((of) => of.EndViewPage) },
];

/** pagesOn are the pages of a workspace that a surface has. */
export function pagesOn(surface: Surface): readonly PageRow[] {
  return workspacePages.filter((page) => (page.on ?? ["agents", "admin"]).includes(surface));
}

/** lazily loads a page when it is first shown. A part that is gone is of a build that is no longer kept. */
function lazily(page: PageRow): LazyExoticComponent<() => ReactNode> {
  return lazy(() =>
    page.load().then(
      (component) => ({ default: component }),
      (error: unknown) => {
        missBuild();
        throw error;
      },
    ),
  );
}

type Shown = (() => ReactNode) | LazyExoticComponent<() => ReactNode>;

/** guarded shows a page of a workspace to whoever may see it. */
function guarded(page: PageRow): Shown {
  const Inside = lazily(page);
  return () => (
    <Allowed title={page.title} right={page.right ?? "read"}>
      <Inside />
    </Allowed>
  );
}

function below(parent: AnyRoute, pages: readonly PageRow[], component: (page: PageRow) => Shown): AnyRoute[] {
  const routes = pages.map((page) => createRoute({ getParentRoute: () => parent, path: page.path, component: component(page) }) as AnyRoute);
  return [createRoute({ getParentRoute: () => parent, path: "/", component: First }) as AnyRoute, ...routes];
}

/** routerOf are all addresses of a surface. */
export function routerOf(surface: Surface) {
  const root = createRootRoute({ component: Outlet, notFoundComponent: NotHere, errorComponent: Broken });
  const workspace = createRoute({ getParentRoute: () => root, path: "/w/$username/$business", component: WorkspaceFrame, notFoundComponent: NotHere });
  const children: AnyRoute[] = [workspace.addChildren(below(workspace, pagesOn(surface), guarded))];
  if (surface === "admin") {
    const service = createRoute({ getParentRoute: () => root, id: "service", component: ServiceFrame, notFoundComponent: NotHere });
    children.push(service.addChildren(below(service, servicePages, lazily)));
  } else {
    children.push(createRoute({ getParentRoute: () => root, path: "/", component: Start }));
  }
  return createRouter({ routeTree: root.addChildren(children), scrollRestoration: true, defaultErrorComponent: Broken, defaultNotFoundComponent: NotHere });
}
