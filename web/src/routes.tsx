import type { FunctionComponent, ReactNode } from "react";
import { createRootRoute, createRoute, createRouter, Outlet, redirect, type AnyRoute, type ErrorComponentProps } from "@tanstack/react-router";
import { newInstance } from "./chat/instance";
import type { IconName } from "./kit/Icon";
import { part, type Part } from "./server/part";
import type { Surface } from "./server/place";
import type { Right } from "./server/role";
import { First } from "./shell/First";
import { Allowed } from "./shell/Allowed";
import { isStaffs, staffs, type Workspace } from "./server/workspace";
import { ServiceFrame, StaffFrame, WorkspaceFrame } from "./shell/Frame";
import { Broken, BrokenPage, NoPage, NotHere } from "./shell/NotHere";
import { Start } from "./shell/Start";

/** PageRow is a page: where it is, who may see it, how the navigation names it, and where its code is. */
export interface PageRow {
  /** Below the workspace, or below the root of Admin. `$name` is a parameter, a last `$` all that follows. */
  readonly path: string;
  readonly title: string;
  readonly load: () => Promise<() => ReactNode>;
  /** What the address leads on to, below it: something new of its kind. */
  readonly leadsTo?: () => string;
  /** Absent: the page is reached from another, and stands in no navigation. */
  readonly nav?: { readonly icon: IconName; readonly group: Group; /** The key behind `g`. */ readonly key?: string };
  /** The surfaces of a workspace's page. Default: Agents and Admin. */
  readonly on?: readonly Surface[];
  /** What one must be allowed to see it. Default: read. */
  readonly right?: Right;
  /** The staff's own workspace has no such page: nobody is invited to it, and it has no end. */
  readonly customers?: true;
}

export type Group = "" | "Connect" | "Workspace" | "Service" | "Operate";

/** Configuration is on Platform too. */
export const everywhere: readonly Surface[] = ["platform", "agents", "admin"];

/** The pages that have several addresses. */
const chatPage = () => import("./chat/ChatPage").then((of) => of.ChatPage);
const agentsPage = () => import("./agents/AgentsPage").then((of) => of.AgentsPage);
const projectPage = () => import("./projects/ProjectPage").then((of) => of.ProjectPage);
const mcpsPage = () => import("./mcps/McpsPage").then((of) => of.McpsPage);
const runsPage = () => import("./runs/RunsPage").then((of) => of.RunsPage);

/** The pages of a workspace, in the order of the navigation. A new page is a line here. */
export const workspacePages: readonly PageRow[] = [
  { path: "chat", title: "Chat", nav: { icon: "chat", group: "", key: "c" }, leadsTo: newInstance, load: chatPage },
  { path: "chat/$instance", title: "Chat", load: chatPage },
  { path: "agents/$name/conversations/$instance", title: "Conversation", load: () => import("./chat/ChatPage").then((of) => of.AgentChatPage) },
  { path: "agents", title: "Agents", nav: { icon: "agents", group: "", key: "a" }, load: agentsPage },
  { path: "agents/$", title: "Agents", load: agentsPage },
  { path: "projects", title: "Projects", nav: { icon: "folder", group: "", key: "p" }, load: () => import("./projects/ProjectsPage").then((of) => of.ProjectsPage) },
  { path: "projects/$slug", title: "Project", load: projectPage },
  { path: "projects/$slug/$", title: "Project", load: projectPage },
  { path: "runs", title: "Runs", nav: { icon: "runs", group: "", key: "r" }, load: runsPage },
  { path: "runs/$runId", title: "Run", load: () => import("./runs/RunPage").then((of) => of.RunPage) },
  { path: "mcps", title: "MCPs", nav: { icon: "mcp", group: "Connect" }, on: everywhere, load: mcpsPage },
  { path: "mcps/$id", title: "MCPs", on: everywhere, load: mcpsPage },
  { path: "api", title: "API", nav: { icon: "key", group: "Connect" }, on: everywhere, right: "review", load: () => import("./api/ApiPage").then((of) => of.ApiPage) },
  { path: "team", title: "Team", nav: { icon: "team", group: "Workspace" }, customers: true, load: () => import("./team/TeamPage").then((of) => of.TeamPage) },
  { path: "storage", title: "Storage", nav: { icon: "disk", group: "Workspace" }, on: everywhere, right: "enter", load: () => import("./storage/StoragePage").then((of) => of.StoragePage) },
  { path: "audit", title: "Audit", nav: { icon: "audit", group: "Workspace" }, right: "review", load: () => import("./audit/AuditPage").then((of) => of.AuditPage) },
  { path: "settings", title: "Settings", nav: { icon: "gear", group: "Workspace" }, on: everywhere, right: "enter", load: () => import("./settings/Settings").then((of) => of.SettingsPage) },
  { path: "settings/models", title: "Models", on: everywhere, load: () => import("./settings/ModelsPage").then((of) => of.ModelsPage) },
  { path: "settings/secrets", title: "Secrets", on: everywhere, right: "review", load: () => import("./settings/SecretsPage").then((of) => of.SecretsPage) },
  { path: "settings/general", title: "General", right: "enter", customers: true, load: () => import("./settings/GeneralPage").then((of) => of.GeneralPage) },
];

/** The pages of the service as a whole, on Admin. */
export const servicePages: readonly PageRow[] = [
  { path: "people", title: "People", nav: { icon: "team", group: "Service" }, load: () => import("./people/PeoplePage").then((of) => of.PeoplePage) },
  { path: "customers", title: "Customers", nav: { icon: "globe", group: "Service" }, load: () => import("./customers/CustomersPage").then((of) => of.CustomersPage) },
  { path: "runs", title: "Runs", nav: { icon: "runs", group: "Service", key: "r" }, load: runsPage },
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

/** pagesOn are the pages of a workspace that a surface has. Default: of one of a customer. */
export function pagesOn(surface: Surface, workspace?: Workspace): readonly PageRow[] {
  return workspacePages.filter((page) => (page.on ?? ["agents", "admin"]).includes(surface) && !(page.customers && isStaffs(workspace)));
}

const parts = new Map<PageRow["load"], Part<object>>();

/** partOf is the same for all addresses of a page: from one to the next nothing is loaded anew. */
function partOf(load: PageRow["load"]): Part<object> {
  const known = parts.get(load) ?? part(load);
  parts.set(load, known);
  return known;
}

/** guarded shows a page of a workspace to whoever may see it. */
function guarded(page: PageRow, Inside: FunctionComponent): FunctionComponent {
  return () => (
    <Allowed title={page.title} right={page.right ?? "read"}>
      <Inside />
    </Allowed>
  );
}

/** open shows a page of the service: the whole of it is for staff. */
function open(_: PageRow, Inside: FunctionComponent): FunctionComponent {
  return Inside;
}

function below(parent: AnyRoute, pages: readonly PageRow[], shown: (page: PageRow, Inside: FunctionComponent) => FunctionComponent): AnyRoute[] {
  const routes = pages.map((page) => {
    const Inside = partOf(page.load);
    const errorComponent = (props: ErrorComponentProps): ReactNode => <BrokenPage title={page.title} {...props} />;
    // The code comes beside the facts that say who may see the page. What fails here fails again where it is shown.
    const beforeLoad = ({ location }: { location: { pathname: string } }): void => {
      if (page.leadsTo) throw redirect({ to: `${location.pathname.replace(/\/$/, "")}/${page.leadsTo()}`, replace: true, state: { fresh: true } });
      Inside.load().catch(() => {});
    };
    return createRoute({ getParentRoute: () => parent, path: page.path, component: shown(page, Inside), errorComponent, beforeLoad }) as AnyRoute;
  });
  return [createRoute({ getParentRoute: () => parent, path: "/", component: First }) as AnyRoute, ...routes];
}

/** routerOf are all addresses of a surface. */
export function routerOf(surface: Surface) {
  const root = createRootRoute({ component: Outlet, notFoundComponent: NotHere, errorComponent: Broken });
  const workspace = createRoute({ getParentRoute: () => root, path: "/w/$username/$business", component: WorkspaceFrame, notFoundComponent: NoPage });
  const children: AnyRoute[] = [workspace.addChildren(below(workspace, pagesOn(surface), guarded))];
  if (surface === "admin") {
    const own = createRoute({ getParentRoute: () => root, path: `/w/${staffs.username}`, component: StaffFrame, notFoundComponent: NoPage });
    children.push(own.addChildren(below(own, pagesOn(surface, staffs), guarded)));
    const service = createRoute({ getParentRoute: () => root, id: "service", component: ServiceFrame, notFoundComponent: NoPage });
    children.push(service.addChildren(below(service, servicePages, open)));
  } else {
    children.push(createRoute({ getParentRoute: () => root, path: "/", component: Start }));
  }
  return createRouter({ routeTree: root.addChildren(children), scrollRestoration: true, defaultErrorComponent: Broken, defaultNotFoundComponent: NotHere });
}
