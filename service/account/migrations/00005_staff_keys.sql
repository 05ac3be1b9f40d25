-- +goose Up

-- Keys that staff made, by the authority of the service and not by a place in the workspace.
ALTER TABLE api_keys ADD COLUMN staff BIGINT NOT NULL DEFAULT 0;
