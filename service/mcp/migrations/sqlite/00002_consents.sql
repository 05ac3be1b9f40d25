-- +goose Up

-- One row per MCP server that somebody has signed in to: where its tokens are renewed, and for what. The tokens themselves, and the
-- client that they are of, are in the secret store. basic: the client's secret goes in a header. Whoever renews them holds the lease
-- until refreshing_until at most.
CREATE TABLE mcp_consents (
  server           TEXT    NOT NULL PRIMARY KEY,
  issuer           TEXT    NOT NULL,
  token_endpoint   TEXT    NOT NULL,
  resource         TEXT    NOT NULL,
  basic            INTEGER NOT NULL DEFAULT 0,
  lease            TEXT    NOT NULL DEFAULT '',
  refreshing_until INTEGER NOT NULL DEFAULT 0
) STRICT;
