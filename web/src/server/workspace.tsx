import { createContext, useContext, useMemo, type ReactNode } from "react";
import { SvcProvider } from "@svc/react";
import { createClient, type Client } from "@svc/sdk";
import { hearing } from "./hearing";
import { place } from "./place";

/** Workspace is whose things a page shows. That of a customer has two names, its owner's and its own; that of the staff has one. */
export interface Workspace {
  readonly username: string;
  /** Empty: the staff's own. */
  readonly business: string;
}

/** staffs is the staff's own workspace, on Admin. Nobody can be called like it. */
export const staffs: Workspace = { username: "admin", business: "" };

/** isStaffs reports whether a workspace is the staff's own: it has no teams, no invitations, and no end. */
export function isStaffs(workspace: Workspace | undefined): boolean {
  return workspace?.business === "";
}

/** namesOf is a workspace as addresses name it: `ada/labs`, or `admin`. */
export function namesOf(workspace: Workspace | undefined): string {
  if (!workspace) return "";
  return isStaffs(workspace) ? workspace.username : `${workspace.username}/${workspace.business}`;
}

/** apiOf is where programs reach a workspace: that of a customer on Agents, also for staff. */
export function apiOf(workspace: Workspace | undefined): string {
  return `${isStaffs(workspace) ? place.admin : place.agents}/v1/${namesOf(workspace)}`;
}

interface Bound {
  readonly workspace: Workspace | undefined;
  readonly client: Client;
}

const Context = createContext<Bound | undefined>(undefined);

/** How long a question is repeated before its page says what is wrong. */
const patience = 4_000;
/** A stream sends something every 15 seconds: two more without a word, and it is lost. */
const idle = 17_000;

/** clientOf is the one place where a client is made. Without a workspace it is that of the service as a whole. */
function clientOf(workspace: Workspace | undefined): Client {
  return createClient({ baseUrl: `${location.origin}/v1/${namesOf(workspace ?? staffs)}`, fetch: hearing, timing: { patience, idle } });
}

/** WorkspaceProvider gives the workspace and its client to all that is below, and to the hooks of @svc/react. */
export function WorkspaceProvider({ of: workspace, children }: { of?: Workspace; children: ReactNode }): ReactNode {
  const bound = useMemo<Bound>(() => ({ workspace, client: clientOf(workspace) }), [workspace]);
  return (
    <Context value={bound}>
      <SvcProvider client={bound.client}>{children}</SvcProvider>
    </Context>
  );
}

function useBound(): Bound {
  const bound = useContext(Context);
  if (!bound) throw new Error("There is no WorkspaceProvider around this component.");
  return bound;
}

/** useServer is the client of the workspace that is shown. */
export function useServer(): Client {
  return useBound().client;
}

/** useWorkspace is the workspace that is shown; undefined: the service as a whole, on Admin. */
export function useWorkspace(): Workspace | undefined {
  return useBound().workspace;
}
