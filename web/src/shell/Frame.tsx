import { Suspense, useEffect, useMemo, type ReactNode } from "react";
import { Outlet, useParams } from "@tanstack/react-router";
import { keep } from "../kit/kept";
import { Page } from "./Page";
import { Refusal } from "../kit/Refusal";
import { Spoken } from "../kit/say";
import { useHeard } from "../server/hearing";
import { ReauthProvider } from "../server/reauth";
import { useHere } from "../server/role";
import { useSession } from "../server/session";
import { SessionWatch } from "../server/SessionWatch";
import { namesOf, staffs, WorkspaceProvider, type Workspace } from "../server/workspace";
import { Bars } from "./Bars";
import { DrawerProvider } from "./drawer";
import { KeyMap } from "./KeyMap";
import { LookedEnough } from "./LookedEnough";
import { Sidebar } from "./Sidebar";

/** WorkspaceFrame is around every page of a workspace. */
export function WorkspaceFrame(): ReactNode {
  const { username, business } = useParams({ strict: false }) as { username: string; business: string };
  const workspace = useMemo(() => ({ username, business }), [username, business]);
  // Whoever comes back begins where they were.
  useEffect(() => keep("workspace", namesOf(workspace)), [workspace]);
  return <Framed of={workspace} />;
}

/** StaffFrame is around every page of the staff's own workspace. */
export function StaffFrame(): ReactNode {
  return <Framed of={staffs} />;
}

function Framed({ of }: { of: Workspace }): ReactNode {
  return (
    <WorkspaceProvider of={of}>
      <Shell>
        {/* What was typed, opened and shown belongs to one workspace. */}
        <Inside key={namesOf(of)} />
      </Shell>
    </WorkspaceProvider>
  );
}

/** ServiceFrame is around the pages of the service as a whole. */
export function ServiceFrame(): ReactNode {
  return (
    <WorkspaceProvider>
      <Shell>
        <Shown />
      </Shell>
    </WorkspaceProvider>
  );
}

/** Inside shows the page, unless the workspace is not there for whoever asks. */
function Inside(): ReactNode {
  const { facts, error, retry } = useHere();
  if (error && !facts) {
    return (
      <Page title="Workspace">
        <Refusal error={error} onRetry={retry} />
      </Page>
    );
  }
  return <Shown />;
}

function Shown(): ReactNode {
  return (
    <Suspense fallback={<main className="wait" aria-busy="true" />}>
      <Outlet />
    </Suspense>
  );
}

/** Shell is what stays while pages change: bars, navigation, keys, and what is spoken. */
export function Shell({ children }: { children: ReactNode }): ReactNode {
  // What stands above the page is known with the session: until then, and for a second at most, nothing is seen that it would move.
  const { isPending } = useSession();
  if (useHeard().lookedEnough) return <LookedEnough />;
  return (
    <ReauthProvider>
      <DrawerProvider>
        <a className="sr" href="#main">
          Skip to content
        </a>
        <div className={isPending ? "frame unknown" : "frame"}>
          <Bars />
          <div className="app">
            <Sidebar />
            {children}
          </div>
        </div>
        <KeyMap />
        <SessionWatch />
        <Spoken />
      </DrawerProvider>
    </ReauthProvider>
  );
}
