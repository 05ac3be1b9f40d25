-- +goose Up

-- How a server is started that is a program, in JSON: its command, its arguments and the names of its variables, whose values are a
-- secret. Empty: it is called at its address.
ALTER TABLE mcp_servers ADD COLUMN program TEXT NOT NULL DEFAULT '';
