/** What this page has seen pass, in milliseconds: the conversation does not say how long things took. Forgotten with the page. */
const took = new Map<string, number>();
const begun = new Map<string, number>();

/** sawBegin notes that something goes on, at the time at which the service says it began. */
export function sawBegin(id: string, at: string | undefined): void {
  if (begun.has(id)) return;
  const told = Date.parse(at ?? "");
  begun.set(id, Number.isNaN(told) ? Date.now() : Math.min(told, Date.now()));
}

/** sawEnd notes that something is over which was seen to go on. */
export function sawEnd(id: string): void {
  const at = begun.get(id);
  if (at !== undefined && !took.has(id)) took.set(id, Date.now() - at);
}

/** seenFor is how long something was seen to take; undefined: nobody here has seen it. */
export function seenFor(id: string): number | undefined {
  return took.get(id);
}

export function begunAt(id: string): number | undefined {
  return begun.get(id);
}
