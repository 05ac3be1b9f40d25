import { useEffect, type ReactNode } from "react";

/** ProvidersPage is the service's own: it goes to the provider and back, and works without scripts. Whoever comes here by the application is handed over. */
export function ProvidersPage(): ReactNode {
  useEffect(() => location.reload(), []);
  return <main aria-busy="true" />;
}
