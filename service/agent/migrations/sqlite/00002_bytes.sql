-- +goose Up
-- svc: expand

-- What all versions of an agent take, deleted or not: what a workspace stores is a sum of rows, and not of texts.
ALTER TABLE agents ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
UPDATE agents SET bytes = (SELECT COALESCE(SUM(octet_length(settings) + octet_length(instructions) + octet_length(output_schema)), 0)
  FROM agent_versions v WHERE v.scope = agents.scope AND v.name = agents.name);
