-- +goose Up

-- One row per key that was taken from. tat is when the key will be empty again (Unix milliseconds); a row whose tat has
-- passed says nothing.
CREATE TABLE throttles (
  key BYTEA  NOT NULL PRIMARY KEY,
  tat BIGINT NOT NULL
);
CREATE INDEX throttles_tat ON throttles (tat);

-- One row per key that failed of late. After forget_at it says nothing.
CREATE TABLE backoffs (
  key       BYTEA  NOT NULL PRIMARY KEY,
  failures  BIGINT NOT NULL,
  last_at   BIGINT NOT NULL,
  forget_at BIGINT NOT NULL
);
CREATE INDEX backoffs_forget ON backoffs (forget_at);
