-- +goose Up

-- How far a pull is that runs: so many files of so many. A total of 0 is not known yet.
ALTER TABLE project_repositories ADD COLUMN pull_done BIGINT NOT NULL DEFAULT 0;
ALTER TABLE project_repositories ADD COLUMN pull_total BIGINT NOT NULL DEFAULT 0;
