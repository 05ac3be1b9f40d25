-- +goose Up

-- Paths are compared byte by byte, so that a folder's files stand together; that is why the two dialects have a file each.
-- Times are Unix milliseconds, but for mtime, which is a file's own time in nanoseconds. An actor is JSON.

-- A project of a workspace. Bytes and files count its rows in project_files. A project with deleted_at is gone for
-- everybody; its slug is free again once its files are away.
CREATE TABLE projects (
  id          TEXT NOT NULL PRIMARY KEY,
  workspace   TEXT NOT NULL,
  scope       TEXT NOT NULL,
  slug        TEXT NOT NULL,
  name        TEXT NOT NULL,
  folded      TEXT NOT NULL,
  description TEXT NOT NULL,
  bytes       INTEGER NOT NULL DEFAULT 0,
  files       INTEGER NOT NULL DEFAULT 0,
  version     INTEGER NOT NULL DEFAULT 1,
  created_at  INTEGER NOT NULL,
  updated_at  INTEGER NOT NULL,
  deleted_at  INTEGER,
  UNIQUE (workspace, slug)
) STRICT;
CREATE INDEX projects_age ON projects (workspace, created_at, id);
CREATE INDEX projects_all ON projects (created_at, id);
CREATE INDEX projects_scope ON projects (scope);
CREATE INDEX projects_deleted ON projects (deleted_at) WHERE deleted_at IS NOT NULL;

-- The index of a project's files. The etag is the hexadecimal SHA-256 of the content; bytes and mtime tell whether the file
-- on disk is still that one.
CREATE TABLE project_files (
  project    TEXT NOT NULL,
  path       TEXT NOT NULL,
  bytes      INTEGER NOT NULL,
  etag       TEXT NOT NULL,
  mtime      INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  updated_by TEXT NOT NULL,
  PRIMARY KEY (project, path)
) STRICT;

-- What is about to happen to a file on disk: written before it happens, and deleted together with the change of the index.
-- One path has one at a time, so it is also the lock of the path. Other is where the content waits (write) or the other
-- path of a move; quiet ones are audited by the operation they belong to.
CREATE TABLE project_changes (
  project TEXT NOT NULL,
  path    TEXT NOT NULL,
  op      TEXT NOT NULL,
  kind    TEXT NOT NULL,
  other   TEXT NOT NULL,
  bytes   INTEGER NOT NULL,
  etag    TEXT NOT NULL,
  mtime   INTEGER NOT NULL,
  actor   TEXT NOT NULL,
  quiet   INTEGER NOT NULL,
  at      INTEGER NOT NULL,
  PRIMARY KEY (project, path)
) STRICT;
CREATE INDEX project_changes_op ON project_changes (op);
CREATE INDEX project_changes_at ON project_changes (at);

-- One row a workspace. Used is the bytes of all its projects, reserved the sum of its reservations. A limit of NULL is the
-- one that the service gives everybody. Whoever changes files, changes or reservations of the scope locks this row first.
CREATE TABLE storage_quotas (
  scope       TEXT NOT NULL PRIMARY KEY,
  limit_bytes INTEGER,
  used        INTEGER NOT NULL DEFAULT 0,
  reserved    INTEGER NOT NULL DEFAULT 0,
  attachments INTEGER NOT NULL DEFAULT 0,
  streams     INTEGER NOT NULL DEFAULT 0,
  measured_at INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Bytes that somebody is about to write. A dead one holds no bytes; it waits for its temporary files to be deleted.
CREATE TABLE storage_reservations (
  id         TEXT NOT NULL PRIMARY KEY,
  scope      TEXT NOT NULL,
  project    TEXT NOT NULL,
  bytes      INTEGER NOT NULL,
  dead       INTEGER NOT NULL DEFAULT 0,
  expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX storage_reservations_scope ON storage_reservations (scope);
CREATE INDEX storage_reservations_project ON storage_reservations (project);
CREATE INDEX storage_reservations_age ON storage_reservations (expires_at);

-- The repository that a project follows. Pull and pull_until are the lease of the pull that runs.
CREATE TABLE project_repositories (
  project      TEXT NOT NULL PRIMARY KEY,
  provider     TEXT NOT NULL,
  owner        TEXT NOT NULL,
  name         TEXT NOT NULL,
  branch       TEXT NOT NULL,
  installation INTEGER NOT NULL,
  commit_id    TEXT NOT NULL DEFAULT '',
  conflicts    INTEGER NOT NULL DEFAULT 0,
  pulled_at    INTEGER NOT NULL DEFAULT 0,
  pull         TEXT NOT NULL DEFAULT '',
  pull_until   INTEGER NOT NULL DEFAULT 0
) STRICT;

-- What the last pull left at a path: the repository's object and the etag of its content.
CREATE TABLE project_bases (
  project TEXT NOT NULL,
  path    TEXT NOT NULL,
  object  TEXT NOT NULL,
  etag    TEXT NOT NULL,
  PRIMARY KEY (project, path)
) STRICT;
