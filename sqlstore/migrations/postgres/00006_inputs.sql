-- +goose Up
-- svc: contract

-- The row of a submission is read by every list. A large input stands in a row of its own: submissions.input is then its
-- head, and size is that of the whole.
CREATE TABLE inputs (
  stream BIGINT NOT NULL,
  seq    BIGINT NOT NULL,
  data   BYTEA  NOT NULL,
  UNIQUE (stream, seq)
);
ALTER TABLE submissions ADD COLUMN size BIGINT NOT NULL DEFAULT 0;
INSERT INTO inputs (stream, seq, data) SELECT stream, seq, input FROM submissions WHERE length(input) > 4096;
UPDATE submissions SET size = length(input), input = substr(input, 1, 4096) WHERE input IS NOT NULL;
