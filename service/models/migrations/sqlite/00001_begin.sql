-- +goose Up

-- How a workspace reaches a provider of models. url NULL: where the service says, else where the provider is. Its key is the secret
-- MODEL_<PROVIDER>_KEY of the workspace. What the last check found is beside it: checked_at 0 is none. used_hour is the last hour, in
-- hours since 1970, for which the audit log knows that the key was used.
CREATE TABLE model_providers (
  scope         TEXT    NOT NULL,
  provider      TEXT    NOT NULL,
  url           TEXT,
  version       INTEGER NOT NULL DEFAULT 1,
  updated_at    INTEGER NOT NULL DEFAULT 0,
  updated_by    TEXT    NOT NULL DEFAULT '',
  checked_at    INTEGER NOT NULL DEFAULT 0,
  result        TEXT    NOT NULL DEFAULT '',
  message       TEXT    NOT NULL DEFAULT '',
  latency_ms    INTEGER NOT NULL DEFAULT 0,
  used_hour     INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (scope, provider)
) STRICT, WITHOUT ROWID;

-- The model of a workspace's agents that name none. A workspace without a row, or with an empty one, has that of the service.
CREATE TABLE model_defaults (
  scope      TEXT    NOT NULL PRIMARY KEY,
  model      TEXT    NOT NULL,
  version    INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  updated_by TEXT    NOT NULL
) STRICT, WITHOUT ROWID;
