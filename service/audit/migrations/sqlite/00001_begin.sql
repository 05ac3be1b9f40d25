-- +goose Up

-- One row per event and chain. Every column is covered by hash; no row is ever changed, and only whole prefixes of a chain
-- are deleted. The chain is the scope, and '' is that of the service.
CREATE TABLE audit_events (
  chain             TEXT    NOT NULL,
  seq               INTEGER NOT NULL,
  at                INTEGER NOT NULL,
  actor_kind        TEXT    NOT NULL,
  actor_id          TEXT    NOT NULL,
  actor_name        TEXT    NOT NULL,
  subject_kind      TEXT    NOT NULL,
  subject_id        TEXT    NOT NULL,
  subject_name      TEXT    NOT NULL,
  impersonator_kind TEXT    NOT NULL,
  impersonator_id   TEXT    NOT NULL,
  impersonator_name TEXT    NOT NULL,
  authority         TEXT    NOT NULL,
  surface           TEXT    NOT NULL,
  action            TEXT    NOT NULL,
  target_kind       TEXT    NOT NULL,
  target_id         TEXT    NOT NULL,
  scope             TEXT    NOT NULL,
  outcome           TEXT    NOT NULL,
  request_id        TEXT    NOT NULL,
  ip                TEXT    NOT NULL,
  user_agent        TEXT    NOT NULL,
  changes           TEXT    NOT NULL,
  count             INTEGER NOT NULL,
  prev_hash         BLOB    NOT NULL,
  hash              BLOB    NOT NULL,
  UNIQUE (chain, seq)
) STRICT;
CREATE INDEX audit_events_action ON audit_events (chain, action, seq);
CREATE INDEX audit_events_actor ON audit_events (chain, actor_id, seq);
CREATE INDEX audit_events_at ON audit_events (at, chain, seq);

-- The last event of each chain; whoever appends locks it.
CREATE TABLE audit_heads (
  chain TEXT    NOT NULL PRIMARY KEY,
  seq   INTEGER NOT NULL,
  hash  BLOB    NOT NULL
) STRICT;

-- The last event that retention deleted from a chain, signed.
CREATE TABLE audit_anchors (
  chain     TEXT    NOT NULL PRIMARY KEY,
  seq       INTEGER NOT NULL,
  hash      BLOB    NOT NULL,
  at        INTEGER NOT NULL,
  signature BLOB    NOT NULL
) STRICT;

-- What was refused in minutes that are not yet events; first is the first of them, as JSON.
CREATE TABLE audit_refusals (
  minute  INTEGER NOT NULL,
  action  TEXT    NOT NULL,
  scope   TEXT    NOT NULL,
  outcome TEXT    NOT NULL,
  count   INTEGER NOT NULL,
  first   TEXT    NOT NULL,
  PRIMARY KEY (minute, action, scope, outcome)
) STRICT;
