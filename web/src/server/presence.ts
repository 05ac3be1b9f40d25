/** How long after somebody did something a page still asks for them, in milliseconds. */
export const presence = 60_000;

/** What somebody does who is there. A page that scrolls or changes by itself does none of it. */
const signs = ["pointerdown", "pointermove", "keydown", "wheel", "touchstart"];

let seen = Date.now();

for (const sign of signs) globalThis.addEventListener?.(sign, noteSomebody, { capture: true, passive: true });

export function noteSomebody(): void {
  seen = Date.now();
}

/** isAttended reports whether somebody is at this page: they opened or touched it a short while ago. */
export function isAttended(now = Date.now()): boolean {
  return now - seen < presence;
}
