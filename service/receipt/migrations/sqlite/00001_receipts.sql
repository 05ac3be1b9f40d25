-- +goose Up

-- One row per request that changed something and named an Idempotency-Key. id is a hash of who asked, the method, the path and the
-- key; body is what authenticates the body that was sent. answer is sealed; NULL: the change stands, its answer is not known yet.
-- After shown_until (Unix milliseconds) the answer is not shown again, and taken away.
CREATE TABLE receipts (
  id          BLOB    NOT NULL PRIMARY KEY,
  request     TEXT    NOT NULL,
  body        BLOB    NOT NULL,
  answer      BLOB,
  shown_until INTEGER NOT NULL DEFAULT 0,
  made_at     INTEGER NOT NULL
) STRICT;
CREATE INDEX receipts_made ON receipts (made_at);
CREATE INDEX receipts_shown ON receipts (shown_until) WHERE answer IS NOT NULL;
