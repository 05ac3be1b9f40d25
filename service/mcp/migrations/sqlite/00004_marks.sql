-- +goose Up

-- What a person is told of a tool beside what it is. fresh: it came after the server was first connected, and nobody has switched it yet.
-- destructive: the server says that it may destroy something.
ALTER TABLE mcp_tools ADD COLUMN fresh INTEGER NOT NULL DEFAULT 0;
ALTER TABLE mcp_tools ADD COLUMN destructive INTEGER NOT NULL DEFAULT 0;
