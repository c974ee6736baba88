-- What a caller's own key for a request stands for: an exec, a cell, or a new sandbox.
CREATE TABLE request_key (
  tenant     TEXT    NOT NULL,
  -- Null for creates.
  sandbox_id TEXT REFERENCES sandbox (id) ON DELETE CASCADE,
  name       TEXT    NOT NULL,
  kind       TEXT    NOT NULL,
  digest     TEXT    NOT NULL,
  target     TEXT    NOT NULL,
  created_at INTEGER NOT NULL
);
CREATE UNIQUE INDEX request_key_name ON request_key (tenant, COALESCE(sandbox_id, ''), name);
CREATE INDEX request_key_sandbox ON request_key (sandbox_id);
