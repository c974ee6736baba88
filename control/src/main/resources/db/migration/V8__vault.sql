CREATE TABLE secret (
  id         TEXT PRIMARY KEY,
  tenant     TEXT    NOT NULL,
  namespace  TEXT    NOT NULL,
  name       TEXT    NOT NULL,
  version    INTEGER NOT NULL,
  canary     INTEGER NOT NULL,
  -- Nonce, then AES-256-GCM of the value; all columns above are bound to it.
  sealed     BLOB    NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (tenant, namespace, name)
);

-- Which values a sandbox, or the volume with its files, may hold: those never leave it in the clear.
CREATE TABLE secret_trace (
  holder     TEXT    NOT NULL,
  secret_id  TEXT    NOT NULL,
  tenant     TEXT    NOT NULL,
  namespace  TEXT    NOT NULL,
  name       TEXT    NOT NULL,
  version    INTEGER NOT NULL,
  canary     INTEGER NOT NULL,
  sealed     BLOB    NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (holder, secret_id, name, namespace, version)
) WITHOUT ROWID;

-- The names that every process of a sandbox or context gets.
ALTER TABLE sandbox ADD COLUMN secrets TEXT NOT NULL DEFAULT '';
ALTER TABLE context ADD COLUMN secrets TEXT NOT NULL DEFAULT '';
-- Why it stands still until somebody says that it may go on; NULL: it does not.
ALTER TABLE sandbox ADD COLUMN frozen TEXT;
