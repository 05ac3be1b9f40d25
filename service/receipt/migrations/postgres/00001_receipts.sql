-- +goose Up

-- One row per request that changed something and named an Idempotency-Key. id is a hash of who asked, the method, the path and the
-- key; body is what authenticates the body that was sent. answer is sealed; NULL: the change stands, its answer is not known yet.
-- After shown_until (Unix milliseconds) the answer is not shown again, and taken away.
CREATE TABLE receipts (
  id          BYTEA   NOT NULL PRIMARY KEY,
  request     TEXT    NOT NULL,
  body        BYTEA   NOT NULL,
  answer      BYTEA,
  shown_until BIGINT  NOT NULL DEFAULT 0,
  made_at     BIGINT  NOT NULL
);
CREATE INDEX receipts_made ON receipts (made_at);
CREATE INDEX receipts_shown ON receipts (shown_until) WHERE answer IS NOT NULL;
