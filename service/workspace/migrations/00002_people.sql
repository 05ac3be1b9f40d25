-- +goose Up

-- A workspace that is deleted can be restored until erase_at; 0 says that nothing brings it back. Once erased it is a
-- tombstone: its scope, which names its audit chain, is never given again.
ALTER TABLE workspaces ADD COLUMN archived_at BIGINT;
ALTER TABLE workspaces ADD COLUMN deleted_at BIGINT;
ALTER TABLE workspaces ADD COLUMN erase_at BIGINT;
ALTER TABLE workspaces ADD COLUMN erased_at BIGINT;
ALTER TABLE workspaces ADD COLUMN suspend_reason TEXT NOT NULL DEFAULT '';
CREATE INDEX workspaces_age ON workspaces (created_at, id);
CREATE INDEX workspaces_due ON workspaces (erase_at) WHERE deleted_at IS NOT NULL AND erased_at IS NULL;

-- 0: not changed since created_at.
ALTER TABLE members ADD COLUMN updated_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE members ADD COLUMN version BIGINT NOT NULL DEFAULT 1;
CREATE INDEX members_age ON members (workspace, created_at, account);

-- Invitations that nobody has accepted or revoked. A token is the hexadecimal SHA-256 of what only the mail holds; staff
-- is 1 where the inviter acts by the authority of the service.
CREATE TABLE invitations (
  id         TEXT   NOT NULL PRIMARY KEY,
  workspace  TEXT   NOT NULL,
  email      TEXT   NOT NULL,
  role       TEXT   NOT NULL,
  token      TEXT   NOT NULL UNIQUE,
  inviter    TEXT   NOT NULL,
  staff      BIGINT NOT NULL DEFAULT 0,
  version    BIGINT NOT NULL DEFAULT 1,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  UNIQUE (workspace, email)
);
CREATE INDEX invitations_age ON invitations (expires_at);

-- Folded is the name as two names are compared.
CREATE TABLE teams (
  id         TEXT   NOT NULL PRIMARY KEY,
  workspace  TEXT   NOT NULL,
  name       TEXT   NOT NULL,
  folded     TEXT   NOT NULL,
  version    BIGINT NOT NULL DEFAULT 1,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  UNIQUE (workspace, folded)
);

CREATE TABLE team_members (
  team       TEXT   NOT NULL,
  account    TEXT   NOT NULL,
  workspace  TEXT   NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (team, account)
);
CREATE INDEX team_members_account ON team_members (workspace, account);

-- The role that a team's members have in a project, by its slug.
CREATE TABLE team_projects (
  team       TEXT   NOT NULL,
  project    TEXT   NOT NULL,
  workspace  TEXT   NOT NULL,
  role       TEXT   NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (team, project)
);
CREATE INDEX team_projects_project ON team_projects (workspace, project);
