-- +goose Up

-- Where the service may run under a role of its own, that role needs no UPDATE on audit_events, and DELETE only for
-- retention.
--
-- One row per event and chain. Every column is covered by hash; no row is ever changed, and only whole prefixes of a chain
-- are deleted. The chain is the scope, and '' is that of the service.
CREATE TABLE audit_events (
  chain             TEXT COLLATE "C" NOT NULL,
  seq               BIGINT           NOT NULL,
  at                BIGINT           NOT NULL,
  actor_kind        TEXT COLLATE "C" NOT NULL,
  actor_id          TEXT COLLATE "C" NOT NULL,
  actor_name        TEXT COLLATE "C" NOT NULL,
  subject_kind      TEXT COLLATE "C" NOT NULL,
  subject_id        TEXT COLLATE "C" NOT NULL,
  subject_name      TEXT COLLATE "C" NOT NULL,
  impersonator_kind TEXT COLLATE "C" NOT NULL,
  impersonator_id   TEXT COLLATE "C" NOT NULL,
  impersonator_name TEXT COLLATE "C" NOT NULL,
  authority         TEXT COLLATE "C" NOT NULL,
  surface           TEXT COLLATE "C" NOT NULL,
  action            TEXT COLLATE "C" NOT NULL,
  target_kind       TEXT COLLATE "C" NOT NULL,
  target_id         TEXT COLLATE "C" NOT NULL,
  scope             TEXT COLLATE "C" NOT NULL,
  outcome           TEXT COLLATE "C" NOT NULL,
  request_id        TEXT COLLATE "C" NOT NULL,
  ip                TEXT COLLATE "C" NOT NULL,
  user_agent        TEXT COLLATE "C" NOT NULL,
  changes           TEXT COLLATE "C" NOT NULL,
  count             BIGINT           NOT NULL,
  prev_hash         BYTEA            NOT NULL,
  hash              BYTEA            NOT NULL,
  UNIQUE (chain, seq)
);
CREATE INDEX audit_events_action ON audit_events (chain, action, seq);
CREATE INDEX audit_events_actor ON audit_events (chain, actor_id, seq);
CREATE INDEX audit_events_at ON audit_events (at, chain, seq);

-- The last event of each chain; whoever appends locks it.
CREATE TABLE audit_heads (
  chain TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  seq   BIGINT           NOT NULL,
  hash  BYTEA            NOT NULL
);

-- The last event that retention deleted from a chain, signed.
CREATE TABLE audit_anchors (
  chain     TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  seq       BIGINT           NOT NULL,
  hash      BYTEA            NOT NULL,
  at        BIGINT           NOT NULL,
  signature BYTEA            NOT NULL
);

-- What was refused in minutes that are not yet events; first is the first of them, as JSON.
CREATE TABLE audit_refusals (
  minute  BIGINT           NOT NULL,
  action  TEXT COLLATE "C" NOT NULL,
  scope   TEXT COLLATE "C" NOT NULL,
  outcome TEXT COLLATE "C" NOT NULL,
  count   BIGINT           NOT NULL,
  first   TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (minute, action, scope, outcome)
);
