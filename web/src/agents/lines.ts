/** Line is a line of two texts: in both, only in the one before, or only in the one after. */
export interface Line {
  readonly kind: "same" | "gone" | "new";
  readonly text: string;
}

/** Beyond so many pairs of lines the middle is told as gone and new: nobody waits for a table of a gigabyte. */
const mostPairs = 4_000_000;

/** matches pairs the lines that two texts have in common, as many as there can be, in order. */
function matches(before: readonly string[], after: readonly string[]): [number, number][] {
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head++;
  let tail = 0;
  while (tail < before.length - head && tail < after.length - head && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail++;
  const pairs: [number, number][] = Array.from({ length: head }, (_, i) => [i, i]);
  for (const [i, j] of longest(before.slice(head, before.length - tail), after.slice(head, after.length - tail))) pairs.push([i + head, j + head]);
  for (let i = tail; i > 0; i--) pairs.push([before.length - i, after.length - i]);
  return pairs;
}

/** longest is the longest common subsequence, by the table of what is left. */
function longest(before: readonly string[], after: readonly string[]): [number, number][] {
  const [rows, columns] = [before.length, after.length];
  if (rows * columns === 0 || rows * columns > mostPairs) return [];
  const width = columns + 1;
  const left = new Uint32Array((rows + 1) * width);
  const at = (i: number, j: number): number => left[i * width + j] ?? 0;
  for (let i = rows - 1; i >= 0; i--) {
    for (let j = columns - 1; j >= 0; j--) left[i * width + j] = before[i] === after[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  }
  const pairs: [number, number][] = [];
  for (let i = 0, j = 0; i < rows && j < columns; ) {
    if (before[i] === after[j]) pairs.push([i++, j++]);
    else if (at(i + 1, j) >= at(i, j + 1)) i++;
    else j++;
  }
  return pairs;
}

/** compare is how one text became another, line by line. */
export function compare(before: string, after: string): Line[] {
  const [old, now] = [linesOf(before), linesOf(after)];
  const told: Line[] = [];
  let [i, j] = [0, 0];
  for (const [a, b] of [...matches(old, now), [old.length, now.length] as const]) {
    for (; i < a; i++) told.push({ kind: "gone", text: old[i] ?? "" });
    for (; j < b; j++) told.push({ kind: "new", text: now[j] ?? "" });
    if (i < old.length && j < now.length) told.push({ kind: "same", text: old[i] ?? "" });
    i++;
    j++;
  }
  return told;
}

/** changedLines are the numbers of the lines, from 0, that a text does not share with the one before it. */
export function changedLines(before: string, after: string): Set<number> {
  const now = linesOf(after);
  const kept = new Set(matches(linesOf(before), now).map(([, j]) => j));
  return new Set(now.flatMap((_, j) => (kept.has(j) ? [] : [j])));
}

/** mergeLines makes one text of two that came of the same one; undefined: both changed the same place, each in its way. */
export function mergeLines(base: string, mine: string, theirs: string): string | undefined {
  const [root, own, other] = [linesOf(base), linesOf(mine), linesOf(theirs)];
  const [toOwn, toOther] = [new Map(matches(root, own)), new Map(matches(root, other))];
  const merged: string[] = [];
  let [i, j, k] = [0, 0, 0];
  for (;;) {
    // The next line that all three share: what stands before it was changed by one of them, or by both.
    let anchor = i;
    while (anchor < root.length && !(toOwn.has(anchor) && toOther.has(anchor))) anchor++;
    const [ownEnd, otherEnd] = [toOwn.get(anchor) ?? own.length, toOther.get(anchor) ?? other.length];
    const chunk = chosen(root.slice(i, anchor), own.slice(j, ownEnd), other.slice(k, otherEnd));
    if (!chunk) return undefined;
    merged.push(...chunk);
    if (anchor === root.length) return merged.join("\n");
    merged.push(root[anchor] ?? "");
    [i, j, k] = [anchor + 1, ownEnd + 1, otherEnd + 1];
  }
}

/** chosen is what became of a stretch that one of two changed, or both alike. */
function chosen(base: readonly string[], mine: readonly string[], theirs: readonly string[]): readonly string[] | undefined {
  const same = (a: readonly string[], b: readonly string[]): boolean => a.length === b.length && a.every((line, i) => line === b[i]);
  if (same(mine, theirs) || same(base, theirs)) return mine;
  if (same(base, mine)) return theirs;
  return undefined;
}

function linesOf(text: string): string[] {
  return text.replace(/\r\n?/g, "\n").split("\n");
}
