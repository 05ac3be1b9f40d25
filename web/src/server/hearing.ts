import { useSyncExternalStore } from "react";
import { heardDate } from "./clock";
import { place } from "./place";

/** Heard is what answers tell beside what was asked. */
export interface Heard {
  /** The id of the impersonation under which the service answers; undefined: none. */
  readonly impersonation: string | undefined;
  /** Whether the service is of another build than this page. */
  readonly newBuild: boolean;
}

let heard: Heard = { impersonation: undefined, newBuild: false };
const listeners = new Set<() => void>();

/** hearing is the fetch of every client: it looks at the heads of answers and changes nothing. */
export const hearing: typeof fetch = async (input, init) => {
  const response = await fetch(input, init);
  listen(response.headers);
  return response;
};

function listen(headers: Headers): void {
  heardDate(headers.get("date"));
  const build = headers.get("svc-build");
  const next: Heard = {
    impersonation: headers.get("svc-impersonation") ?? undefined,
    newBuild: heard.newBuild || (build !== null && place.build !== "" && build !== place.build),
  };
  if (next.impersonation === heard.impersonation && next.newBuild === heard.newBuild) return;
  heard = next;
  for (const tell of listeners) tell();
}

/** missBuild is told that a part of this page is gone: it was of a build that is no longer kept. */
export function missBuild(): void {
  if (heard.newBuild) return;
  heard = { ...heard, newBuild: true };
  for (const tell of listeners) tell();
}

export function useHeard(): Heard {
  return useSyncExternalStore(subscribe, () => heard);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
