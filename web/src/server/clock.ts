/** How far the server's clock is ahead of this one, in milliseconds. A few hundred are the way between them, and count as none. */
let ahead = 0;

/** Stamps of answers are whole seconds. */
const coarse = 1_000;

/** heardDate learns from the Date of an answer. */
export function heardDate(header: string | null, now = Date.now()): void {
  if (!header) return;
  const difference = Date.parse(header) + coarse / 2 - now;
  if (Number.isFinite(difference)) ahead = Math.abs(difference) < 1.5 * coarse ? 0 : difference;
}

/** serverNow is what the server's clock shows. */
export function serverNow(): number {
  return Date.now() + ahead;
}
