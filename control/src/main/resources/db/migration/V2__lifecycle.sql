ALTER TABLE sandbox ADD COLUMN on_idle TEXT NOT NULL DEFAULT 'stop';
-- 0: for ever.
ALTER TABLE sandbox ADD COLUMN max_life_ms INTEGER NOT NULL DEFAULT 0;
-- When its present or last machine started.
ALTER TABLE sandbox ADD COLUMN started_at INTEGER;
UPDATE sandbox SET started_at = created_at WHERE status <> 'creating';
-- NULL: its files are in memory and end with its machine.
ALTER TABLE sandbox ADD COLUMN volume_id TEXT;
ALTER TABLE sandbox ADD COLUMN volume_name TEXT;
CREATE INDEX sandbox_volume ON sandbox (volume_id) WHERE volume_id IS NOT NULL;

-- A key is free again once its sandbox can neither run on nor be started again.
DROP INDEX sandbox_session_key;
CREATE UNIQUE INDEX sandbox_session_key ON sandbox (tenant, session_key)
  WHERE session_key IS NOT NULL AND (status IN ('creating', 'running', 'paused')
    OR (status IN ('stopped', 'failed') AND volume_id IS NOT NULL));

-- How each sandbox came to its status; the last ones of each, gone with it.
CREATE TABLE transition (
  sandbox_id  TEXT    NOT NULL REFERENCES sandbox (id) ON DELETE CASCADE,
  generation  INTEGER NOT NULL,
  from_status TEXT    NOT NULL,
  to_status   TEXT    NOT NULL,
  at          INTEGER NOT NULL,
  cause       TEXT    NOT NULL,
  PRIMARY KEY (sandbox_id, generation)
) WITHOUT ROWID;

-- So that a repeated DELETE is told apart from a wrong id, also after a restart.
CREATE TABLE deleted_sandbox (
  id         TEXT PRIMARY KEY,
  tenant     TEXT    NOT NULL,
  deleted_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX deleted_sandbox_time ON deleted_sandbox (deleted_at);

-- Written before the engine makes a volume and removed after the engine has removed it: a volume
-- without a row belongs to nobody.
CREATE TABLE volume (
  id         TEXT PRIMARY KEY,
  tenant     TEXT    NOT NULL,
  engine     TEXT    NOT NULL,
  -- NULL: it belongs to one sandbox and ends with it.
  name       TEXT,
  -- Whose it is, or of one with a name: who uses it now.
  sandbox_id TEXT,
  size_bytes INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  used_at    INTEGER NOT NULL
);
CREATE UNIQUE INDEX volume_name ON volume (tenant, name) WHERE name IS NOT NULL;
CREATE INDEX volume_sandbox ON volume (sandbox_id) WHERE sandbox_id IS NOT NULL;
