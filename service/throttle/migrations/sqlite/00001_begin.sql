-- +goose Up

-- One row per key that was taken from. tat is when the key will be empty again (Unix milliseconds); a row whose tat has
-- passed says nothing.
CREATE TABLE throttles (
  key BLOB    NOT NULL PRIMARY KEY,
  tat INTEGER NOT NULL
) STRICT;
CREATE INDEX throttles_tat ON throttles (tat);

-- One row per key that failed of late. After forget_at it says nothing.
CREATE TABLE backoffs (
  key       BLOB    NOT NULL PRIMARY KEY,
  failures  INTEGER NOT NULL,
  last_at   INTEGER NOT NULL,
  forget_at INTEGER NOT NULL
) STRICT;
CREATE INDEX backoffs_forget ON backoffs (forget_at);
