import { createContext, useContext, useMemo, type ReactNode } from "react";
import { SvcProvider } from "@svc/react";
import { createClient, type Client } from "@svc/sdk";
import { hearing } from "./hearing";

/** Workspace is whose things a page shows. */
export interface Workspace {
  readonly username: string;
  readonly business: string;
}

interface Bound {
  readonly workspace: Workspace | undefined;
  readonly client: Client;
}

const Context = createContext<Bound | undefined>(undefined);

/** How long a question is repeated before its page says what is wrong. */
const patience = 4_000;

/** clientOf is the one place where a client is made. Without a workspace it is that of the service as a whole. */
function clientOf(workspace: Workspace | undefined): Client {
  const mount = workspace ? `/v1/${workspace.username}/${workspace.business}` : "/v1/admin";
  return createClient({ baseUrl: location.origin + mount, fetch: hearing, timing: { patience } });
}

/** WorkspaceProvider gives the workspace and its client to all that is below, and to the hooks of @svc/react. */
export function WorkspaceProvider({ username, business, children }: Partial<Workspace> & { children: ReactNode }): ReactNode {
  const bound = useMemo<Bound>(() => {
    const workspace = username && business ? { username, business } : undefined;
    return { workspace, client: clientOf(workspace) };
  }, [username, business]);
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
