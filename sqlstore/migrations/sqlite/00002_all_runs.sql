-- +goose Up

-- The runs of all scopes, newest first, for those who keep the service.
CREATE INDEX runs_of_all ON runs (status, id, scope);
