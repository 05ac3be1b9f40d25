import type { ItemOf } from "../server/path";
import type { Tone } from "../kit/StatusTag";

export type KeyItem = ItemOf<"/api/workspaces/{username}/{business}/keys">;

/** Scope is something that a key may do. */
export type Scope = "agents:read" | "agents:write" | "workflows:run" | "runs:read" | "connectors:read" | "projects:read" | "projects:write" | "usage:read";

/** scopes are all that a key can be given, with what it then may do. */
export const scopes: readonly { scope: Scope; note: string }[] = [
  { scope: "agents:write", note: "send, stop" },
  { scope: "agents:read", note: "history, live text" },
  { scope: "workflows:run", note: "start, cancel" },
  { scope: "runs:read", note: "records, events" },
  { scope: "projects:read", note: "files" },
  { scope: "projects:write", note: "change files" },
  { scope: "connectors:read", note: "state, health" },
  { scope: "usage:read", note: "tokens, cost" },
];

/** shortOf is a key as it is recognised without being told: its beginning and its end. */
export function shortOf(of: Pick<KeyItem, "prefix" | "last4">): string {
  const prefix = of.prefix.startsWith("svck_") ? of.prefix : `svck_${of.prefix}`;
  return `${prefix.slice(0, 9)}…${of.last4}`;
}

const day = 86_400_000;

/** Expiry is how long a key lives on, as a row says it. */
export interface Expiry {
  /** The day, or that there is none. */
  on: string;
  /** How long that is from now. */
  left: string;
  tone: "" | "warn" | "bad";
}

const days = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const daysOfYears = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });

/** expiryOf warns in the last two weeks of a key. One that was rotated ends when its grace does. */
export function expiryOf(of: Pick<KeyItem, "expiresAt" | "revokedAt">, now: Date): Expiry {
  const end = of.revokedAt ?? of.expiresAt;
  if (end === null) return { on: "Never", left: "until it is revoked", tone: "" };
  const at = new Date(end);
  const left = at.getTime() - now.getTime();
  const on = (at.getFullYear() === now.getFullYear() ? days : daysOfYears).format(at);
  if (left <= 0) return { on, left: "over", tone: "bad" };
  const told = left < day ? `${Math.ceil(left / 3_600_000)} h left` : `${Math.round(left / day)} d left`;
  return { on, left: of.revokedAt ? `rotated, ${told}` : told, tone: left < 14.5 * day ? "warn" : "" };
}

/** stateOf is why a key does not work; undefined: it does. */
export function stateOf(of: Pick<KeyItem, "state">): { tone: Tone; word: string; why: string } | undefined {
  switch (of.state) {
    case "expired": return { tone: "warn", word: "Expired", why: "Its time is over. Make another." };
    case "suspended": return { tone: "bad", word: "Suspended", why: "Whoever made it is suspended." };
    case "orphaned": return { tone: "bad", word: "Dead", why: "Whoever made it is no longer here, or may no longer make keys." };
  }
  return undefined;
}

/** Life is how long a new key is to live. */
export type Life = "30" | "90" | "365" | "date" | "never";

/** dayOf is the day of a moment where the reader is, as a field of a form has it. */
export function dayOf(at: Date): string {
  return [at.getFullYear(), at.getMonth() + 1, at.getDate()].map((part) => String(part).padStart(2, "0")).join("-");
}

/** endOf is when a new key ends; null: never; undefined: the date is none that can be chosen. */
export function endOf(life: Life, date: string, now: Date): Date | null | undefined {
  if (life === "never") return null;
  if (life !== "date") return new Date(now.getTime() + Number(life) * day);
  const at = new Date(`${date}T23:59:59`);
  const left = at.getTime() - now.getTime();
  return Number.isNaN(left) || left <= 0 || left > 366 * day ? undefined : at;
}
