import { useCallback, useEffect, useState } from "react";

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

/** Whoever shows the same choice hears of it: a menu and the palette both set the scheme. */
const choices = new EventTarget();

/** useKept is a state that outlives a reload: a choice of how things look. Never what the server knows. */
export function useKept(name: string, otherwise: string): [value: string, set: (value: string) => void] {
  const [value, setValue] = useState(() => recall(name) ?? otherwise);
  useEffect(() => {
    const hear = (event: Event): void => setValue((event as CustomEvent<string>).detail);
    choices.addEventListener(name, hear);
    return () => choices.removeEventListener(name, hear);
  }, [name]);
  const set = useCallback(
    (next: string) => {
      keep(name, next === otherwise ? undefined : next);
      choices.dispatchEvent(new CustomEvent(name, { detail: next }));
    },
    [name, otherwise],
  );
  return [value, set];
}
