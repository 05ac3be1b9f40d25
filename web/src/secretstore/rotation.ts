import type { AnswerOf } from "@svc/sdk";

export type SecretStore = AnswerOf<"/api/admin/secret-store", "get">;

/** Key is one of the keys, and how many values it seals. */
export interface Key {
  readonly kid: string;
  readonly rows: number;
  readonly active: boolean;
}

/** Rotation is how far the secrets have come on their way to the active key. */
export interface Rotation {
  readonly all: number;
  readonly moved: number;
  readonly left: number;
  /** The active one first, then those that seal most. */
  readonly keys: readonly Key[];
}

export function rotationOf(store: SecretStore): Rotation {
  const rows = { [store.activeKid]: 0, ...store.rowsByKid };
  const keys = Object.entries(rows).map(([kid, n]): Key => ({ kid, rows: n, active: kid === store.activeKid }));
  keys.sort((a, b) => Number(b.active) - Number(a.active) || b.rows - a.rows || a.kid.localeCompare(b.kid));
  const all = keys.reduce((sum, key) => sum + key.rows, 0);
  const moved = rows[store.activeKid] ?? 0;
  return { all, moved, left: all - moved, keys };
}
