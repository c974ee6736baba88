-- Files that came out of sandboxes. No reference to the sandbox: a file outlives it.
CREATE TABLE artifact (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant     TEXT    NOT NULL,
  namespace  TEXT    NOT NULL,
  sandbox_id TEXT    NOT NULL,
  -- NULL: somebody asked for it.
  exec_id    TEXT,
  path       TEXT    NOT NULL,
  sha256     TEXT    NOT NULL,
  size_bytes INTEGER NOT NULL,
  mime       TEXT    NOT NULL,
  signature  TEXT    NOT NULL,
  key_id     TEXT    NOT NULL,
  signed_at  INTEGER NOT NULL
);
CREATE INDEX artifact_tenant ON artifact (tenant);
CREATE INDEX artifact_sandbox ON artifact (sandbox_id);
CREATE INDEX artifact_sha256 ON artifact (sha256);
