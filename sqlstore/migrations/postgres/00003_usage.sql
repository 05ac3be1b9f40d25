-- +goose Up

-- What a scope stores is summed again and again; each content of its attachments counts once.
CREATE INDEX blobs_scope ON blobs (scope, sha256, size);
