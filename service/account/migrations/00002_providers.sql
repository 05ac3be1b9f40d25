-- +goose Up

-- The app by which a provider knows this service, and how the last attempt to make one went. The app's secrets lie in the
-- secret store under its version; those of the version before stay there.
CREATE TABLE providers (
  provider      TEXT   NOT NULL PRIMARY KEY,
  version       BIGINT NOT NULL DEFAULT 0,
  app           TEXT   NOT NULL DEFAULT '{}',
  emails        BIGINT NOT NULL DEFAULT 0,
  configured_at BIGINT NOT NULL DEFAULT 0,
  attempt       TEXT   NOT NULL DEFAULT '',
  outcome       TEXT   NOT NULL DEFAULT '',
  wanted_name   TEXT   NOT NULL DEFAULT '',
  wanted_owner  TEXT   NOT NULL DEFAULT '',
  got_owner     TEXT   NOT NULL DEFAULT '',
  attempted_at  BIGINT NOT NULL DEFAULT 0
);

-- Who refreshes the tokens of an identity at this moment, and until when others wait for that.
ALTER TABLE identities ADD COLUMN lease TEXT NOT NULL DEFAULT '';
ALTER TABLE identities ADD COLUMN refreshing_until BIGINT NOT NULL DEFAULT 0;

-- The app on accounts of the provider. One that was deleted stays a while: what is told late must not bring it back.
CREATE TABLE installations (
  provider      TEXT   NOT NULL,
  id            BIGINT NOT NULL,
  app           BIGINT NOT NULL,
  account_id    BIGINT NOT NULL,
  account_login TEXT   NOT NULL,
  account_type  TEXT   NOT NULL,
  selection     TEXT   NOT NULL DEFAULT '',
  created_at    BIGINT NOT NULL,
  updated_at    BIGINT NOT NULL,
  suspended_at  BIGINT,
  deleted_at    BIGINT,
  PRIMARY KEY (provider, id)
);
CREATE INDEX installations_deleted ON installations (deleted_at) WHERE deleted_at IS NOT NULL;

-- Workspaces that work with an installation; installation 0 is one that an owner at the provider has yet to approve.
CREATE TABLE installation_bindings (
  workspace    TEXT   NOT NULL,
  provider     TEXT   NOT NULL,
  installation BIGINT NOT NULL,
  scope        TEXT   NOT NULL,
  account      TEXT   NOT NULL,
  created_at   BIGINT NOT NULL,
  PRIMARY KEY (workspace, provider, installation)
);
CREATE INDEX installation_bindings_installation ON installation_bindings (provider, installation);

-- What a provider told, once each.
CREATE TABLE deliveries (
  provider     TEXT   NOT NULL,
  id           TEXT   NOT NULL,
  event        TEXT   NOT NULL,
  action       TEXT   NOT NULL,
  installation BIGINT NOT NULL DEFAULT 0,
  received_at  BIGINT NOT NULL,
  PRIMARY KEY (provider, id)
);
CREATE INDEX deliveries_age ON deliveries (received_at);
