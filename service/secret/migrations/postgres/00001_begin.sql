-- +goose Up

-- One row per kid that ever was in a ring here: its canary says which key the kid stands for. Rows stay after their key was
-- removed, so that a kid is never given to another key.
CREATE TABLE secret_keys (
  kid        TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  canary     BYTEA            NOT NULL,
  wraps      BIGINT           NOT NULL DEFAULT 0,
  created_at BIGINT           NOT NULL
);

-- One row per secret, without its value. tag binds all of it but last_used_at to the row of secret_values.
CREATE TABLE secrets (
  id           TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  owner_kind   TEXT COLLATE "C" NOT NULL,
  scope        TEXT COLLATE "C" NOT NULL,
  name         TEXT COLLATE "C" NOT NULL,
  version      BIGINT           NOT NULL,
  bytes        BIGINT           NOT NULL,
  created_at   BIGINT           NOT NULL,
  updated_at   BIGINT           NOT NULL,
  updated_by   TEXT COLLATE "C" NOT NULL,
  last_used_at BIGINT,
  tag          BYTEA            NOT NULL,
  UNIQUE (owner_kind, scope, name)
);

-- The current version of each secret and no other.
CREATE TABLE secret_values (
  secret  TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  version BIGINT           NOT NULL,
  kid     TEXT COLLATE "C" NOT NULL,
  wrapped BYTEA            NOT NULL,
  nonce   BYTEA            NOT NULL,
  sealed  BYTEA            NOT NULL
);
ALTER TABLE secret_values ALTER COLUMN sealed SET STORAGE EXTERNAL;
CREATE INDEX secret_values_kid ON secret_values (kid, secret);
