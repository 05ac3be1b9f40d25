import { useCallback, useState } from "react";

/** recall reads what this browser keeps under a name. A browser that keeps nothing is no reason to fail. */
export function recall(name: string): string | undefined {
  try {
    return localStorage.getItem(`svc.${name}`) ?? undefined;
  } catch {
    return undefined;
  }
}

/** keep stores a text under a name; undefined forgets it. */
export function keep(name: string, text: string | undefined): void {
  try {
    if (text === undefined) localStorage.removeItem(`svc.${name}`);
    else localStorage.setItem(`svc.${name}`, text);
  } catch {
    // It is only kept for the next time.
  }
}

/** useKept is a state that outlives a reload: a draft, a choice of how things look. Never what the server knows. */
export function useKept(name: string, otherwise: string): [value: string, set: (value: string) => void] {
  const [value, setValue] = useState(() => recall(name) ?? otherwise);
  const set = useCallback(
    (next: string) => {
      setValue(next);
      keep(name, next === otherwise ? undefined : next);
    },
    [name, otherwise],
  );
  return [value, set];
}
