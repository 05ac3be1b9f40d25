/** Piece is a run of lines that differs: lines [from, to) of the old text, and what stands there now. */
interface Piece {
  readonly from: number;
  readonly to: number;
  readonly lines: readonly string[];
}

/** Beyond so many comparisons two texts are taken for wholly different in the middle: a merge must not stop the page. */
const mostSteps = 4_000_000;

/** piecesOf are what changed from one text to another, line by line, found by the longest common subsequence. */
export function piecesOf(before: readonly string[], after: readonly string[]): Piece[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start++;
  let end = 0;
  while (end < before.length - start && end < after.length - start && before[before.length - 1 - end] === after[after.length - 1 - end]) end++;
  const a = before.slice(start, before.length - end);
  const b = after.slice(start, after.length - end);
  if (a.length === 0 && b.length === 0) return [];
  if (a.length * b.length > mostSteps) return [{ from: start, to: start + a.length, lines: b }];
  return between(a, b).map((piece) => ({ ...piece, from: piece.from + start, to: piece.to + start }));
}

function between(a: readonly string[], b: readonly string[]): Piece[] {
  const width = b.length + 1;
  const common = new Uint32Array((a.length + 1) * width);
  const at = (i: number, j: number): number => common[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) common[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  }
  const pieces: Piece[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      i++;
      j++;
      continue;
    }
    const [from, first] = [i, j];
    while (i < a.length || j < b.length) {
      if (i < a.length && j < b.length && a[i] === b[j]) break;
      if (j >= b.length || (i < a.length && at(i + 1, j) >= at(i, j + 1))) i++;
      else j++;
    }
    pieces.push({ from, to: i, lines: b.slice(first, j) });
  }
  return pieces;
}

/** Merged is a text that has both changes, and how many places both had changed: there it has one's own. */
export interface Merged {
  readonly text: string;
  readonly clashes: number;
}

/** merge joins what two people made of one text. Where only one of them changed something, that stands. */
export function merge(base: string, theirs: string, mine: string): Merged {
  const lines = base.split("\n");
  const both = [
    ...piecesOf(lines, theirs.split("\n")).map((piece) => ({ ...piece, own: false })),
    ...piecesOf(lines, mine.split("\n")).map((piece) => ({ ...piece, own: true })),
  ].sort((a, b) => a.from - b.from || a.to - b.to);
  const merged: string[] = [];
  let clashes = 0;
  let at = 0;
  for (let i = 0; i < both.length; ) {
    const group = together(both, i);
    const to = Math.max(...group.map((piece) => piece.to));
    const from = both[i]?.from ?? at;
    merged.push(...lines.slice(at, from));
    const mixed = new Set(group.map((piece) => piece.own)).size > 1;
    const [ours, others] = [applied(lines, from, to, group.filter((piece) => piece.own)), applied(lines, from, to, group.filter((piece) => !piece.own))];
    const same = ours.join("\n") === others.join("\n");
    if (mixed && !same) clashes++;
    merged.push(...(mixed ? ours : group[0]?.own ? ours : others));
    at = to;
    i += group.length;
  }
  merged.push(...lines.slice(at));
  return { text: merged.join("\n"), clashes };
}

/** together are the pieces from one on that touch each other. */
function together<P extends Piece>(pieces: readonly P[], first: number): P[] {
  const group: P[] = [];
  let to = -1;
  for (const piece of pieces.slice(first)) {
    if (group.length > 0 && piece.from > to) break;
    if (group.length > 0 && piece.from === to && !touches(group, piece)) break;
    group.push(piece);
    to = Math.max(to, piece.to);
  }
  return group;
}

/** touches: what begins where another ends is beside it, unless one of them only adds lines there. */
function touches(group: readonly Piece[], piece: Piece): boolean {
  return piece.from === piece.to || group.some((other) => other.from === other.to);
}

function applied(lines: readonly string[], from: number, to: number, pieces: readonly Piece[]): string[] {
  const text: string[] = [];
  let at = from;
  for (const piece of pieces) {
    text.push(...lines.slice(at, piece.from), ...piece.lines);
    at = piece.to;
  }
  return [...text, ...lines.slice(at, to)];
}
