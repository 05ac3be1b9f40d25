import { useSyncExternalStore, type ReactNode } from "react";

let said = "";
let spokenAt = 0;
let waiting: ReturnType<typeof setTimeout> | undefined;
const listeners = new Set<() => void>();

/** At most one fact is spoken in so many milliseconds; of those that come meanwhile the last. */
const pause = 3_000;

/** say speaks a fact to those who do not see the page: "Reply complete". It interrupts nobody. */
export function say(fact: string): void {
  clearTimeout(waiting);
  const speak = (): void => {
    said = fact;
    spokenAt = Date.now();
    for (const tell of listeners) tell();
  };
  const left = spokenAt + pause - Date.now();
  if (left <= 0) speak();
  else waiting = setTimeout(speak, left);
}

/** Spoken is the one hidden region in which facts are said. */
export function Spoken(): ReactNode {
  const fact = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => said,
  );
  return (
    <div className="sr" aria-live="polite">
      {fact}
    </div>
  );
}
