-- +goose Up

-- What a key was made for: 'device' for a program that asked for it, 'api' for everything else.
ALTER TABLE api_keys ADD COLUMN kind TEXT NOT NULL DEFAULT 'api';
