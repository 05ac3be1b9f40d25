-- +goose Up

-- One row per MCP server of a workspace. setting grows with every change of where it is and of the credential: a connection made under
-- another one is not used. token: a credential is kept in the secret store. omitted is a JSON list of tools that are left out, and why.
CREATE TABLE mcp_servers (
  id         TEXT    NOT NULL PRIMARY KEY,
  scope      TEXT    NOT NULL,
  name       TEXT    NOT NULL,
  transport  TEXT    NOT NULL,
  url        TEXT    NOT NULL,
  auth       TEXT    NOT NULL,
  token      INTEGER NOT NULL DEFAULT 0,
  setting    INTEGER NOT NULL DEFAULT 1,
  status     TEXT    NOT NULL,
  status_at  INTEGER NOT NULL,
  reason     TEXT    NOT NULL DEFAULT '',
  omitted    TEXT    NOT NULL DEFAULT '[]',
  version    INTEGER NOT NULL DEFAULT 1,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX mcp_servers_name ON mcp_servers (scope, name);
CREATE INDEX mcp_servers_age ON mcp_servers (created_at, id);

-- What each server has to offer, as somebody saw it when it was switched on. changed: it was switched off because it became another.
CREATE TABLE mcp_tools (
  server       TEXT    NOT NULL,
  name         TEXT    NOT NULL,
  description  TEXT    NOT NULL,
  input_schema TEXT    NOT NULL,
  enabled      INTEGER NOT NULL DEFAULT 0,
  changed      INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (server, name)
) STRICT;
