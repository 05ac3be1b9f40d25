import { useCallback, useState } from "react";

/** Draft is what one has written and not sent. */
export interface Draft {
  readonly text: string;
  readonly set: (text: string) => void;
}

/** A draft is of one tab: two that write in the same conversation do not write over each other. It outlives a reload. */
export function useDraft(name: string): Draft {
  const key = `svc.draft.${name}`;
  const [draft, setDraft] = useState(() => ({ key, text: read(key) }));
  if (draft.key !== key) setDraft({ key, text: read(key) });
  const set = useCallback(
    (text: string) => {
      setDraft({ key, text });
      write(key, text);
    },
    [key],
  );
  return { text: draft.key === key ? draft.text : read(key), set };
}

function read(key: string): string {
  try {
    return sessionStorage.getItem(key) ?? "";
  } catch {
    return "";
  }
}

function write(key: string, text: string): void {
  try {
    if (text === "") sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, text);
  } catch {
    // It is only kept for a reload.
  }
}
