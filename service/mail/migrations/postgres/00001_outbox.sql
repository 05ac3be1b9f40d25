-- +goose Up

-- Mails that wait, and what became of those that do not. sealed holds recipient, subject and text while the mail is queued,
-- and nothing afterwards. next_at is when a queued mail may be tried, or tried again if whoever tries it now is gone; of a
-- mail that is sent or dead it is when that came to be. attempts is also the fence of whoever tries. Times are Unix
-- milliseconds.
CREATE TABLE outbox (
  id         TEXT    NOT NULL PRIMARY KEY,
  kind       TEXT    NOT NULL,
  state      TEXT    NOT NULL DEFAULT 'queued',
  sealed     BYTEA,
  attempts   BIGINT  NOT NULL DEFAULT 0,
  next_at    BIGINT  NOT NULL,
  created_at BIGINT  NOT NULL,
  expires_at BIGINT  NOT NULL,
  sent_at    BIGINT
);
CREATE INDEX outbox_due ON outbox (next_at) WHERE state = 'queued';
CREATE INDEX outbox_age ON outbox (created_at);
