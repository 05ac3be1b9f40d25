-- +goose Up

-- One row per kid that ever was in a ring here: its canary says which key the kid stands for. Rows stay after their key was
-- removed, so that a kid is never given to another key.
CREATE TABLE secret_keys (
  kid        TEXT    NOT NULL PRIMARY KEY,
  canary     BLOB    NOT NULL,
  wraps      INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL
);

-- One row per secret, without its value. tag binds all of it but last_used_at to the row of secret_values.
CREATE TABLE secrets (
  id           TEXT    NOT NULL PRIMARY KEY,
  owner_kind   TEXT    NOT NULL,
  scope        TEXT    NOT NULL,
  name         TEXT    NOT NULL,
  version      INTEGER NOT NULL,
  bytes        INTEGER NOT NULL,
  created_at   INTEGER NOT NULL,
  updated_at   INTEGER NOT NULL,
  updated_by   TEXT    NOT NULL,
  last_used_at INTEGER,
  tag          BLOB    NOT NULL,
  UNIQUE (owner_kind, scope, name)
);

-- The current version of each secret and no other.
CREATE TABLE secret_values (
  secret  TEXT    NOT NULL PRIMARY KEY,
  version INTEGER NOT NULL,
  kid     TEXT    NOT NULL,
  wrapped BLOB    NOT NULL,
  nonce   BLOB    NOT NULL,
  sealed  BLOB    NOT NULL
);
CREATE INDEX secret_values_kid ON secret_values (kid, secret);
