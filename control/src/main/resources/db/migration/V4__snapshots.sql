-- A snapshot's files are a volume that no sandbox ever uses.
CREATE TABLE snapshot (
  id         TEXT PRIMARY KEY,
  tenant     TEXT    NOT NULL,
  -- Where it is from; that sandbox may be gone.
  sandbox_id TEXT    NOT NULL,
  volume_id  TEXT    NOT NULL,
  engine     TEXT    NOT NULL,
  image      TEXT    NOT NULL,
  name       TEXT,
  size_bytes INTEGER NOT NULL,
  -- NULL while it is being made.
  used_bytes INTEGER,
  created_at INTEGER NOT NULL
);
CREATE INDEX snapshot_tenant ON snapshot (tenant, created_at);
CREATE INDEX snapshot_sandbox ON snapshot (sandbox_id);
