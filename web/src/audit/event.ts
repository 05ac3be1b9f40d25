import type { Tone } from "../kit/StatusTag";
import type { ItemOf } from "../server/path";

/** AuditEvent is something that was done or refused. */
export type AuditEvent = ItemOf<"/api/workspaces/{username}/{business}/audit">;

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
  const name = (of: { kind?: string; username?: string; id?: string }): string => of.username || (of.kind && of.kind !== "account" ? of.kind : of.id) || "somebody";
  if (event.impersonator) return `${name(event.impersonator)} (staff, as ${name(event.actor)})`;
  return event.authority === "admin" ? `${name(event.actor)} (staff)` : name(event.actor);
}

/** targetName is what it was done to. */
export function targetName(event: Pick<AuditEvent, "target" | "subject">): string {
  return [event.target?.kind, event.subject?.username || event.target?.id].filter(Boolean).join(" ");
}
