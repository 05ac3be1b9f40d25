-- +goose Up

-- Waiting work, and work whose lease may have lapsed, are looked for apart: when the next stream becomes ready is then the
-- first row of an index, however many leases are held.
CREATE INDEX streams_waiting ON streams (ready_at) WHERE next_seq > done_seq AND owner IS NULL;
CREATE INDEX streams_held ON streams (ready_at) WHERE next_seq > done_seq AND owner IS NOT NULL;
DROP INDEX streams_ready;

-- What no owner can work waits under this reason, by the name that an owner would register.
CREATE INDEX streams_unregistered ON streams (kind, name) WHERE reason = 'not_registered';

-- The owners there are, and what each can work. workflows is a JSON list of names.
CREATE TABLE workers (
  owner     TEXT    NOT NULL PRIMARY KEY,
  workflows TEXT    NOT NULL,
  agents    BOOLEAN NOT NULL,
  seen_at   BIGINT  NOT NULL
);

-- The person or program that asked for a run.
ALTER TABLE runs ADD COLUMN started_by TEXT NOT NULL DEFAULT '';
