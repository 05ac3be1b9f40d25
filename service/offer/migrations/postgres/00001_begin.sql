-- +goose Up

-- One row per call of an MCP client that begins work: written before the work is admitted, and told its id afterwards. holder is the
-- API key or account that called; session and request are what its client calls the call, by which it can be cancelled. kind, name
-- and instance are the stream of the work, start is where in it the work begins. Times are Unix milliseconds.
CREATE TABLE offer_calls (
  scope        TEXT COLLATE "C" NOT NULL,
  call         TEXT COLLATE "C" NOT NULL,
  holder       TEXT COLLATE "C" NOT NULL,
  session      TEXT COLLATE "C" NOT NULL,
  request      TEXT COLLATE "C" NOT NULL,
  kind         TEXT COLLATE "C" NOT NULL,
  name         TEXT COLLATE "C" NOT NULL,
  instance     TEXT COLLATE "C" NOT NULL,
  id           TEXT COLLATE "C",
  start        BIGINT NOT NULL DEFAULT -1,
  made_at      BIGINT NOT NULL,
  cancelled_at BIGINT,
  PRIMARY KEY (scope, call)
);
CREATE INDEX offer_calls_id ON offer_calls (scope, id) WHERE id IS NOT NULL;
CREATE INDEX offer_calls_request ON offer_calls (scope, holder, session, request, made_at);
CREATE INDEX offer_calls_age ON offer_calls (made_at);
