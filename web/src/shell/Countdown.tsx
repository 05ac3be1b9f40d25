import type { ReactNode } from "react";
import { useNow } from "../kit/Time";

/** Countdown is how long the authority of the staff lasts unless it is used. The service asks for the password after that. */
export function Countdown({ until }: { until: string | undefined }): ReactNode {
  const now = useNow(15_000);
  if (!until) return null;
  const left = minutesLeft(until, now);
  return (
    <span className={left > 2 ? "tag line" : "tag warn"} title="Unused, your authority ends then">
      {left > 0 ? `${left} min` : "ended"}
    </span>
  );
}

export function minutesLeft(until: string, now: Date): number {
  return Math.max(0, Math.ceil((Date.parse(until) - now.getTime()) / 60_000));
}
