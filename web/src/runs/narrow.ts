import { useSyncExternalStore } from "react";

const phone = "(max-width: 700px)";

/** useNarrow reports whether the page is as narrow as a phone. */
export function useNarrow(): boolean {
  return useSyncExternalStore(subscribe, () => matchMedia(phone).matches);
}

function subscribe(listener: () => void): () => void {
  const media = matchMedia(phone);
  media.addEventListener("change", listener);
  return () => media.removeEventListener("change", listener);
}
