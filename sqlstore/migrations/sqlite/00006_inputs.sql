-- +goose Up
-- svc: contract

-- The row of a submission is written again when its work is aborted or settled, and read by every list. A large input
-- therefore stands in a row of its own: submissions.input is then its head, and size is that of the whole.
CREATE TABLE inputs (
  stream INTEGER NOT NULL,
  seq    INTEGER NOT NULL,
  data   BLOB    NOT NULL,
  UNIQUE (stream, seq)
);
ALTER TABLE submissions ADD COLUMN size INTEGER NOT NULL DEFAULT 0;
INSERT INTO inputs (stream, seq, data) SELECT stream, seq, input FROM submissions WHERE length(input) > 4096;
UPDATE submissions SET size = length(input), input = substr(input, 1, 4096) WHERE input IS NOT NULL;

-- What stands behind a large value is found by walking over it, so a run's result is last.
CREATE TABLE listed_runs (
  scope      TEXT    NOT NULL,
  id         TEXT    NOT NULL,
  stream     INTEGER NOT NULL,
  workflow   TEXT    NOT NULL,
  status     TEXT    NOT NULL,
  started_at INTEGER NOT NULL,
  started_by TEXT    NOT NULL DEFAULT '',
  ended_at   INTEGER,
  error      BLOB,
  result     BLOB,
  UNIQUE (scope, id)
);
INSERT INTO listed_runs (scope, id, stream, workflow, status, started_at, started_by, ended_at, error, result)
SELECT scope, id, stream, workflow, status, started_at, started_by, ended_at, error, result FROM runs ORDER BY rowid;
DROP TABLE runs;
ALTER TABLE listed_runs RENAME TO runs;
CREATE INDEX runs_by_workflow ON runs (scope, workflow, id);
CREATE INDEX runs_newest ON runs (id, scope);
CREATE INDEX runs_failed ON runs (scope, id, workflow) WHERE error IS NOT NULL;
CREATE INDEX runs_failed_newest ON runs (id, scope) WHERE error IS NOT NULL;
