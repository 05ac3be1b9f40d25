import type { ReactNode } from "react";

/** Meter is how full something is. */
export function Meter({ label, value, most, tone = "" }: { label: string; value: number; most: number; tone?: "" | "live" | "warn" | "bad" }): ReactNode {
  const percent = most > 0 ? Math.min(100, (value / most) * 100) : 0;
  const colour = tone === "warn" ? "var(--warn)" : tone === "bad" ? "var(--bad)" : undefined;
  return (
    <span className="meterline" role="meter" aria-label={label} aria-valuenow={Math.round(percent)} aria-valuemin={0} aria-valuemax={100}>
      <i className={tone} style={{ width: `${percent}%`, background: colour }} />
    </span>
  );
}
