-- +goose Up

-- One row per name of a scope that an agent was ever stored under; version is the newest of agent_versions. One that was deleted
-- stays: a name that is made again goes on counting, and its conversations go on being read. Times are Unix milliseconds.
CREATE TABLE agents (
  scope      TEXT   NOT NULL,
  name       TEXT   NOT NULL,
  version    INTEGER NOT NULL,
  enabled    INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  deleted_at INTEGER,
  PRIMARY KEY (scope, name)
) STRICT;
CREATE INDEX agents_listed ON agents (scope, created_at, name) WHERE deleted_at IS NULL;
CREATE INDEX agents_all ON agents (created_at, scope, name) WHERE deleted_at IS NULL;

-- What an agent was, never changed. settings is JSON, all but the two texts that can be long. The scope of files is empty: every
-- workspace has them, and they have no row in agents.
CREATE TABLE agent_versions (
  scope         TEXT   NOT NULL,
  name          TEXT   NOT NULL,
  version       INTEGER NOT NULL,
  settings      TEXT   NOT NULL,
  instructions  TEXT   NOT NULL,
  output_schema TEXT   NOT NULL DEFAULT '',
  made_at       INTEGER NOT NULL,
  made_by       TEXT   NOT NULL,
  PRIMARY KEY (scope, name, version)
) STRICT;
