-- +goose Up

-- Programs that ask for a key, until they have fetched it. Code is the fingerprint of what the program keeps, user_code an HMAC of what it
-- shows to people: that is short, so a fingerprint could be turned back.
CREATE TABLE device_pairings (
  id             TEXT   NOT NULL PRIMARY KEY,
  code           TEXT   NOT NULL UNIQUE,
  user_code      TEXT   NOT NULL UNIQUE,
  client         TEXT   NOT NULL,
  ip             TEXT   NOT NULL,
  created_at     BIGINT NOT NULL,
  expires_at     BIGINT NOT NULL,
  polled_at      BIGINT,
  pause          BIGINT NOT NULL,
  state          TEXT   NOT NULL DEFAULT 'waiting',
  decided_at     BIGINT,
  account        TEXT   NOT NULL DEFAULT '',
  workspace      TEXT   NOT NULL DEFAULT '',
  scope          TEXT   NOT NULL DEFAULT '',
  scopes         TEXT   NOT NULL DEFAULT '[]',
  key_expires_at BIGINT,
  key            TEXT   NOT NULL DEFAULT ''
);
CREATE INDEX device_pairings_expires ON device_pairings (expires_at);
CREATE INDEX device_pairings_account ON device_pairings (account) WHERE account <> '';
CREATE INDEX device_pairings_workspace ON device_pairings (workspace) WHERE workspace <> '';
