-- +goose Up

-- One row per stream orders everything about it: offsets (head, part), the queue (work waits while next_seq > done_seq),
-- readiness, fence and abort mark. ready_at is when the stream may be claimed: the time of its admission, the end of its
-- lease, or the time it is parked until. head stands in no index. What every append changes stands together, between what none
-- does: only that is logged.
CREATE TABLE streams (
  id           BIGINT  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  scope        TEXT COLLATE "C"    NOT NULL,
  kind         TEXT COLLATE "C"    NOT NULL,
  name         TEXT COLLATE "C"    NOT NULL,
  instance     TEXT COLLATE "C"    NOT NULL,
  head         BIGINT  NOT NULL DEFAULT -1,
  part         BIGINT  NOT NULL DEFAULT 0,
  bytes        BIGINT  NOT NULL DEFAULT 0,
  next_seq     BIGINT  NOT NULL DEFAULT 0,
  done_seq     BIGINT  NOT NULL DEFAULT 0,
  ready_at     BIGINT  NOT NULL DEFAULT 0,
  reason       TEXT    NOT NULL DEFAULT '',
  epoch        BIGINT  NOT NULL DEFAULT 0,
  owner        TEXT,
  attempts     BIGINT  NOT NULL DEFAULT 0,
  abort_seq    BIGINT  NOT NULL DEFAULT -1,
  open_from    BIGINT  NOT NULL DEFAULT -1,
  context_from BIGINT  NOT NULL DEFAULT -1,
  messages     BIGINT  NOT NULL DEFAULT 0,
  used_at      BIGINT  NOT NULL DEFAULT 0,
  closed       BOOLEAN NOT NULL DEFAULT FALSE,
  dropped      BOOLEAN NOT NULL DEFAULT FALSE,
  UNIQUE (scope, kind, name, instance)
) WITH (fillfactor = 50);
CREATE INDEX streams_ready ON streams (ready_at) WHERE next_seq > done_seq;
CREATE INDEX streams_used ON streams (scope, used_at, name, instance) WHERE kind <> 'run';
CREATE INDEX streams_used_by ON streams (scope, name, used_at, instance) WHERE kind <> 'run';

CREATE TABLE submissions (
  stream      BIGINT  NOT NULL,
  seq         BIGINT  NOT NULL,
  id          TEXT COLLATE "C"    NOT NULL,
  kind        TEXT COLLATE "C"    NOT NULL,
  input       BYTEA,
  tail        BIGINT  NOT NULL,
  admitted_at BIGINT  NOT NULL,
  abort_at    BIGINT,
  outcome     TEXT,
  settled_at  BIGINT,
  idem        TEXT COLLATE "C",
  body_hash   BYTEA,
  UNIQUE (stream, seq)
);
CREATE UNIQUE INDEX submissions_idem ON submissions (idem) WHERE idem IS NOT NULL;
CREATE INDEX submissions_idem_age ON submissions (admitted_at) WHERE idem IS NOT NULL;

-- One row per append, covering the offsets last-n+1 to last.
CREATE TABLE batches (
  stream BIGINT  NOT NULL,
  last   BIGINT  NOT NULL,
  part   BIGINT  NOT NULL,
  n      BIGINT  NOT NULL,
  at     BIGINT  NOT NULL,
  data   BYTEA   NOT NULL,
  UNIQUE (stream, last, part)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.05);
ALTER TABLE batches ALTER COLUMN data SET STORAGE EXTERNAL;

CREATE TABLE messages (
  stream BIGINT  NOT NULL,
  ord    BIGINT  NOT NULL,
  kind   TEXT COLLATE "C"    NOT NULL,
  id     TEXT COLLATE "C"    NOT NULL,
  data   BYTEA   NOT NULL,
  UNIQUE (stream, ord)
);

-- A run's id begins with the time of its start, so order by id is order by start.
CREATE TABLE runs (
  scope      TEXT COLLATE "C"    NOT NULL,
  id         TEXT COLLATE "C"    NOT NULL,
  stream     BIGINT  NOT NULL,
  workflow   TEXT COLLATE "C"    NOT NULL,
  status     TEXT COLLATE "C"    NOT NULL,
  started_at BIGINT  NOT NULL,
  ended_at   BIGINT,
  result     BYTEA,
  error      BYTEA,
  UNIQUE (scope, id)
);
CREATE INDEX runs_status ON runs (scope, status, id);
CREATE INDEX runs_workflow ON runs (scope, workflow, status, id);

-- A stream's references to attachments; their bytes are rows of blob_chunks.
CREATE TABLE blobs (
  stream     BIGINT  NOT NULL,
  attachment TEXT COLLATE "C"    NOT NULL,
  scope      TEXT COLLATE "C"    NOT NULL,
  sha256     TEXT COLLATE "C"    NOT NULL,
  size       BIGINT  NOT NULL,
  mime       TEXT    NOT NULL,
  filename   TEXT    NOT NULL,
  UNIQUE (stream, attachment)
);
CREATE INDEX blobs_content ON blobs (sha256, scope);

CREATE TABLE blob_chunks (
  scope  TEXT COLLATE "C"   NOT NULL,
  sha256 TEXT COLLATE "C"   NOT NULL,
  n      BIGINT NOT NULL,
  at     BIGINT NOT NULL,
  data   BYTEA  NOT NULL,
  PRIMARY KEY (scope, sha256, n)
);
ALTER TABLE blob_chunks ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE INDEX blob_chunks_age ON blob_chunks (at) WHERE n = 0;
