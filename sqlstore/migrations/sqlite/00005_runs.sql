-- +goose Up

-- No index of runs knows their status: the end of a run then changes its row and nothing else. Runs that failed are found by
-- their error, which other runs never have; active ones by their streams, where work waits.
CREATE INDEX runs_by_workflow ON runs (scope, workflow, id);
CREATE INDEX runs_newest ON runs (id, scope);
CREATE INDEX runs_failed ON runs (scope, id, workflow) WHERE error IS NOT NULL;
CREATE INDEX runs_failed_newest ON runs (id, scope) WHERE error IS NOT NULL;
CREATE INDEX streams_active ON streams (scope, instance, name) WHERE kind = 'run' AND next_seq > done_seq;
DROP INDEX runs_status;
DROP INDEX runs_workflow;
DROP INDEX runs_of_all;
