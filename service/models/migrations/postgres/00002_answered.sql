-- +goose Up

-- Answered is the model that did in the last check that succeeded, at the address that counts: a server of a workspace's own is asked
-- by it where nobody chose a model. Empty: none has answered there.
ALTER TABLE model_providers ADD COLUMN answered TEXT NOT NULL DEFAULT '';
