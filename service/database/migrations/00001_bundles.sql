-- +goose Up

-- Which project each node works with, by the hash of its bundle; empty: none. Only nodes that are connected count.
CREATE TABLE node_bundles (
  node TEXT NOT NULL PRIMARY KEY,
  hash TEXT NOT NULL
);
