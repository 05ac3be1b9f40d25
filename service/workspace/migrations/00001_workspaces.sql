-- +goose Up

-- A business of one owner, whose username its scope embeds. Times are Unix milliseconds.
CREATE TABLE workspaces (
  id           TEXT   NOT NULL PRIMARY KEY,
  owner        TEXT   NOT NULL,
  scope        TEXT   NOT NULL UNIQUE,
  business     TEXT   NOT NULL,
  name         TEXT   NOT NULL,
  version      BIGINT NOT NULL DEFAULT 1,
  created_at   BIGINT NOT NULL,
  updated_at   BIGINT NOT NULL,
  suspended_at BIGINT
);
CREATE INDEX workspaces_owner ON workspaces (owner);

CREATE TABLE members (
  workspace  TEXT   NOT NULL,
  account    TEXT   NOT NULL,
  role       TEXT   NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (workspace, account)
);
CREATE INDEX members_account ON members (account);
