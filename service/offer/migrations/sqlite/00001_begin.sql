-- +goose Up

-- One row per call of an MCP client that begins work: written before the work is admitted, and told its id afterwards. holder is the
-- API key or account that called; session and request are what its client calls the call, by which it can be cancelled. kind, name
-- and instance are the stream of the work, start is where in it the work begins. Times are Unix milliseconds.
CREATE TABLE offer_calls (
  scope        TEXT    NOT NULL,
  call         TEXT    NOT NULL,
  holder       TEXT    NOT NULL,
  session      TEXT    NOT NULL,
  request      TEXT    NOT NULL,
  kind         TEXT    NOT NULL,
  name         TEXT    NOT NULL,
  instance     TEXT    NOT NULL,
  id           TEXT,
  start        INTEGER NOT NULL DEFAULT -1,
  made_at      INTEGER NOT NULL,
  cancelled_at INTEGER,
  PRIMARY KEY (scope, call)
) STRICT;
CREATE INDEX offer_calls_id ON offer_calls (scope, id) WHERE id IS NOT NULL;
CREATE INDEX offer_calls_request ON offer_calls (scope, holder, session, request, made_at);
CREATE INDEX offer_calls_age ON offer_calls (made_at);
