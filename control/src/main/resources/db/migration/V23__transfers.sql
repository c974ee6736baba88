-- What may leave a sandbox by a link, or for another sandbox. Gone with the sandbox.
CREATE TABLE export (
  id         TEXT PRIMARY KEY,
  tenant     TEXT    NOT NULL,
  sandbox_id TEXT    NOT NULL,
  path       TEXT    NOT NULL,
  created_by TEXT    NOT NULL,
  created_at INTEGER NOT NULL,
  UNIQUE (sandbox_id, path)
);

-- Files that come in parts. What has come of one is in its sandbox, and nowhere else.
CREATE TABLE upload (
  id         TEXT PRIMARY KEY,
  tenant     TEXT    NOT NULL,
  sandbox_id TEXT    NOT NULL,
  path       TEXT    NOT NULL,
  size_bytes INTEGER NOT NULL,
  -- 1: all of it has come, and it is in its place.
  whole      INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL
);
CREATE INDEX upload_sandbox ON upload (sandbox_id);
