-- +goose Up

-- Sessions that have the authority of the staff for a while, on the Admin surface. What the browser holds beside its
-- session is only shown once. A session has one at most, and it ends with its session.
CREATE TABLE elevations (
  session      TEXT   NOT NULL PRIMARY KEY,
  token        TEXT   NOT NULL UNIQUE,
  account      TEXT   NOT NULL,
  created_at   BIGINT NOT NULL,
  last_seen_at BIGINT NOT NULL
);
CREATE INDEX elevations_account ON elevations (account);
CREATE INDEX elevations_age ON elevations (created_at);

-- Staff who look at the service as a customer does. The ticket leads their browser to the customer's surface once; view is
-- what the browser holds there from then on, beside the session that began it.
CREATE TABLE impersonations (
  id           TEXT   NOT NULL PRIMARY KEY,
  staff        TEXT   NOT NULL,
  session      TEXT   NOT NULL,
  subject      TEXT   NOT NULL,
  reason       TEXT   NOT NULL,
  ticket       TEXT   NOT NULL UNIQUE,
  ticket_until BIGINT NOT NULL,
  view         TEXT   UNIQUE,
  created_at   BIGINT NOT NULL,
  opened_at    BIGINT,
  expires_at   BIGINT NOT NULL,
  ended_at     BIGINT
);
CREATE INDEX impersonations_subject ON impersonations (subject);
CREATE INDEX impersonations_age ON impersonations (expires_at);

-- The list of people, newest first.
CREATE INDEX accounts_age ON accounts (created_at, id);
