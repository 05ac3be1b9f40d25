import type { AnswerOf } from "@svc/sdk";
import { lasting } from "../kit/amount";
import type { Tone } from "../kit/StatusTag";

/** Health is how the service does, as the node that answers knows it. */
export type Health = AnswerOf<"/api/admin/health", "get">;

/** stateOf is how the node that answers stands. */
export function stateOf(health: Pick<Health, "ready" | "state">): { tone: Tone; word: string } {
  if (health.state === "draining") return { tone: "warn", word: "Draining" };
  if (health.ready) return { tone: "ok", word: "Serving" };
  return health.state === "loading" ? { tone: "warn", word: "Loading" } : { tone: "bad", word: "Not ready" };
}

/** versionOf names a build; one that was made by hand has no number. */
export function versionOf(version: string): string {
  return version === "" || version === "(devel)" ? "Development" : version;
}

const checks: Record<string, string> = {
  database: "Database reachable",
  migrations: "Migrations applied",
  clock: "Clock agrees with the database",
  keys: "Keys open",
  workers: "Workers running",
  runtime: "Runtime reachable",
  gateway: "Gateway serving",
  project: "Project running",
  bundles: "One project on every node",
};

/** checkName is what a check says; of one that is not known here its own name. */
export function checkName(name: string): string {
  return checks[name] ?? name;
}

/** skewOf is how far the clock of this node is from the database's. */
export function skewOf(aheadMs: number): string {
  if (aheadMs === 0) return "As the database's";
  return `${lasting(Math.abs(aheadMs))} ${aheadMs > 0 ? "behind" : "ahead of"} the database`;
}

/** migrationsOf is how many rooms of the database are as this binary knows them. */
export function migrationsOf(tables: Health["database"]["tables"]): { done: number; all: number; behind: readonly string[] } {
  const behind = tables.filter((room) => room.database < room.binary);
  return { done: tables.length - behind.length, all: tables.length, behind: behind.map((room) => room.room) };
}
