-- +goose Up

-- People. Times are Unix milliseconds; hashes are hexadecimal SHA-256 of what is only shown once.
CREATE TABLE accounts (
  id               TEXT   NOT NULL PRIMARY KEY,
  username         TEXT   NOT NULL UNIQUE,
  display_name     TEXT   NOT NULL,
  email            TEXT   UNIQUE,
  email_verified   BIGINT NOT NULL DEFAULT 0,
  email_source     TEXT   NOT NULL DEFAULT '',
  email_in_use     BIGINT NOT NULL DEFAULT 0,
  password         TEXT   NOT NULL DEFAULT '',
  password_version BIGINT NOT NULL DEFAULT 0,
  service_role     TEXT   NOT NULL DEFAULT 'none',
  suspended_at     BIGINT,
  suspend_reason   TEXT   NOT NULL DEFAULT '',
  deleted_at       BIGINT,
  version          BIGINT NOT NULL DEFAULT 1,
  created_at       BIGINT NOT NULL,
  updated_at       BIGINT NOT NULL
);
CREATE INDEX accounts_staff ON accounts (service_role) WHERE service_role <> 'none';
CREATE INDEX accounts_deleted ON accounts (deleted_at) WHERE deleted_at IS NOT NULL;

-- Every username that was ever given. Rows are never deleted: scopes embed the name.
CREATE TABLE usernames (
  name    TEXT NOT NULL PRIMARY KEY,
  account TEXT NOT NULL
);

CREATE TABLE sessions (
  id            TEXT   NOT NULL PRIMARY KEY,
  token         TEXT   NOT NULL UNIQUE,
  account       TEXT   NOT NULL,
  created_at    BIGINT NOT NULL,
  last_seen_at  BIGINT NOT NULL,
  auth_time     BIGINT NOT NULL,
  auth_method   TEXT   NOT NULL,
  identity      TEXT   NOT NULL DEFAULT '',
  ip            TEXT   NOT NULL,
  user_agent    TEXT   NOT NULL,
  surface       TEXT   NOT NULL,
  revoked_at    BIGINT,
  revoke_reason TEXT   NOT NULL DEFAULT ''
);
CREATE INDEX sessions_account ON sessions (account, created_at);
CREATE INDEX sessions_age ON sessions (last_seen_at);

-- Browsers that signed in to an account before: strangers cannot lock their owner out.
CREATE TABLE devices (
  token        TEXT   NOT NULL PRIMARY KEY,
  account      TEXT   NOT NULL,
  created_at   BIGINT NOT NULL
);
CREATE INDEX devices_account ON devices (account);
CREATE INDEX devices_age ON devices (created_at);

-- What is used once: links in mails, tickets, states of a sign-in elsewhere, the set-up link.
CREATE TABLE tokens (
  hash       TEXT   NOT NULL PRIMARY KEY,
  purpose    TEXT   NOT NULL,
  account    TEXT   NOT NULL,
  email      TEXT   NOT NULL DEFAULT '',
  binding    BIGINT NOT NULL DEFAULT 0,
  data       TEXT   NOT NULL DEFAULT '',
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  used_at    BIGINT
);
CREATE INDEX tokens_account ON tokens (account, purpose);
CREATE INDEX tokens_email ON tokens (email, purpose) WHERE email <> '';
CREATE INDEX tokens_age ON tokens (expires_at);

CREATE TABLE api_keys (
  id           TEXT   NOT NULL PRIMARY KEY,
  prefix       TEXT   NOT NULL UNIQUE,
  hash         TEXT   NOT NULL,
  last4        TEXT   NOT NULL,
  name         TEXT   NOT NULL,
  scopes       TEXT   NOT NULL,
  workspace    TEXT   NOT NULL,
  scope        TEXT   NOT NULL,
  creator      TEXT   NOT NULL,
  created_at   BIGINT NOT NULL,
  expires_at   BIGINT,
  last_used_at BIGINT,
  last_used_ip TEXT   NOT NULL DEFAULT '',
  revoked_at   BIGINT,
  rotated_from TEXT   NOT NULL DEFAULT '',
  exposed_at   BIGINT
);
CREATE INDEX api_keys_workspace ON api_keys (workspace, created_at);
CREATE INDEX api_keys_creator ON api_keys (creator);

-- Ways in that another service vouches for. Subject is its key of the person; its login only shows.
CREATE TABLE identities (
  id            TEXT   NOT NULL PRIMARY KEY,
  provider      TEXT   NOT NULL,
  issuer        TEXT   NOT NULL,
  subject       TEXT   NOT NULL,
  account       TEXT   NOT NULL,
  login         TEXT   NOT NULL,
  no_email      BIGINT NOT NULL DEFAULT 0,
  status        TEXT   NOT NULL DEFAULT 'connected',
  linked_at     BIGINT NOT NULL,
  updated_at    BIGINT NOT NULL,
  UNIQUE (provider, issuer, subject)
);
CREATE INDEX identities_account ON identities (account);
