import { useEffect, type ReactNode } from "react";
import { useQuery } from "@tanstack/react-query";
import type { SvcError } from "@svc/sdk";
import { Refusal } from "../kit/Refusal";
import { readSession, type Session } from "../server/session";
import { useServer } from "../server/workspace";
import { Page } from "../shell/Page";

/** ProvidersPage is the service's own: it goes to the provider and back, and works without scripts. Whoever comes here by the application is handed over, once the service answers: a browser that finds nobody shows a page of its own. */
export function ProvidersPage(): ReactNode {
  const client = useServer();
  const { data, error, refetch } = useQuery<Session, SvcError>({ queryKey: ["handed over"], queryFn: ({ signal }) => readSession(client, signal), gcTime: 0 });
  useEffect(() => {
    if (data) location.reload();
  }, [data]);
  if (!error) return <main id="main" aria-busy="true" />;
  return (
    <Page title="Provider set-up">
      <Refusal error={error} onRetry={() => void refetch()} />
    </Page>
  );
}
