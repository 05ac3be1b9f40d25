import { memo, useEffect, useState, type ReactNode } from "react";

const units: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];
const words = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" });
const clocked = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3 });
const exactly = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "long" });

/** relative says how long ago a moment was, or how long until it comes. */
export function relative(at: Date, now: Date): string {
  const seconds = Math.round((at.getTime() - now.getTime()) / 1000);
  for (const [unit, length] of units) {
    if (Math.abs(seconds) >= length) return words.format(whole(seconds / length), unit).replace(/\.(?=\s|$)/g, "");
  }
  // Seconds that have passed would be wrong at the next look; those to come are waited for.
  return seconds < 10 ? "just now" : words.format(seconds, "second").replace(/\.(?=\s|$)/g, "");
}

/** whole counts what has passed in full, and what is to come by the nearest: what is given fourteen days does not begin with thirteen. */
function whole(amount: number): number {
  return amount < 0 ? Math.trunc(amount) : Math.round(amount);
}

/** exact is a moment with its zone. */
export function exact(at: Date): string {
  return exactly.format(at);
}

/** Clock is a moment among many of its day, to the millisecond; exact with its zone under the pointer. */
export const Clock = memo(function Clock({ at }: { at: string }): ReactNode {
  const moment = new Date(at);
  if (Number.isNaN(moment.getTime())) return null;
  return (
    <time dateTime={at} title={exact(moment)}>
      {clocked.format(moment)}
    </time>
  );
});

/** Time is a moment, relative and kept true; exact with its zone under the pointer and on focus. */
export function Time({ at, quiet = false }: { at: string; /** It takes no focus of its own: its row does. */ quiet?: boolean }): ReactNode {
  const looked = useNow();
  const moment = new Date(at);
  // What happened after the last look at the clock is not to come.
  const now = moment > looked ? new Date() : looked;
  if (Number.isNaN(moment.getTime())) return null;
  return (
    <time dateTime={at} title={exact(moment)} data-exact={quiet ? undefined : exact(moment)} tabIndex={quiet ? undefined : 0}>
      {relative(moment, now)}
    </time>
  );
}

/** useNow is the present, looked at every half minute. */
export function useNow(every = 30_000): Date {
  const [now, setNow] = useState(() => new Date());
  useEffect(() => {
    const timer = setInterval(() => setNow(new Date()), every);
    return () => clearInterval(timer);
  }, [every]);
  return now;
}
