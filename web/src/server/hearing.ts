import { useSyncExternalStore } from "react";
import { heardDate } from "./clock";
import { place } from "./place";
import { isAttended } from "./presence";

/** Heard is what answers tell beside what was asked. */
export interface Heard {
  /** The id of the impersonation under which the service answers; undefined: none. */
  readonly impersonation: string | undefined;
  /** Whether there was one, and the service answers as to who is really here again. */
  readonly lookedEnough: boolean;
  /** Whether the service is of another build than this page. */
  readonly newBuild: boolean;
}

let heard: Heard = { impersonation: undefined, lookedEnough: false, newBuild: false };
const listeners = new Set<() => void>();

/** hearing is the fetch of every client: it looks at the heads of answers, and says when nobody is there who asks. */
export const hearing: typeof fetch = async (input, init) => {
  const response = await fetch(input, unattended(init));
  listen(response);
  return response;
};

/** unattended marks what a page reads by itself, so that it keeps no authority alive that somebody has left behind. */
function unattended(init: RequestInit | undefined): RequestInit | undefined {
  if (isAttended() || (init?.method ?? "GET") !== "GET") return init;
  const headers = new Headers(init?.headers);
  headers.set("svc-unattended", "1");
  return { ...init, headers };
}

function listen({ headers, status }: Response): void {
  heardDate(headers.get("date"));
  const build = headers.get("svc-build");
  const said = headers.get("svc-impersonation") ?? undefined;
  // What is refused for the load of the service is refused before anybody looks who asks.
  const known = said !== undefined || (status < 500 && status !== 429);
  const next: Heard = {
    impersonation: known ? said : heard.impersonation,
    lookedEnough: said === undefined && known ? heard.lookedEnough || heard.impersonation !== undefined : false,
    newBuild: heard.newBuild || (build !== null && place.build !== "" && build !== place.build),
  };
  if (next.impersonation === heard.impersonation && next.lookedEnough === heard.lookedEnough && next.newBuild === heard.newBuild) return;
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
  return useSyncExternalStore(subscribe, heardNow);
}

export function heardNow(): Heard {
  return heard;
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
