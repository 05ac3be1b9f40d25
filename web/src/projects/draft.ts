import { keep, recall } from "../kit/kept";

/** Draft is a text that is not saved yet, and which content it was made of. */
export interface Draft {
  readonly etag: string;
  readonly base: string;
  readonly text: string;
}

/** A browser keeps about five megabytes for all pages: a draft beyond this lives as long as its page. */
const largest = 400_000;

function nameOf(address: string): string {
  return `draft.${address}`;
}

export function recallDraft(address: string): Draft | undefined {
  const kept = recall(nameOf(address));
  if (kept === undefined) return undefined;
  try {
    const draft = JSON.parse(kept) as Partial<Draft>;
    return typeof draft.etag === "string" && typeof draft.base === "string" && typeof draft.text === "string" ? (draft as Draft) : undefined;
  } catch {
    return undefined;
  }
}

/** moveDraft takes a draft along with its file: what it was made of is the same content elsewhere. */
export function moveDraft(from: string, to: string): void {
  const draft = recallDraft(from);
  if (!draft) return;
  keepDraft(to, draft);
  keepDraft(from, undefined);
}

/** keepDraft reports whether the browser keeps it. */
export function keepDraft(address: string, draft: Draft | undefined): boolean {
  if (draft && draft.base.length + draft.text.length > largest) {
    keep(nameOf(address), undefined);
    return false;
  }
  keep(nameOf(address), draft && JSON.stringify(draft));
  return draft !== undefined;
}
