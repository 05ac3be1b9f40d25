-- +goose Up

-- One row per stream orders everything about it: offsets (head, part), the queue (work waits while next_seq > done_seq),
-- readiness, fence and abort mark. ready_at is when the stream may be claimed: the time of its admission, the end of its
-- lease, or the time it is parked until. head stands in no index.
CREATE TABLE streams (
  id           INTEGER PRIMARY KEY,
  scope        TEXT    NOT NULL,
  kind         TEXT    NOT NULL,
  name         TEXT    NOT NULL,
  instance     TEXT    NOT NULL,
  head         INTEGER NOT NULL DEFAULT -1,
  part         INTEGER NOT NULL DEFAULT 0,
  next_seq     INTEGER NOT NULL DEFAULT 0,
  done_seq     INTEGER NOT NULL DEFAULT 0,
  ready_at     INTEGER NOT NULL DEFAULT 0,
  reason       TEXT    NOT NULL DEFAULT '',
  epoch        INTEGER NOT NULL DEFAULT 0,
  owner        TEXT,
  attempts     INTEGER NOT NULL DEFAULT 0,
  abort_seq    INTEGER NOT NULL DEFAULT -1,
  open_from    INTEGER NOT NULL DEFAULT -1,
  context_from INTEGER NOT NULL DEFAULT -1,
  messages     INTEGER NOT NULL DEFAULT 0,
  bytes        INTEGER NOT NULL DEFAULT 0,
  used_at      INTEGER NOT NULL DEFAULT 0,
  closed       BOOLEAN NOT NULL DEFAULT FALSE,
  dropped      BOOLEAN NOT NULL DEFAULT FALSE,
  UNIQUE (scope, kind, name, instance)
);
CREATE INDEX streams_ready ON streams (ready_at) WHERE next_seq > done_seq;
CREATE INDEX streams_used ON streams (scope, used_at, name, instance) WHERE kind <> 'run';
CREATE INDEX streams_used_by ON streams (scope, name, used_at, instance) WHERE kind <> 'run';

CREATE TABLE submissions (
  stream      INTEGER NOT NULL,
  seq         INTEGER NOT NULL,
  id          TEXT    NOT NULL,
  kind        TEXT    NOT NULL,
  input       BLOB,
  tail        INTEGER NOT NULL,
  admitted_at INTEGER NOT NULL,
  abort_at    INTEGER,
  outcome     TEXT,
  settled_at  INTEGER,
  idem        TEXT,
  body_hash   BLOB,
  UNIQUE (stream, seq)
);
CREATE UNIQUE INDEX submissions_idem ON submissions (idem) WHERE idem IS NOT NULL;
CREATE INDEX submissions_idem_age ON submissions (admitted_at) WHERE idem IS NOT NULL;

-- One row per append, covering the offsets last-n+1 to last. A rowid table with a small index: rows are appended at its
-- end, and a large record does not sit in an index page.
CREATE TABLE batches (
  stream INTEGER NOT NULL,
  last   INTEGER NOT NULL,
  part   INTEGER NOT NULL,
  n      INTEGER NOT NULL,
  at     INTEGER NOT NULL,
  data   BLOB    NOT NULL,
  UNIQUE (stream, last, part)
);

CREATE TABLE messages (
  stream INTEGER NOT NULL,
  ord    INTEGER NOT NULL,
  kind   TEXT    NOT NULL,
  id     TEXT    NOT NULL,
  data   BLOB    NOT NULL,
  UNIQUE (stream, ord)
);

-- A run's id begins with the time of its start, so order by id is order by start.
CREATE TABLE runs (
  scope      TEXT    NOT NULL,
  id         TEXT    NOT NULL,
  stream     INTEGER NOT NULL,
  workflow   TEXT    NOT NULL,
  status     TEXT    NOT NULL,
  started_at INTEGER NOT NULL,
  ended_at   INTEGER,
  result     BLOB,
  error      BLOB,
  UNIQUE (scope, id)
);
CREATE INDEX runs_status ON runs (scope, status, id);
CREATE INDEX runs_workflow ON runs (scope, workflow, status, id);

-- A stream's references to attachments; their bytes are files.
CREATE TABLE blobs (
  stream     INTEGER NOT NULL,
  attachment TEXT    NOT NULL,
  scope      TEXT    NOT NULL,
  sha256     TEXT    NOT NULL,
  size       INTEGER NOT NULL,
  mime       TEXT    NOT NULL,
  filename   TEXT    NOT NULL,
  UNIQUE (stream, attachment)
);
CREATE INDEX blobs_content ON blobs (sha256, scope);
