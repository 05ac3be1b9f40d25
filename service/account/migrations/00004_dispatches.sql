-- +goose Up

-- What a provider told workspaces, sealed, for as long as somebody has yet to hear it.
CREATE TABLE delivery_bodies (
  provider    TEXT   NOT NULL,
  delivery    TEXT   NOT NULL,
  sealed      TEXT   NOT NULL,
  received_at BIGINT NOT NULL,
  PRIMARY KEY (provider, delivery)
);
CREATE INDEX delivery_bodies_age ON delivery_bodies (received_at);

-- What is left to do about deliveries, one row for each workspace: kind channel passes a delivery on to it, approval looks
-- whether the installation is what the account waits for there. Nobody else takes a queued one before next_at. A dead one
-- was given up: why stays until its age ends it, its body does not.
CREATE TABLE dispatches (
  provider     TEXT   NOT NULL,
  delivery     TEXT   NOT NULL,
  workspace    TEXT   NOT NULL,
  kind         TEXT   NOT NULL,
  scope        TEXT   NOT NULL,
  account      TEXT   NOT NULL DEFAULT '',
  event        TEXT   NOT NULL,
  installation BIGINT NOT NULL,
  bytes        BIGINT NOT NULL,
  state        TEXT   NOT NULL DEFAULT 'queued',
  trouble      TEXT   NOT NULL DEFAULT '',
  attempts     BIGINT NOT NULL DEFAULT 0,
  next_at      BIGINT NOT NULL,
  created_at   BIGINT NOT NULL,
  PRIMARY KEY (provider, delivery, workspace)
);
CREATE INDEX dispatches_due ON dispatches (next_at) WHERE state = 'queued';
CREATE INDEX dispatches_waiting ON dispatches (provider, installation, bytes) WHERE state = 'queued';
CREATE INDEX dispatches_age ON dispatches (created_at);

-- Whom a workspace that waits for an approval waits for.
CREATE INDEX installation_bindings_waiting ON installation_bindings (account) WHERE installation = 0;
