-- +goose Up

-- Paths are compared byte by byte, so that a folder's files stand together; that is why the two dialects have a file each.
-- Times are Unix milliseconds, but for mtime, which is a file's own time in nanoseconds. An actor is JSON.

-- A project of a workspace. Bytes and files count its rows in project_files. A project with deleted_at is gone for
-- everybody; its slug is free again once its files are away.
CREATE TABLE projects (
  id          TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  workspace   TEXT COLLATE "C" NOT NULL,
  scope       TEXT COLLATE "C" NOT NULL,
  slug        TEXT COLLATE "C" NOT NULL,
  name        TEXT             NOT NULL,
  folded      TEXT             NOT NULL,
  description TEXT             NOT NULL,
  bytes       BIGINT           NOT NULL DEFAULT 0,
  files       BIGINT           NOT NULL DEFAULT 0,
  version     BIGINT           NOT NULL DEFAULT 1,
  created_at  BIGINT           NOT NULL,
  updated_at  BIGINT           NOT NULL,
  deleted_at  BIGINT,
  UNIQUE (workspace, slug)
);
CREATE INDEX projects_age ON projects (workspace, created_at, id);
CREATE INDEX projects_all ON projects (created_at, id);
CREATE INDEX projects_scope ON projects (scope);
CREATE INDEX projects_deleted ON projects (deleted_at) WHERE deleted_at IS NOT NULL;

-- The index of a project's files. The etag is the hexadecimal SHA-256 of the content; bytes and mtime tell whether the file
-- on disk is still that one.
CREATE TABLE project_files (
  project    TEXT COLLATE "C" NOT NULL,
  path       TEXT COLLATE "C" NOT NULL,
  bytes      BIGINT           NOT NULL,
  etag       TEXT COLLATE "C" NOT NULL,
  mtime      BIGINT           NOT NULL,
  updated_at BIGINT           NOT NULL,
  updated_by TEXT             NOT NULL,
  PRIMARY KEY (project, path)
);

-- What is about to happen to a file on disk: written before it happens, and deleted together with the change of the index.
-- One path has one at a time, so it is also the lock of the path. Other is where the content waits (write) or the other
-- path of a move; quiet ones are audited by the operation they belong to.
CREATE TABLE project_changes (
  project TEXT COLLATE "C" NOT NULL,
  path    TEXT COLLATE "C" NOT NULL,
  op      TEXT COLLATE "C" NOT NULL,
  kind    TEXT COLLATE "C" NOT NULL,
  other   TEXT COLLATE "C" NOT NULL,
  bytes   BIGINT           NOT NULL,
  etag    TEXT COLLATE "C" NOT NULL,
  mtime   BIGINT           NOT NULL,
  actor   TEXT             NOT NULL,
  quiet   BIGINT           NOT NULL,
  at      BIGINT           NOT NULL,
  PRIMARY KEY (project, path)
);
CREATE INDEX project_changes_op ON project_changes (op);
CREATE INDEX project_changes_at ON project_changes (at);

-- One row a workspace. Used is the bytes of all its projects, reserved the sum of its reservations. A limit of NULL is the
-- one that the service gives everybody. Whoever changes files, changes or reservations of the scope locks this row first.
CREATE TABLE storage_quotas (
  scope       TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  limit_bytes BIGINT,
  used        BIGINT           NOT NULL DEFAULT 0,
  reserved    BIGINT           NOT NULL DEFAULT 0,
  attachments BIGINT           NOT NULL DEFAULT 0,
  streams     BIGINT           NOT NULL DEFAULT 0,
  measured_at BIGINT           NOT NULL DEFAULT 0
);

-- Bytes that somebody is about to write. A dead one holds no bytes; it waits for its temporary files to be deleted.
CREATE TABLE storage_reservations (
  id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  scope      TEXT COLLATE "C" NOT NULL,
  project    TEXT COLLATE "C" NOT NULL,
  bytes      BIGINT           NOT NULL,
  dead       BIGINT           NOT NULL DEFAULT 0,
  expires_at BIGINT           NOT NULL
);
CREATE INDEX storage_reservations_scope ON storage_reservations (scope);
CREATE INDEX storage_reservations_project ON storage_reservations (project);
CREATE INDEX storage_reservations_age ON storage_reservations (expires_at);

-- The repository that a project follows. Pull and pull_until are the lease of the pull that runs.
CREATE TABLE project_repositories (
  project      TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  provider     TEXT COLLATE "C" NOT NULL,
  owner        TEXT COLLATE "C" NOT NULL,
  name         TEXT COLLATE "C" NOT NULL,
  branch       TEXT COLLATE "C" NOT NULL,
  installation BIGINT           NOT NULL,
  commit_id    TEXT COLLATE "C" NOT NULL DEFAULT '',
  conflicts    BIGINT           NOT NULL DEFAULT 0,
  pulled_at    BIGINT           NOT NULL DEFAULT 0,
  pull         TEXT COLLATE "C" NOT NULL DEFAULT '',
  pull_until   BIGINT           NOT NULL DEFAULT 0
);

-- What the last pull left at a path: the repository's object and the etag of its content.
CREATE TABLE project_bases (
  project TEXT COLLATE "C" NOT NULL,
  path    TEXT COLLATE "C" NOT NULL,
  object  TEXT COLLATE "C" NOT NULL,
  etag    TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (project, path)
);
