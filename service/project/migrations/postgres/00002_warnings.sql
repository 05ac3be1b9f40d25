-- +goose Up

-- Warned is the threshold that the owners were told of last, in percent: 80, 90 or 100, and 0 for none. Those below it count as
-- told. It goes down again when the workspace has fallen 5 points below it.
ALTER TABLE storage_quotas ADD COLUMN warned BIGINT NOT NULL DEFAULT 0;
