import type { Tone } from "../kit/StatusTag";

/** Actor is one who acted or was acted upon. */
export interface Actor {
  readonly kind: string;
  readonly id?: string;
  readonly username?: string;
}

/** AuditEvent is something that was done or refused. The description of the API leaves its events open, since every byte of one is hashed. */
export interface AuditEvent {
  readonly action: string;
  readonly actor: Actor;
  readonly subject?: Actor;
  readonly impersonator?: Actor;
  readonly authority: string;
  readonly surface: string;
  readonly target: { readonly kind?: string; readonly id?: string };
  readonly outcome: string;
  readonly changes?: readonly string[];
  /** How many refusals it stands for; absent: it is one act. */
  readonly count?: number;
  readonly chain: string;
  readonly seq: number;
  readonly hash: string;
  readonly ts: string;
  readonly ip: string;
  readonly userAgent: string;
  readonly requestId: string;
  readonly scope: string;
}

/** outcomeOf is what came of it. */
export function outcomeOf(event: Pick<AuditEvent, "outcome">): { tone: Tone; word: string } {
  switch (event.outcome) {
    case "allow": return { tone: "ok", word: "Done" };
    case "deny": return { tone: "bad", word: "Refused" };
  }
  return { tone: "warn", word: "Failed" };
}

/** actorName is who did it, and by whose authority: "sam (staff, as ada)". */
export function actorName(event: Pick<AuditEvent, "actor" | "impersonator" | "authority">): string {
  const name = (of: Actor): string => of.username || (of.kind !== "account" ? of.kind : of.id) || "somebody";
  if (event.impersonator) return `${name(event.impersonator)} (staff, as ${name(event.actor)})`;
  return event.authority === "admin" ? `${name(event.actor)} (staff)` : name(event.actor);
}

/** targetName is what it was done to. */
export function targetName(event: Pick<AuditEvent, "target" | "subject">): string {
  return [event.target.kind, event.subject?.username || event.target.id].filter(Boolean).join(" ");
}
