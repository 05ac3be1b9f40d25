import { useEffect, type ReactNode } from "react";
import { useNavigate } from "@tanstack/react-router";
import { recall } from "../kit/kept";
import { Refusal } from "../kit/Refusal";
import { place } from "../server/place";
import { addressOf, signInAddress, useSession } from "../server/session";
import { WorkspaceProvider } from "../server/workspace";
import { baseOf } from "./where";

/** Start leads from the root of Agents to the workspace that was used last, else to one's own. */
export function Start(): ReactNode {
  return (
    <WorkspaceProvider>
      <Leading />
    </WorkspaceProvider>
  );
}

function Leading(): ReactNode {
  const { data, error, refetch } = useSession();
  const navigate = useNavigate();
  const scopes = data?.workspaces?.map((each) => each.scope);
  const to = scopes && firstOf(scopes, recall("workspace"), data?.account?.username);
  useEffect(() => {
    if (data && !data.authenticated) location.replace(signInAddress());
    else if (to) void navigate({ to, replace: true });
  }, [data, to, navigate]);
  if (error && !data) {
    return (
      <main>
        <Refusal error={error} onRetry={() => void refetch()} />
      </main>
    );
  }
  if (!data?.authenticated || to) return <main aria-busy="true" />;
  return (
    <main className="start" id="main">
      <h1>No workspace yet</h1>
      <p className="dim">Make one, or let somebody invite you to theirs.</p>
      <div>
        <a className="btn primary" href={`${place.platform}/workspaces/new`}>New workspace</a>
      </div>
    </main>
  );
}

/** firstOf is the address to begin at: the one used last, if it is still one's own, else that of one's own name. */
export function firstOf(scopes: readonly string[], last: string | undefined, username: string | undefined): string | undefined {
  const chosen = scopes.find((scope) => scope === `users/${last}`) ?? scopes.find((scope) => scope === `users/${username}/personal`) ?? scopes[0];
  const at = chosen === undefined ? undefined : addressOf(chosen);
  return at && baseOf(at);
}
